#include "apps/coordinator/service.hpp"

#include "actors/courier.hpp"
#include "actors/health.hpp"
#include "actors/log_sink.hpp"
#include "actors/progress.hpp"
#include "actors/registry.hpp"
#include "actors/supervisor.hpp"
#include "actors/system.hpp"
#include "http/gateway.hpp"
#include "http/outbound_loop.hpp"
#include "http/server.hpp"
#include "schema/identifier.hpp"
#include "version.hpp"

#include <caf/actor_system.hpp>
#include <caf/send.hpp>

#include <fmt/format.h>

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace coordinator {

namespace {

constexpr log::source service_source{"service", 0};
/// Tick of actors that need one only to prove that they make progress.
constexpr duration pulse = std::chrono::seconds{1};
constexpr duration worker_progress_limit = std::chrono::seconds{3};
/// The part of the grace that is kept for the actors to end in, after the last request, and for the log to be written.
constexpr duration reserve_for_ending = std::chrono::milliseconds{800};
constexpr duration log_flush_patience = std::chrono::milliseconds{500};
/// Files, timers, epoll and the like.
constexpr std::size_t other_descriptors = 64;
/// What a thread that hangs in spite of the grace may take more before the process ends without it.
constexpr duration overtime = std::chrono::seconds{1};

double wall_clock() {
  return std::chrono::duration<double>{std::chrono::system_clock::now().time_since_epoch()}.count();
}

/// Blocks the signals that stop the service in this thread and all that it starts.
sigset_t block_stop_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGHUP); // the terminal it was started from was closed
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  // A client or a log reader that left, and a log file at its size limit, are error values and not an end.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  return signals;
}

/// Sends `std::clog`, where CAF's logger writes, to a sink for as long as it lives.
class clog_redirection {
public:
  explicit clog_redirection(std::streambuf& to) : before_(std::clog.rdbuf(&to)) {}
  ~clog_redirection() { std::clog.rdbuf(before_); }
  clog_redirection(const clog_redirection&) = delete;
  clog_redirection& operator=(const clog_redirection&) = delete;

private:
  std::streambuf* before_;
};

/// Ends the process when it has not ended by itself in time.
class watchdog {
public:
  explicit watchdog(std::chrono::steady_clock::time_point deadline)
      : thread_([this, deadline] {
          std::unique_lock lock{mutex_};
          if (!ended_.wait_until(lock, deadline, [this] { return done_; }))
            ::_exit(1);
        }) {}
  ~watchdog() {
    {
      std::lock_guard guard{mutex_};
      done_ = true;
    }
    ended_.notify_one();
    thread_.join();
  }

private:
  std::mutex mutex_;
  std::condition_variable ended_;
  bool done_ = false;
  std::thread thread_;
};

std::shared_ptr<const http::router> make_routes() {
  auto routes = std::make_shared<http::router>();
  http::register_apis(*routes);
  return routes;
}

/// What the parts of the service share.
struct shared_parts {
  std::shared_ptr<progress_board> board = std::make_shared<progress_board>();
  std::shared_ptr<guard_board> guard = std::make_shared<guard_board>();
  std::shared_ptr<const http::router> routes = make_routes();
};

http::server_options server_options_of(const settings& chosen, const shared_parts& shared) {
  http::server_options options;
  options.host = chosen.host;
  options.port = chosen.port;
  options.workers = chosen.http_threads;
  options.limits.idle = chosen.timeout_keep_alive;
  options.reserved_descriptors = other_descriptors + chosen.courier_connections;
  options.routes = shared.routes;
  std::vector<std::shared_ptr<progress_mark>> marks;
  for (std::size_t i = 0; i < chosen.http_threads; ++i)
    marks.push_back(
        shared.board->watch(fmt::format("http-{}", i), worker_progress_limit, std::chrono::steady_clock::now()));
  options.alive = [marks](std::size_t worker) { marks[worker]->stamp(std::chrono::steady_clock::now()); };
  return options;
}

child_specification registry_child(const settings& chosen) {
  registry_options options;
  options.instance_timeout = chosen.instance_timeout;
  options.run = schema::generate_instance_id().substr(sizeof "mp-" - 1, 16);
  options.memory = std::make_shared<membership_memory>();
  options.guard = {chosen.eviction_guard};
  options.generate_id = schema::generate_instance_id;
  options.wall_clock = wall_clock;
  return {"registry", pulse,
          [options](caf::actor_system& system, links& actors, const std::shared_ptr<progress_mark>& progress) -> child {
            auto filled = options;
            filled.progress = progress;
            actors.registry = system.spawn(registry, std::move(filled));
            return {actors.registry, {}};
          }};
}

child_specification courier_child(const settings& chosen, const std::shared_ptr<outbound_client>& client) {
  call_limits limits;
  limits.running = chosen.courier_connections;
  limits.running_per_target = chosen.courier_connections_per_instance;
  return {"courier", pulse,
          [=](caf::actor_system& system, links& actors, const std::shared_ptr<progress_mark>& progress) -> child {
            courier_options options;
            options.client = client;
            options.limits = limits;
            options.actors = actors;
            options.progress = progress;
            actors.courier = system.spawn(courier, std::move(options));
            return child_with_links(actors.courier);
          }};
}

