#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <list>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>

namespace coordinator::unit_test {

/// The server's end of a connection, for the script that plays the server.
class peer {
public:
  explicit peer(int socket) : socket_{socket} {}

  /// The next request, head and body; empty at the end of the stream.
  std::optional<std::string> read_request() {
    for (;;) {
      if (const auto head_end = unread_.find("\r\n\r\n"); head_end != std::string::npos) {
        std::size_t length = 0;
        if (const auto at = unread_.find("Content-Length: "); at < head_end)
          length = std::strtoul(unread_.c_str() + at + 16, nullptr, 10);
        const auto total = head_end + 4 + length;
        if (unread_.size() >= total) {
          auto request = unread_.substr(0, total);
          unread_.erase(0, total);
          return request;
        }
      }
      char buffer[4096];
      const auto count = recv(socket_, buffer, sizeof buffer, 0);
      if (count <= 0)
        return std::nullopt;
      unread_.append(buffer, static_cast<std::size_t>(count));
    }
  }

  /// False when the client has gone.
  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      const auto count = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (count <= 0)
        return false;
      bytes.remove_prefix(static_cast<std::size_t>(count));
    }
    return true;
  }

  bool answer(std::string_view body, int status = 200) {
    return send("HTTP/1.1 " + std::to_string(status) + " X\r\nContent-Length: " + std::to_string(body.size())
                + "\r\n\r\n" + std::string{body});
  }

  /// Until the client hangs up, or the server is taken down.
  void wait_for_end() {
    char buffer[256];
    while (recv(socket_, buffer, sizeof buffer, 0) > 0) {
    }
  }

  /// The connection is reset when the script ends.
  void reset_at_end() {
    const linger at_once{1, 0};
    setsockopt(socket_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  }

private:
  int socket_;
  std::string unread_;
};

/// A server on the loopback interface that does what its script says, with each connection on a thread of its own. A
/// connection is closed when the script returns.
class scripted_server {
public:
  /// The number of the connection counts from 0.
  using script = std::function<void(peer& client, int number)>;

  explicit scripted_server(script play, int family = AF_INET) : play_{std::move(play)}, family_{family} {
    listener_ = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_storage address{};
    socklen_t length = sizeof(sockaddr_in);
    address.ss_family = static_cast<sa_family_t>(family);
    if (family == AF_INET) {
      reinterpret_cast<sockaddr_in&>(address).sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    } else {
      reinterpret_cast<sockaddr_in6&>(address).sin6_addr = in6addr_loopback;
      length = sizeof(sockaddr_in6);
    }
    if (bind(listener_, reinterpret_cast<sockaddr*>(&address), length) != 0 || listen(listener_, SOMAXCONN) != 0) {
      close(listener_);
      throw std::runtime_error{"no address to listen on"};
    }
    getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &length);
    port_ = ntohs(family == AF_INET ? reinterpret_cast<sockaddr_in&>(address).sin_port
                                    : reinterpret_cast<sockaddr_in6&>(address).sin6_port);
    acceptor_ = std::thread{[this] { accept_all(); }};
  }

  ~scripted_server() {
    shutdown(listener_, SHUT_RDWR);
    acceptor_.join();
    close(listener_);
    hang_up();
    for (auto& thread : threads_)
      thread.join();
  }

  scripted_server(const scripted_server&) = delete;
  scripted_server& operator=(const scripted_server&) = delete;

  std::uint16_t port() const noexcept { return port_; }

  std::string url(std::string_view path = "") const {
    return (family_ == AF_INET ? "http://127.0.0.1:" : "http://[::1]:") + std::to_string(port_) + std::string{path};
  }

  /// Ends the connections that there are.
  void hang_up() {
    const std::lock_guard guard{lock_};
    for (const int socket : sockets_)
      shutdown(socket, SHUT_RDWR);
  }

  int connections() const noexcept { return connections_; }

private:
  void accept_all() {
    for (;;) {
      const int socket = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (socket < 0)
        return;
      const int number = connections_++;
      const std::lock_guard guard{lock_};
      const auto known = sockets_.insert(sockets_.end(), socket);
      threads_.emplace_back([this, known, number] {
        peer client{*known};
        play_(client, number);
        const std::lock_guard inner_guard{lock_};
        close(*known);
        sockets_.erase(known);
      });
    }
  }

  script play_;
  int family_;
  int listener_ = -1;
  std::uint16_t port_ = 0;
  std::atomic<int> connections_{0};
  std::mutex lock_;
  std::list<int> sockets_;
  std::list<std::thread> threads_;
  std::thread acceptor_;
};

/// A port on which nobody listens.
inline std::uint16_t unused_port() {
  const scripted_server gone{[](peer&, int) {}};
  return gone.port();
}

} // namespace coordinator::unit_test
