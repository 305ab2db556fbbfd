#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace coordinator::fleet {

/// Every simulated server has an address of its own, all of them on this machine.
std::string address_of(std::size_t server);
inline constexpr std::size_t max_servers = std::size_t{1} << 20;

/// How a server treats those who come to its address.
enum class presence : std::uint8_t {
  answering, ///< `GET /healthcheck` is 200.
  refusing,  ///< Connections are reset.
  silent,    ///< Connections are taken, and nothing comes.
};

/// The HTTP port of all simulated servers: one socket for all addresses, on a thread of its own. Which server is meant
/// is told by the address that was connected to.
class probe_listener {
public:
  explicit probe_listener(std::size_t servers);
  ~probe_listener();
  probe_listener(const probe_listener&) = delete;
  probe_listener& operator=(const probe_listener&) = delete;

  /// Takes any free port. Why that failed, if it did.
  std::optional<std::string> listen();
  std::uint16_t port() const noexcept { return port_; }

  /// Any thread. All servers refuse at first.
  void set(std::size_t server, presence how) noexcept { presences_[server].store(how, std::memory_order_relaxed); }

  /// Health checks that were answered. Any thread.
  std::uint64_t answered() const noexcept { return answered_.load(std::memory_order_relaxed); }

private:
  struct visitor;
  void run();
  void accept_all();
  void serve(visitor& who);
  void close(visitor& who);

  std::vector<std::atomic<presence>> presences_;
  std::atomic<std::uint64_t> answered_ = 0;
  std::uint16_t port_ = 0;
  int listener_ = -1;
  int poll_ = -1;
  int stop_ = -1;
  std::vector<std::unique_ptr<visitor>> visitors_; ///< By descriptor.
  std::thread thread_;
};

} // namespace coordinator::fleet
