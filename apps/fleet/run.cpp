#include "apps/fleet/run.hpp"

#include "apps/fleet/coordinator_process.hpp"
#include "apps/fleet/list_watch.hpp"
#include "apps/fleet/live_view.hpp"
#include "apps/fleet/probe_listener.hpp"
#include "apps/fleet/simulation.hpp"
#include "apps/fleet/summary.hpp"
#include "schema/number_text.hpp"

#include <fmt/format.h>

#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <future>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <utility>

namespace coordinator::fleet {

namespace {

using namespace std::chrono_literals;

constexpr duration reach_patience = 5s;
constexpr duration start_patience = 20s;
/// The grace that the coordinator has by default, and as much again.
constexpr duration stop_patience = 10s;
constexpr duration look_interval = 50ms;
constexpr duration screen_interval = 1s;
constexpr duration line_interval = 5s;

time_point now() {
  return std::chrono::steady_clock::now();
}

template <class... Arguments>
void say(fmt::format_string<Arguments...> text, Arguments&&... arguments) {
  std::fputs(("mp-fleet: " + fmt::format(text, std::forward<Arguments>(arguments)...) + "\n").c_str(), stderr);
}

/// Blocks the signals that end the simulation in this thread and all that it starts.
sigset_t block_stop_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP})
    sigaddset(&signals, signal);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  return signals;
}

/// As many connections as the system lets us have.
void raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    limit.rlim_cur = limit.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &limit);
  }
}

double own_processor_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

std::string new_id_prefix() {
  std::random_device random;
  return fmt::format("fleet-{:08x}-", random());
}

/// One value, made on another thread.
template <class T>
class handover {
public:
  handover() : promise_{std::make_shared<std::promise<T>>()}, future_{promise_->get_future()} {}
  auto giver() const {
    return [promise = promise_](T value) { promise->set_value(std::move(value)); };
  }
  std::optional<T> wait_for(duration patience) {
    if (future_.wait_for(patience) != std::future_status::ready)
      return std::nullopt;
    return future_.get();
  }

private:
  std::shared_ptr<std::promise<T>> promise_;
  std::future<T> future_;
};

/// Why the coordinator does not answer, if it does not in time.
std::optional<std::string> wait_until_healthy(const std::string& url, duration patience, coordinator_process* process) {
  const auto limit = now() + patience;
  http::outbound_loop loop;
  for (;;) {
    outbound_request request;
    request.url = url + "/healthz";
    request.timeout = 1s;
    handover<outbound_reply> reply;
    loop.start(std::move(request), reply.giver());
    const auto heard = reply.wait_for(2s);
    if (heard && heard->status == 200)
      return std::nullopt;
    if (process)
      if (auto how = process->ended())
        return "it ended with " + *how;
    if (now() > limit)
      return !heard                  ? "no answer"
             : heard->detail.empty() ? fmt::format("GET /healthz was answered with status {}", heard->status)
                                     : heard->detail;
    std::this_thread::sleep_for(10ms);
  }
}

/// One run: what the main thread does while the simulation goes on on its own.
class runner {
public:
  runner(const options& asked, plan todo, const sigset_t& stop_signals)
      : asked_{asked}, length_{todo.length}, stop_signals_{stop_signals}, plan_{std::move(todo)}, view_{asked},
        probes_{asked.servers}, url_{asked.coordinator_url} {}

  int run() {
    // Before the work, not after it. What a former run wrote stays until there is something new.
    if (!asked_.summary_file.empty() && !std::ofstream{asked_.summary_file, std::ios::app}) {
      say("--summary: cannot write {}", asked_.summary_file);
      return 2;
    }
    if (auto problem = set_up()) {
      say("{}", *problem);
      return 3;
    }
    say("profile {}, {} servers, {:.1f} s, seed {}, coordinator {}", asked_.chosen->name, asked_.servers,
        to_seconds(length_), asked_.seed, url_);
    simulate();
    return conclude();
  }

private:
  std::optional<std::string> set_up() {
    if (auto problem = probes_.listen())
      return problem;
    if (url_.empty()) {
      process_.emplace(coordinator_command{asked_.coordinator_binary, asked_.instance_timeout,
                                           asked_.health_check_interval, asked_.coordinator_flags});
      if (auto problem = process_->start())
        return fmt::format("the coordinator {} could not be started: {}", asked_.coordinator_binary, *problem);
      url_ = process_->url();
    }
    if (auto problem = wait_until_healthy(url_, process_ ? start_patience : reach_patience, running_process()))
      return fmt::format("the coordinator at {} could not be {}: {}", url_, process_ ? "started" : "reached", *problem);
    return std::nullopt;
  }

  coordinator_process* running_process() { return process_ ? &*process_ : nullptr; }

  ledger_options rules() const {
    ledger_options result;
    result.instance_timeout = asked_.instance_timeout;
    result.sweep_interval = asked_.health_check_interval;
    result.back_within = asked_.back_within();
    result.slack = asked_.slack;
    result.guard = asked_.expected_guard;
    result.same_wall_clock = process_.has_value();
    return result;
  }

  void simulate() {
    simulation_options options;
    options.coordinator_url = url_;
    options.id_prefix = new_id_prefix();
    options.servers = asked_.servers;
    options.heartbeat_interval = asked_.heartbeat_interval;
    options.request_timeout = asked_.request_timeout();
    options.rules = rules();
    options.seed = asked_.seed;
    options.connections = asked_.connections;
    simulation fleet{std::move(options), std::move(plan_), probes_};
    const list_watch watch{url_, asked_.list_interval(), [&fleet](list_result result) {
                             fleet.post([&fleet, result = std::move(result)] { fleet.take(result); });
                           }};
    fleet.post([&fleet] { fleet.begin(); });
    while (!result_.last.is_over) {
      heed_signals(fleet);
      look_at(fleet);
      watch_coordinator(fleet);
      show();
    }
  }

