#include "http/registrar/registrar.hpp"

#include "http/outbound_loop.hpp"
#include "http/registrar/configuration.hpp"
#include "http/registrar/session.hpp"
#include "schema/identifier.hpp"

#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <random>
#include <thread>

namespace mp_registrar {

namespace {

using clock = std::chrono::steady_clock;

/// What one tells of itself that was moved from.
const std::string nothing;

session_options session_options_for(const options& how) {
  return {.coordinator_urls = how.coordinator_urls,
          .ip = how.advertise_ip,
          .http_port = how.http_port,
          .instance_id = how.instance_id,
          .metadata = how.metadata,
          .p2p_advertised_url = how.p2p_advertised_url,
          .mq_port = how.mq_port,
          .heartbeat_interval = how.heartbeat_interval};
}

std::function<double()> random_numbers() {
  return [engine = std::minstd_rand{std::random_device{}()}]() mutable {
    return std::uniform_real_distribution<double>{0, 1}(engine);
  };
}

log_level level_of(const event& what) noexcept {
  const bool is_good = what.kind == event_kind::registered || (what.kind == event_kind::left && what.detail.empty());
  return is_good ? log_level::info : log_level::warning;
}

/// For callbacks of the server around us.
template <class Function, class... Arguments>
void call_guarded(const Function& function, const Arguments&... arguments) noexcept {
  if (!function)
    return;
  try {
    function(arguments...);
  } catch (...) { // NOLINT(bugprone-empty-catch): documented as dropped
  }
}

} // namespace

struct registrar::state : std::enable_shared_from_this<state> {
  explicit state(options wanted) : how{std::move(wanted)} {}

  void launch() {
    loop = std::make_unique<coordinator::http::outbound_loop>(
        coordinator::http::outbound_loop_options{.max_connections = 1, .max_idle_connections = 1});
    driver = loop.get();
    driver->post([this] {
      member.emplace(session_options_for(how), random_numbers(), clock::now());
      step();
    });
  }

  // -- on the loop's thread --------------------------------------------------

  void step() {
    const auto now = clock::now();
    if (auto request = member->next(now)) {
      driver->start(std::move(*request), [this](const coordinator::outbound_reply& reply) {
        member->on_reply(reply, clock::now());
        tell();
        step();
      });
      return;
    }
    // One timer at a time. After a stop there may be a later one left over, whose step finds nothing to do.
    const auto wake = member->wake();
    if (wake < armed_for) {
      armed_for = wake;
      driver->post_at(wake, [this] {
        armed_for = time_point::max();
        step();
      });
    }
  }

  void tell() {
    {
      const std::lock_guard guard{lock};
      is_registered = member->registered();
    }
    for (const auto& happened : member->take_events())
      tell(happened);
    if (member->finished()) {
      const std::lock_guard guard{lock};
      finished = true;
      changed.notify_all();
    }
  }

  void tell(const event& happened) {
    {
      const std::lock_guard guard{lock};
      if (muted)
        return;
      in_callback = std::this_thread::get_id();
    }
    if (how.log)
      call_guarded(how.log, level_of(happened), describe(happened));
    call_guarded(how.on_event, happened);
    const std::lock_guard guard{lock};
    in_callback.reset();
    changed.notify_all();
  }

  // -- on any thread ---------------------------------------------------------

  void stop(bool deregisters) {
    std::unique_lock guard{lock};
    const bool is_callback = in_callback == std::this_thread::get_id();
    if (!driver || (stopped && is_callback))
      return;
    if (stopped) {
      changed.wait(guard, [this] { return gone; });
      return;
    }
    if (deregisters)
      driver->post([this] {
        member->stop(clock::now());
        tell();
        step();
      });
    if (is_callback)
      return;
    stopped = true;
    const departure leaving{*this, guard};
    changed.wait_for(guard, how.stop_timeout, [=, this] { return (finished || !deregisters) && !in_callback; });
    muted = true;
    if (in_callback) {
      // It may wait for the very thread that we are on, so nobody here can wait for it.
      std::thread{[self = shared_from_this()] { self->loop.reset(); }}.detach();
    } else {
      // What is left on that thread never waits for anything.
      guard.unlock();
      loop.reset();
    }
  }

