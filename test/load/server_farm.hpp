#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

namespace coordinator::load_test {

/// Many small HTTP servers, each on a loopback address of its own, all at one port and on one thread.
class server_farm {
public:
  enum class manner : std::uint8_t {
    answers, ///< Any request at once: 200 with the server's address as the body.
    hangs,   ///< Accepts connections, reads what comes, and never answers.
  };

  /// Throws `std::system_error` when there are not enough descriptors or addresses.
  explicit server_farm(std::vector<manner> servers);
  ~server_farm();
  server_farm(const server_farm&) = delete;
  server_farm& operator=(const server_farm&) = delete;

  static std::string address(std::size_t server);
  std::uint16_t port() const noexcept { return port_; }

  std::size_t accepted() const noexcept { return accepted_; } ///< Connections so far, to all servers.
  std::size_t open() const noexcept { return open_; }
  std::size_t requests() const noexcept { return requests_; }
  /// The most that any one server had open at a time.
  std::size_t most_connections_of_a_server() const noexcept { return most_connections_; }

private:
  struct connection {
    std::size_t server = 0;
    std::string unread;
  };

  bool listen_everywhere();
  void run();
  void accept_from(std::size_t server);
  void serve(int descriptor);
  void close_connection(int descriptor);

  std::vector<manner> servers_;
  std::vector<int> listeners_;
  std::vector<std::size_t> connections_of_;
  std::unordered_map<int, connection> connections_;
  std::uint16_t port_ = 0;
  int epoll_ = -1;
  int wake_up_ = -1;
  std::atomic<std::size_t> accepted_ = 0;
  std::atomic<std::size_t> open_ = 0;
  std::atomic<std::size_t> requests_ = 0;
  std::atomic<std::size_t> most_connections_ = 0;
  std::thread thread_;
};

} // namespace coordinator::load_test