  /// Waits for a signal for a moment, which is what makes the loop above slow.
  void heed_signals(simulation& fleet) {
    timespec pause{};
    pause.tv_nsec = look_interval.count();
    if (::sigtimedwait(&stop_signals_, nullptr, &pause) < 0)
      return;
    if (std::exchange(result_.was_interrupted, true)) {
      is_abandoned_ = true; // the second time: at once
      return;
    }
    say("leaving early");
    fleet.post([&fleet] { fleet.end_early(); });
  }

  void look_at(simulation& fleet) {
    handover<figures> latest;
    fleet.post([&fleet, give = latest.giver()] { give(fleet.look()); });
    if (auto current = latest.wait_for(1s))
      result_.last = std::move(*current);
    if (is_abandoned_)
      result_.last.is_over = true;
  }

  void watch_coordinator(simulation& fleet) {
    if (!process_ || result_.last.is_over)
      return;
    if (auto how = process_->ended()) {
      fleet.post([&fleet, how = *how] { fleet.coordinator_failed("it ended with " + how); });
      return;
    }
    if (result_.last.coordinator_kills == kills_)
      return;
    kills_ = result_.last.coordinator_kills;
    process_->kill();
    fleet.post([&fleet, died = now()] { fleet.coordinator_died(died); });
    auto problem = process_->restart();
    if (!problem)
      problem = wait_until_healthy(url_, start_patience, &*process_);
    if (problem)
      fleet.post([&fleet, how = *problem] { fleet.coordinator_failed("it did not come back: " + how); });
    else
      fleet.post([&fleet, ready = now()] { fleet.coordinator_ready(ready); });
  }

  void show() {
    const auto moment = now();
    const auto interval = is_terminal_ ? screen_interval : line_interval;
    if (moment < shown_at_ + interval && !result_.last.is_over)
      return;
    shown_at_ = moment;
    if (process_)
      process_->sample_memory();
    if (is_terminal_) {
      std::fputs(view_.screen(result_.last, length_).c_str(), stdout);
      std::fflush(stdout);
    } else {
      std::fputs(view_.line(result_.last, length_).c_str(), stderr);
    }
    warn_of_another_lease();
  }

  /// The likeliest reason for violations that are none.
  void warn_of_another_lease() {
    const auto& told = result_.last.told_lease;
    const auto seconds = schema::number_in(told);
    if (!seconds || is_lease_warned_of_ || *seconds == to_seconds(asked_.instance_timeout))
      return;
    is_lease_warned_of_ = true;
    say("the coordinator grants leases of {} s, not of the {:g} s that --instance-timeout tells", told,
        to_seconds(asked_.instance_timeout));
  }

  int conclude() {
    if (process_) {
      if (auto problem = process_->stop(stop_patience))
        result_.last.violations.add(violation_kind::coordinator_ended, {result_.last.elapsed, "", *problem});
      result_.coordinator = {process_->processor_seconds(), process_->resident_bytes(),
                             process_->peak_resident_bytes()};
    }
    result_.health_checks = probes_.answered();
    result_.processor_seconds = own_processor_seconds();
    const auto summary = summary_json(asked_, result_);
    if (asked_.summary_file.empty()) {
      std::fputs(summary.c_str(), stdout);
      std::fflush(stdout);
    } else if (!(std::ofstream{asked_.summary_file} << summary << std::flush)) {
      say("--summary: cannot write {}", asked_.summary_file);
      return 3;
    }
    const auto& violations = result_.last.violations;
    for (std::size_t i = 0; i < violation_kinds; ++i) {
      const auto kind = static_cast<violation_kind>(i);
      if (const auto& examples = violations.examples(kind); !examples.empty())
        say("violation: {} × {}; the first at {:.3f} s: {}{}{}", violations.count(kind), to_string(kind),
            to_seconds(examples.front().at), examples.front().instance_id,
            examples.front().instance_id.empty() ? "" : " ", examples.front().detail);
    }
    return violations.total() > 0 ? 1 : 0;
  }

  const options& asked_;
  duration length_;
  const sigset_t& stop_signals_;
  plan plan_;
  live_view view_;
  probe_listener probes_;
  std::optional<coordinator_process> process_;
  std::string url_;
  outcome result_;
  bool is_terminal_ = ::isatty(STDOUT_FILENO) == 1;
  bool is_abandoned_ = false;
  bool is_lease_warned_of_ = false;
  std::uint64_t kills_ = 0;
  time_point shown_at_ = now();
};

} // namespace

int run(const options& asked) {
  const auto stop_signals = block_stop_signals();
  raise_descriptor_limit();
  plan_options planned;
  planned.servers = asked.servers;
  planned.instance_timeout = asked.instance_timeout;
  planned.sweep_interval = asked.health_check_interval;
  planned.heartbeat_interval = asked.heartbeat_interval;
  planned.back_within = asked.back_within();
  planned.gone_within = asked.gone_within();
  planned.share = asked.share;
  planned.length = asked.length;
  std::mt19937_64 random{asked.seed};
  auto made = make_plan(*asked.chosen, planned, random);
  if (const auto* problem = std::get_if<std::string>(&made)) {
    say("{}", *problem);
    return 2;
  }
  return runner{asked, std::get<plan>(std::move(made)), stop_signals}.run();
}

} // namespace coordinator::fleet
