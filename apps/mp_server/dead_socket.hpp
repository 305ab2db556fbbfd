#pragma once

#include "apps/mp_server/bodies.hpp"
#include "apps/mp_server/bound_socket.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <variant>

namespace mp_server {

/// A port behind which no server works any more: it accepts connections, from a thread of its own, and does with them
/// what `mode` says. What is sent to it is read and thrown away. The destructor closes everything.
class dead_socket {
public:
  /// `mode` is none of `serve` and `refuse`. What went wrong instead, for people.
  static std::variant<std::unique_ptr<dead_socket>, std::string> listen(const std::string& host, std::uint16_t port,
                                                                        socket_mode mode);
  ~dead_socket();
  dead_socket(const dead_socket&) = delete;
  dead_socket& operator=(const dead_socket&) = delete;

  /// Accepted so far. Any thread.
  std::uint64_t connections() const noexcept { return connections_.load(std::memory_order_relaxed); }

private:
  dead_socket(bound_socket listener, int stop, socket_mode mode);

  struct client {
    int descriptor = -1;
    std::size_t sent = 0; ///< Bytes of the response that drips.
  };

  void run();
  void accept_all();
  /// Whether the connection is to be kept.
  bool on_readable(const client& who) const;
  bool drip(client& who) const;

  bound_socket listener_;
  int stop_; ///< An eventfd, readable once the thread is to end.
  socket_mode mode_;
  std::atomic<std::uint64_t> connections_ = 0;
  std::vector<client> clients_; ///< The thread's.
  std::thread thread_;
};

} // namespace mp_server
