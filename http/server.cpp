#include "http/server.hpp"

#include "actors/log.hpp"
#include "http/actor_transport.hpp"

#include <fmt/format.h>
#include <pistache/reactor.h>

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>
#include <future>
#include <memory>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace coordinator::http {

namespace {

/// For a worker to close its connections in the end; one whose loop has failed never does.
constexpr std::chrono::seconds abandon_patience{1};
constexpr std::string_view refusal =
    "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nRetry-After: 1\r\nContent-Type: application/json\r\n"
    "Content-Length: 54\r\n\r\n{\"detail\":\"Too many connections are open; try again.\"}";

/// Raises the descriptor limit as far as allowed and returns it.
std::size_t raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0)
    return 1024;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
  ::getrlimit(RLIMIT_NOFILE, &limit);
  return limit.rlim_cur;
}

} // namespace

struct server::worker_thread {
  std::shared_ptr<Pistache::Aio::Reactor> reactor;
  std::shared_ptr<actor_transport> transport;
  std::thread thread;

  ~worker_thread() {
    reactor->shutdown();
    if (thread.joinable())
      thread.join();
  }
};

struct server::state {
  server_options options;
  std::shared_ptr<shared_server> shared = std::make_shared<shared_server>();
  std::vector<std::unique_ptr<worker_thread>> workers;
  std::size_t next_worker = 0; ///< Accepting worker's thread only.
  int listener = -1;
};

server::server(server_options options, caf::actor_system& system) : state_(std::make_unique<state>()) {
  auto& shared = *state_->shared;
  shared.routes = options.routes;
  shared.limits = options.limits;
  const auto descriptors = raise_descriptor_limit();
  shared.limits.connections =
      std::min(options.limits.connections, descriptors - std::min(options.reserved_descriptors, descriptors / 2));
  shared.alive = options.alive;
  shared.dispatch = [this](int descriptor) {
    auto& limits = state_->shared->limits;
    if (state_->shared->connections.fetch_add(1, std::memory_order_relaxed) >= limits.connections) {
      (void)::send(descriptor, refusal.data(), refusal.size(), MSG_NOSIGNAL);
      ::close(descriptor);
      state_->shared->connections.fetch_sub(1, std::memory_order_relaxed);
      return;
    }
    const auto index = state_->next_worker++ % state_->workers.size();
    auto& transport = *state_->workers[index]->transport;
    if (index == 0)
      transport.adopt(descriptor); // this very thread
    else
      transport.mail()->post(outbox::command{[&transport, descriptor] { transport.adopt(descriptor); }});
  };
  for (std::size_t index = 0; index < options.workers; ++index) {
    auto made = std::make_unique<worker_thread>();
    made->reactor = Pistache::Aio::Reactor::create();
    made->reactor->init();
    made->transport = std::make_shared<actor_transport>(index, state_->shared, system);
    made->reactor->addHandler(made->transport);
    state_->workers.push_back(std::move(made));
  }
  state_->options = std::move(options);
}

server::~server() {
  for (auto& worker : state_->workers) {
    const auto done = std::make_shared<std::promise<void>>();
    worker->transport->mail()->post(outbox::command{[transport = worker->transport.get(), done] {
      transport->abandon();
      done->set_value();
    }});
    // A loop that is told to end does not look at what was posted any more.
    if (worker->thread.joinable())
      done->get_future().wait_for(abandon_patience);
  }
  state_->workers.clear();
  if (state_->listener >= 0)
    ::close(state_->listener);
}

std::optional<std::string> server::listen() {
  const auto& options = state_->options;
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  if (const int error = ::getaddrinfo(options.host.c_str(), std::to_string(options.port).c_str(), &hints, &found);
      error != 0)
    return fmt::format("cannot resolve the address {} to listen on: {}", options.host, ::gai_strerror(error));
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owned{found, &::freeaddrinfo};

  const int listener = ::socket(found->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  const int on = 1;
  if (listener >= 0) {
    // Lets a restarted coordinator bind while connections of the last one are in TIME_WAIT; two running ones still
    // clash.
    ::setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    ::setsockopt(listener, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on); // inherited by accepted sockets
  }
  if (listener < 0 || ::bind(listener, found->ai_addr, found->ai_addrlen) != 0 || ::listen(listener, SOMAXCONN) != 0) {
    const int error = errno;
    if (listener >= 0)
      ::close(listener);
    return fmt::format("cannot listen on {} port {}: {}", options.host, options.port, std::strerror(error));
  }
  state_->listener = listener;

  sockaddr_storage bound{};
  socklen_t size = sizeof bound;
  ::getsockname(listener, reinterpret_cast<sockaddr*>(&bound), &size);
  port_ = ntohs(bound.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6&>(bound).sin6_port
                                            : reinterpret_cast<sockaddr_in&>(bound).sin_port);
  return std::nullopt;
}

void server::attach(std::size_t index, caf::strong_actor_ptr gateway) {
  auto* transport = state_->workers[index]->transport.get();
  transport->mail()->post(
      outbox::command{[transport, gateway = std::move(gateway)]() mutable { transport->attach(std::move(gateway)); }});
}

void server::start() {
  for (auto& worker : state_->workers)
    worker->thread = std::thread{[reactor = worker->reactor] {
      try {
        reactor->run();
      } catch (const std::exception& error) {
        // Readiness names the worker; the others go on.
        log::write(log::level::error, {"http", 0}, "http.worker_ended", {{"exception", error.what()}});
      }
    }};
  auto* accepting = state_->workers.front()->transport.get();
  accepting->mail()->post(
      outbox::command{[accepting, listener = state_->listener] { accepting->start_accepting(listener); }});
}

bool server::drain(std::chrono::nanoseconds patience) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  auto& shared = *state_->shared;
  shared.draining.store(true, std::memory_order_relaxed);
  auto* accepting = state_->workers.front()->transport.get();
  accepting->mail()->post(outbox::command{[this, accepting] {
    accepting->stop_accepting();
    ::close(std::exchange(state_->listener, -1)); // clients are refused from here on and go elsewhere
    for (auto& worker : state_->workers)
      worker->transport->mail()->post(
          outbox::command{[transport = worker->transport.get()] { transport->begin_drain(); }});
  }});
  while (shared.connections.load(std::memory_order_relaxed) > 0) {
    if (std::chrono::steady_clock::now() >= deadline)
      return false;
    std::this_thread::sleep_for(std::chrono::milliseconds{5});
  }
  return true;
}

} // namespace coordinator::http
