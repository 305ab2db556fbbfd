#include "test/load/server_farm.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>
#include <system_error>
#include <utility>

namespace coordinator::load_test {

namespace {

constexpr int port_attempts = 20;
constexpr int backlog = 128;

[[noreturn]] void fail(const char* what) {
  throw std::system_error{errno, std::generic_category(), what};
}

/// A listener, a connection and the client's end of it for each server, and some.
void allow_descriptors(std::size_t servers) {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  const rlim_t wanted = servers * 4 + 200;
  if (limit.rlim_cur >= wanted)
    return;
  limit.rlim_cur = std::min(wanted, limit.rlim_max);
  if (::setrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur < wanted)
    fail("too few descriptors");
}

std::uint16_t port_of(int listener) {
  sockaddr_in address{};
  socklen_t length = sizeof address;
  ::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &length);
  return ntohs(address.sin_port);
}

void watch(int epoll, int descriptor) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = descriptor;
  if (::epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event) != 0)
    fail("epoll_ctl");
}

} // namespace

server_farm::server_farm(std::vector<manner> servers)
    : servers_{std::move(servers)}, connections_of_(servers_.size(), 0) {
  allow_descriptors(servers_.size());
  for (int attempt = 0; !listen_everywhere(); ++attempt)
    if (attempt == port_attempts)
      fail("no port that is free at all addresses");
  epoll_ = ::epoll_create1(EPOLL_CLOEXEC);
  wake_up_ = ::eventfd(0, EFD_CLOEXEC);
  if (epoll_ < 0 || wake_up_ < 0)
    fail("epoll");
  watch(epoll_, wake_up_);
  for (const int listener : listeners_)
    watch(epoll_, listener);
  thread_ = std::thread{[this] { run(); }};
}

server_farm::~server_farm() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(wake_up_, &one, sizeof one);
  thread_.join();
  for (const auto& [descriptor, each] : connections_)
    ::close(descriptor);
  for (const int listener : listeners_)
    ::close(listener);
  ::close(epoll_);
  ::close(wake_up_);
}

std::string server_farm::address(std::size_t server) {
  constexpr std::size_t per_network = 250;
  return "127.1." + std::to_string(server / per_network) + "." + std::to_string(server % per_network + 1);
}

/// False when another program has the port at one of the addresses.
bool server_farm::listen_everywhere() {
  for (const int listener : std::exchange(listeners_, {}))
    ::close(listener);
  port_ = 0;
  for (std::size_t server = 0; server < servers_.size(); ++server) {
    const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (listener < 0)
      fail("socket");
    listeners_.push_back(listener);
    sockaddr_in place{};
    place.sin_family = AF_INET;
    place.sin_port = htons(port_);
    ::inet_pton(AF_INET, address(server).c_str(), &place.sin_addr);
    if (::bind(listener, reinterpret_cast<const sockaddr*>(&place), sizeof place) != 0)
      return false;
    if (::listen(listener, backlog) != 0)
      fail("listen");
    port_ = port_of(listener);
  }
  return true;
}

void server_farm::run() {
  std::unordered_map<int, std::size_t> server_of;
  for (std::size_t server = 0; server < listeners_.size(); ++server)
    server_of.emplace(listeners_[server], server);
  std::array<epoll_event, 256> events{};
  for (;;) {
    const int ready = ::epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), -1);
    for (int i = 0; i < ready; ++i) {
      const int descriptor = events[static_cast<std::size_t>(i)].data.fd;
      if (descriptor == wake_up_)
        return;
      if (const auto found = server_of.find(descriptor); found != server_of.end())
        accept_from(found->second);
      else
        serve(descriptor);
    }
  }
}

void server_farm::accept_from(std::size_t server) {
  for (;;) {
    const int descriptor = ::accept4(listeners_[server], nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (descriptor < 0)
      return;
    ++accepted_;
    ++open_;
    connections_.emplace(descriptor, connection{server, {}});
    most_connections_ = std::max(most_connections_.load(), ++connections_of_[server]);
    watch(epoll_, descriptor);
  }
}

void server_farm::serve(int descriptor) {
  std::array<char, 4096> buffer{};
  const auto count = ::read(descriptor, buffer.data(), buffer.size());
  if (count <= 0) {
    if (count == 0 || errno != EAGAIN)
      close_connection(descriptor);
    return;
  }
  auto& [server, unread] = connections_.at(descriptor);
  unread.append(buffer.data(), static_cast<std::size_t>(count));
  constexpr std::string_view end_of_head = "\r\n\r\n"; // the requests of these tests have no body
  for (auto end = unread.find(end_of_head); end != std::string::npos; end = unread.find(end_of_head)) {
    unread.erase(0, end + end_of_head.size());
    ++requests_;
    if (servers_[server] == manner::hangs)
      continue;
    const auto body = address(server);
    const auto reply = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: " + std::to_string(body.size())
                       + "\r\n\r\n" + body;
    // So short a reply fits into the buffer of the socket. A client that left is noticed by the next read.
    ::send(descriptor, reply.data(), reply.size(), MSG_NOSIGNAL);
  }
}

void server_farm::close_connection(int descriptor) {
  const auto found = connections_.find(descriptor);
  --connections_of_[found->second.server];
  connections_.erase(found);
  --open_;
  ::close(descriptor);
}

} // namespace coordinator::load_test