child_specification health_child(const settings& chosen, const shared_parts& shared) {
  const bool evicts = chosen.health_check_interval > duration::zero();
  health_options options;
  options.tick_interval = evicts ? chosen.health_check_interval : pulse;
  options.evicts = evicts;
  options.guard_longest = chosen.eviction_guard_max;
  options.guard = shared.guard;
  if (evicts)
    options.sweep_progress =
        shared.board->watch("sweep", progress_limit(options.tick_interval), std::chrono::steady_clock::now());
  return {"health", options.tick_interval,
          [options](caf::actor_system& system, links& actors, const std::shared_ptr<progress_mark>& progress) -> child {
            auto filled = options;
            filled.actors = actors;
            filled.progress = progress;
            return child_with_links(system.spawn(health, std::move(filled)));
          }};
}

child_specification gateway_child(std::size_t worker, http::server& server, const shared_parts& shared,
                                  duration instance_timeout) {
  return {
      fmt::format("gateway-{}", worker), pulse,
      [=, &server](caf::actor_system& system, links& actors, const std::shared_ptr<progress_mark>& progress) -> child {
        auto spawned = system.spawn(http::gateway, http::gateway_options{actors, shared.routes, shared.board,
                                                                         shared.guard, instance_timeout, progress});
        server.attach(worker, caf::actor_cast<caf::strong_actor_ptr>(spawned));
        return child_with_links(spawned);
      }};
}

/// The processors that HTTP leaves, at least one.
std::size_t scheduler_threads(std::size_t http_threads) {
  const std::size_t processors = std::thread::hardware_concurrency();
  return processors > http_threads ? processors - http_threads : 1;
}

void log_settings(const settings& chosen) {
  std::vector<log::field> values;
  std::vector<log::field> sources;
  for (const auto& one : chosen.sources) {
    values.emplace_back(one.name, one.value);
    sources.emplace_back(one.name, one.source);
  }
  log::write(log::level::info, service_source, "service.settings", values);
  log::write(log::level::info, service_source, "service.settings_from", sources);
  if (chosen.health_check_interval <= duration::zero())
    log::write(log::level::warning, service_source, "service.eviction_is_off",
               {{"because", "health-check-interval is 0"}});
}

/// The service from its first actor to its last. Returns the exit status.
int serve(const settings& chosen, const std::vector<capability>& capabilities, const sigset_t& stop_signals,
          caf::actor_system& system, log_sink& sink) {
  const shared_parts shared;
  http::server server{server_options_of(chosen, shared), system};
  if (auto error = server.listen()) {
    std::fprintf(stderr, "mp-coordinator: %s\n", error->c_str());
    return 1;
  }
  log::open(system, sink, {chosen.log_level, chosen.log_components});
  log::write(log::level::info, service_source, "service.starting", {{"version", version}, {"pid", ::getpid()}});
  log_settings(chosen);

  std::atomic<bool> gave_up = false;
  const auto caller = std::make_shared<http::outbound_loop>(
      http::outbound_loop_options{chosen.courier_connections, chosen.courier_connections});
  supervisor_options options;
  options.board = shared.board;
  options.give_up = [&gave_up](const std::string&) {
    gave_up = true;
    ::kill(::getpid(), SIGTERM); // wakes the main thread below
  };
  options.children.push_back(registry_child(chosen));
  options.children.push_back(courier_child(chosen, caller));
  options.children.push_back(health_child(chosen, shared));
  for (const auto& each : capabilities)
    options.children.push_back(each.make(chosen.capabilities));
  for (std::size_t worker = 0; worker < chosen.http_threads; ++worker)
    options.children.push_back(gateway_child(worker, server, shared, chosen.instance_timeout));
  auto root = system.spawn(supervisor, std::move(options));

  server.start();
  log::write(log::level::info, service_source, "server.listening", {{"host", chosen.host}, {"port", server.port()}});

  int signal = 0;
  while (sigwait(&stop_signals, &signal) != 0) {
  }
  const auto deadline = std::chrono::steady_clock::now() + chosen.shutdown_grace;
  const watchdog guard{deadline + overtime};
  log::write(log::level::info, service_source, "service.stopping", {{"signal", ::strsignal(signal)}});
  shared.board->begin_stopping();
  const auto patience = std::max(chosen.shutdown_grace - reserve_for_ending, duration::zero());
  if (!server.drain(patience))
    log::write(log::level::warning, service_source, "server.drain_cut_short", {{"after", patience}});
  caf::anon_send_exit(root, caf::exit_reason::user_shutdown);
  root = nullptr;
  system.await_all_actors_done();
  log::write(log::level::info, service_source, "service.stopped", {{"gave_up", gave_up.load()}});
  return gave_up ? 1 : 0;
}

} // namespace

int run_service(const settings& chosen, const std::vector<capability>& capabilities) {
  const auto stop_signals = block_stop_signals();
  int log_descriptor = STDERR_FILENO;
  if (!chosen.log_file.empty()) {
    // Non-blocking, or the open of a pipe that nobody reads would wait for ever.
    log_descriptor = ::open(chosen.log_file.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0644);
    if (log_descriptor < 0) {
      std::fprintf(stderr, "mp-coordinator: --log-file: cannot open %s: %s\n", chosen.log_file.c_str(),
                   std::strerror(errno));
      return 2;
    }
  }
  log_sink sink{log_descriptor};
  const clog_redirection redirection{sink};
  system_config config{scheduler_threads(chosen.http_threads)};
  int status = 0;
  {
    caf::actor_system system{config};
    status = serve(chosen, capabilities, stop_signals, system, sink);
    log::flush(log_flush_patience);
    log::close();
    sink.stop_waiting(); // the system's end waits for its logger, which must not wait for a reader
  }
  if (log_descriptor != STDERR_FILENO)
    ::close(log_descriptor);
  return status;
}

} // namespace coordinator
