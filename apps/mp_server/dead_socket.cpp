#include "apps/mp_server/dead_socket.hpp"

#include <fmt/format.h>

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <string_view>
#include <vector>

namespace mp_server {

namespace {

constexpr auto drip_interval = std::chrono::seconds{1};
/// A connection that can't be accepted yet stays, and would wake the loop again at once.
constexpr auto pause_without_resources = std::chrono::milliseconds{10};
/// What drips; its end never comes.
constexpr std::string_view endless_response = "HTTP/1.1 200 OK\r\nX-Padding: ";
constexpr std::string_view cut_response =
    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{\"status\":";

bool send_all(int descriptor, std::string_view bytes) {
  return ::send(descriptor, bytes.data(), bytes.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size());
}

void close_with_reset(int descriptor) {
  const linger at_once{1, 0};
  ::setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  ::close(descriptor);
}

} // namespace

std::variant<std::unique_ptr<dead_socket>, std::string> dead_socket::listen(const std::string& host, std::uint16_t port,
                                                                            socket_mode mode) {
  auto bound = bound_socket::bind(host, port);
  if (auto* problem = std::get_if<std::string>(&bound))
    return std::move(*problem);
  auto& listener = std::get<bound_socket>(bound);
  const int stop = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  if (stop < 0 || ::listen(listener.descriptor(), SOMAXCONN) != 0) {
    const int error = errno;
    if (stop >= 0)
      ::close(stop);
    return fmt::format("cannot listen on {} port {}: {}", host, port, std::strerror(error));
  }
  return std::unique_ptr<dead_socket>{new dead_socket{std::move(listener), stop, mode}};
}

dead_socket::dead_socket(bound_socket listener, int stop, socket_mode mode)
    : listener_(std::move(listener)), stop_(stop), mode_(mode), thread_([this] { run(); }) {}

dead_socket::~dead_socket() {
  const std::uint64_t one = 1;
  (void)!::write(stop_, &one, sizeof one);
  thread_.join();
  ::close(stop_);
}

void dead_socket::run() {
  auto next_drip = std::chrono::steady_clock::now();
  for (;;) {
    std::vector<pollfd> polled{{stop_, POLLIN, 0}, {listener_.descriptor(), POLLIN, 0}};
    for (const auto& who : clients_)
      polled.push_back({who.descriptor, POLLIN, 0});
    int patience = -1;
    if (mode_ == socket_mode::drip && !clients_.empty())
      patience = static_cast<int>(std::max<std::chrono::milliseconds::rep>(
          std::chrono::ceil<std::chrono::milliseconds>(next_drip - std::chrono::steady_clock::now()).count(), 0));
    if (::poll(polled.data(), polled.size(), patience) < 0)
      continue;
    if (polled[0].revents != 0)
      break;
    const bool drips = mode_ == socket_mode::drip && std::chrono::steady_clock::now() >= next_drip;
    if (drips)
      next_drip = std::chrono::steady_clock::now() + drip_interval;
    std::vector<client> kept;
    for (std::size_t i = 0; i < clients_.size(); ++i) {
      auto& who = clients_[i];
      if ((polled[i + 2].revents == 0 || on_readable(who)) && (!drips || drip(who)))
        kept.push_back(who);
      else if (mode_ == socket_mode::reset)
        close_with_reset(who.descriptor);
      else
        ::close(who.descriptor);
    }
    clients_ = std::move(kept);
    if (polled[1].revents != 0)
      accept_all();
  }
  for (const auto& who : clients_)
    ::close(who.descriptor);
}

void dead_socket::accept_all() {
  for (;;) {
    const int accepted = ::accept4(listener_.descriptor(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (accepted < 0) {
      if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
        std::this_thread::sleep_for(pause_without_resources);
      return;
    }
    connections_.fetch_add(1, std::memory_order_relaxed);
    clients_.push_back({accepted});
  }
}

bool dead_socket::on_readable(const client& who) const {
  char thrown_away[64 * 1024];
  bool any = false;
  for (;;) {
    const auto got = ::recv(who.descriptor, thrown_away, sizeof thrown_away, 0);
    if (got > 0) {
      any = true;
      continue;
    }
    if (got == 0 || (errno != EAGAIN && errno != EINTR))
      return false;
    if (errno == EAGAIN)
      break;
  }
  if (any && mode_ == socket_mode::cut)
    send_all(who.descriptor, cut_response);
  return !any || (mode_ != socket_mode::reset && mode_ != socket_mode::cut);
}

bool dead_socket::drip(client& who) const {
  const char next = who.sent < endless_response.size() ? endless_response[who.sent] : '.';
  ++who.sent;
  return send_all(who.descriptor, {&next, 1});
}

} // namespace mp_server
