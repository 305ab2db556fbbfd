#include "apps/fleet/probe_listener.hpp"

#include "http/request_parser.hpp"

#include <fmt/format.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>

namespace coordinator::fleet {

namespace {

constexpr std::uint32_t first_address = 0x7F100000; // 127.16.0.0
constexpr std::string_view healthy =
    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 20\r\n\r\n{\"status\":\"healthy\"}";
constexpr std::string_view not_found =
    "HTTP/1.1 404 Not Found\r\nContent-Type: application/json\r\nContent-Length: 22\r\n\r\n{\"detail\":\"Not Found\"}";

std::string problem(std::string_view what) {
  return fmt::format("{}: {}", what, std::strerror(errno));
}

} // namespace

std::string address_of(std::size_t server) {
  const auto address = first_address + static_cast<std::uint32_t>(server);
  return fmt::format("{}.{}.{}.{}", address >> 24, address >> 16 & 0xFF, address >> 8 & 0xFF, address & 0xFF);
}

struct probe_listener::visitor {
  int socket;
  std::size_t server;
  std::string unread;
  http::request_parser parser;
};

probe_listener::probe_listener(std::size_t servers) : presences_(servers) {
  for (auto& one : presences_)
    one = presence::refusing;
}

probe_listener::~probe_listener() {
  if (thread_.joinable()) {
    ::eventfd_write(stop_, 1);
    thread_.join();
  }
  for (const auto& one : visitors_)
    if (one)
      ::close(one->socket);
  for (const int descriptor : {listener_, poll_, stop_})
    if (descriptor >= 0)
      ::close(descriptor);
}

std::optional<std::string> probe_listener::listen() {
  listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  poll_ = ::epoll_create1(EPOLL_CLOEXEC);
  stop_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (listener_ < 0 || poll_ < 0 || stop_ < 0)
    return problem("cannot open a socket for health checks");
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_ANY);
  socklen_t size = sizeof address;
  if (::bind(listener_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0
      || ::listen(listener_, SOMAXCONN) != 0
      || ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) != 0)
    return problem("cannot listen for health checks");
  port_ = ntohs(address.sin_port);
  for (const int descriptor : {listener_, stop_}) {
    epoll_event interest{};
    interest.events = EPOLLIN;
    interest.data.fd = descriptor;
    ::epoll_ctl(poll_, EPOLL_CTL_ADD, descriptor, &interest);
  }
  thread_ = std::thread{[this] { run(); }};
  return std::nullopt;
}

void probe_listener::run() {
  std::array<epoll_event, 64> events{};
  for (;;) {
    const int count = ::epoll_wait(poll_, events.data(), static_cast<int>(events.size()), -1);
    for (int i = 0; i < count; ++i) {
      const int descriptor = events[static_cast<std::size_t>(i)].data.fd;
      if (descriptor == stop_)
        return;
      if (descriptor == listener_)
        accept_all();
      else if (auto& who = visitors_[static_cast<std::size_t>(descriptor)])
        serve(*who);
    }
  }
}

void probe_listener::accept_all() {
  for (;;) {
    const int socket = ::accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (socket < 0) {
      if (errno == EMFILE || errno == ENFILE)
        ::usleep(10'000); // or this loop would spin until a descriptor is free
      return;
    }
    sockaddr_in address{};
    socklen_t size = sizeof address;
    ::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size);
    const std::size_t server = ntohl(address.sin_addr.s_addr) - first_address;
    const auto slot = static_cast<std::size_t>(socket);
    if (visitors_.size() <= slot)
      visitors_.resize(slot + 1);
    visitors_[slot] = std::make_unique<visitor>(visitor{socket, server, {}, http::request_parser{}});
    epoll_event interest{};
    interest.events = EPOLLIN;
    interest.data.fd = socket;
    ::epoll_ctl(poll_, EPOLL_CTL_ADD, socket, &interest);
    if (server >= presences_.size() || presences_[server].load(std::memory_order_relaxed) == presence::refusing)
      close(*visitors_[slot]);
  }
}

void probe_listener::serve(visitor& who) {
  char buffer[4096];
  const auto got = ::recv(who.socket, buffer, sizeof buffer, 0);
  if (got < 0 && (errno == EAGAIN || errno == EINTR))
    return;
  const auto how = presences_[who.server].load(std::memory_order_relaxed);
  if (got <= 0 || how == presence::refusing)
    return close(who);
  if (how == presence::silent)
    return;
  who.unread.append(buffer, static_cast<std::size_t>(got));
  for (;;) {
    const auto progress = who.parser.parse(who.unread);
    if (progress == http::request_parser::progress::need_more)
      return;
    if (progress == http::request_parser::progress::head_complete)
      continue; // the body comes to nothing
    if (progress == http::request_parser::progress::failed)
      return close(who);
    const auto& asked = who.parser.result();
    const bool is_check = asked.method == http::Method::Get && asked.target == "/healthcheck";
    const auto reply = is_check ? healthy : not_found;
    // Small beside what a socket takes; who does not read gets no more.
    if (::send(who.socket, reply.data(), reply.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(reply.size()))
      return close(who);
    if (!asked.keep_alive)
      ::shutdown(who.socket, SHUT_WR);
    if (is_check)
      answered_.fetch_add(1, std::memory_order_relaxed);
    who.unread.erase(0, who.parser.consumed());
    who.parser.reset();
  }
}

void probe_listener::close(visitor& who) {
  // With a reset, as from a machine where nobody listens any more.
  const linger at_once{1, 0};
  ::setsockopt(who.socket, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  ::close(who.socket);
  visitors_[static_cast<std::size_t>(who.socket)].reset();
}

} // namespace coordinator::fleet