  /// Of the one who stops: whatever happens, those who wait for it may go on then.
  struct departure {
    departure(state& who, std::unique_lock<std::mutex>& holding) : of{who}, guard{holding} {}
    ~departure() {
      if (!guard.owns_lock())
        guard.lock();
      of.gone = true;
      of.changed.notify_all();
    }
    departure(const departure&) = delete;
    departure& operator=(const departure&) = delete;

    state& of;
    std::unique_lock<std::mutex>& guard;
  };

  bool is_called_from_callback() {
    const std::lock_guard guard{lock};
    return in_callback == std::this_thread::get_id();
  }

  const options how;

  // Of the loop's thread.
  std::optional<session> member;
  time_point armed_for = time_point::max();

  std::mutex lock;
  std::condition_variable changed;
  bool is_registered = false;
  bool finished = false;                      ///< The session is.
  bool stopped = false;                       ///< Somebody is stopping or has stopped.
  bool gone = false;                          ///< The one who stops is done.
  bool muted = false;                         ///< No callback may begin any more.
  std::optional<std::thread::id> in_callback; ///< The thread of the one that runs.

  std::unique_ptr<coordinator::http::outbound_loop> loop;
  coordinator::http::outbound_loop* driver = nullptr; ///< The same, not to be used once `gone`. Null: no coordinators.
};

std::string to_string(const configuration_problems& found) {
  std::string result;
  for (const auto& [field, message] : found)
    result += field + (field.empty() ? "" : ": ") + message + "\n";
  return result;
}

std::variant<registrar, configuration_problems> start(options how) {
  std::erase_if(how.coordinator_urls, [](const auto& url) { return coordinator::schema::stripped(url).empty(); });
  if (how.coordinator_urls.empty())
    return registrar{std::make_shared<registrar::state>(options{})};
  if (auto found = normalise(how); !found.empty())
    return found;
  try {
    auto running = std::make_shared<registrar::state>(std::move(how));
    running->launch();
    return registrar{std::move(running)};
  } catch (const std::exception& error) {
    return configuration_problems{{"", std::string{"the registrar can't run: "} + error.what()}};
  }
}

registrar::registrar(std::shared_ptr<state> running) noexcept : state_{std::move(running)} {}

registrar::registrar(registrar&&) noexcept = default;

registrar& registrar::operator=(registrar&& other) noexcept {
  registrar former{std::move(*this)};
  state_ = std::move(other.state_);
  return *this;
}

registrar::~registrar() {
  if (!state_)
    return;
  if (!state_->is_called_from_callback()) {
    stop();
    return;
  }
  // That thread can't wait for its own end.
  try {
    std::thread{[abandoned = state_] { abandoned->stop(true); }}.detach();
  } catch (const std::exception&) {
    static_cast<void>(new std::shared_ptr<state>{state_}); // better lost than gone from under the callback
  }
}

void registrar::stop() noexcept {
  end(true);
}

void registrar::abandon() noexcept {
  end(false);
}

void registrar::end(bool deregisters) noexcept {
  if (!state_)
    return;
  try {
    state_->stop(deregisters);
  } catch (...) { // NOLINT(bugprone-empty-catch): no memory or no thread; the destructor of the state ends what is left
  }
}

bool registrar::registered() const noexcept {
  if (!state_)
    return false;
  const std::lock_guard guard{state_->lock};
  return state_->is_registered && !state_->stopped;
}

const std::string& registrar::instance_id() const noexcept {
  return state_ ? state_->how.instance_id : nothing;
}

const std::string& registrar::advertised_ip() const noexcept {
  return state_ ? state_->how.advertise_ip : nothing;
}

} // namespace mp_registrar
