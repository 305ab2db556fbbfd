#pragma once

#include "event.hpp" // next to this file, here as well as where it is installed

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace mp_registrar {

enum class log_level : std::uint8_t { info, warning };

/// How an mp server is registered. docs/registrar.md explains each.
struct options {
  /// In order of preference, such as `http://coordinator:9300`: http or https, without query and credentials. Empty:
  /// the registrar does nothing at all, and nothing else here is looked at.
  std::vector<std::string> coordinator_urls{};
  /// Under which others reach this server: IPv4, IPv6 or a host name, no wildcard. Empty: the address of the interface
  /// that leads to the first coordinator.
  std::string advertise_ip{};
  std::uint16_t http_port = 0; ///< Of this server's own HTTP interface: 1 to 65535.
  /// At most 256 bytes of UTF-8 without control characters. Empty: a random one, new for each start.
  std::string instance_id{};
  /// Names (no two the same) and values: at most 1,024 entries and 64 KiB of UTF-8.
  std::vector<std::pair<std::string, std::string>> metadata{};
  std::string p2p_advertised_url{}; ///< `host:port`, at most 1,024 bytes; empty: peer-to-peer transfer is off.
  std::uint16_t mq_port = 0;        ///< 0: peer-to-peer transfer is off.
  std::chrono::nanoseconds heartbeat_interval = std::chrono::seconds{5}; ///< A millisecond to a year.
  std::chrono::nanoseconds stop_timeout = std::chrono::seconds{2}; ///< How long `stop` may take at most; up to an hour.

  // Both are called on the registrar's thread, one at a time, and delay its next request for as long as they run. What
  // they throw is dropped.
  std::function<void(const event&)> on_event{};
  std::function<void(log_level, std::string_view)> log{};
};

/// What is wrong with a setting.
struct configuration_problem {
  std::string field;   ///< A member of `options`, or the flag or variable that gave it; empty: not due to a setting.
  std::string message; ///< What is allowed, and what was given.
};

using configuration_problems = std::vector<configuration_problem>;

/// One line each: `field: message`.
std::string to_string(const configuration_problems& found);

/// Keeps an mp server registered with a coordinator, from a thread of its own, for as long as it lives: registers,
/// sends heartbeats, registers again whenever that is needed, and deregisters when it is stopped. A coordinator that is
/// down, slow or talks nonsense never holds up or ends the server. The thread takes no signals.
///
/// All functions may be called from any thread.
class registrar {
public:
  registrar(registrar&&) noexcept;
  registrar& operator=(registrar&&) noexcept; ///< Stops the one that is replaced.
  ~registrar();                               ///< Stops.

  /// Sends the one DELETE if the server is registered, and returns once that has been answered, at the latest after
  /// `stop_timeout`. No callback runs after that, unless it began before and outlasts that time. Further calls do
  /// nothing. Called from a callback it returns at once and the rest happens after the callback. The registrar may even
  /// be destroyed there; then callbacks may still come until it has left, so what they use has to outlive it.
  void stop() noexcept;

  /// Ends without a word to the coordinator, as a server does that crashes: the registration lasts until its lease has
  /// run out. Not to be called from a callback.
  void abandon() noexcept;

  /// Whether the last that was heard from the coordinator is that this registration is in force.
  bool registered() const noexcept;

  const std::string& instance_id() const noexcept;   ///< Empty without coordinators, and when it was moved from.
  const std::string& advertised_ip() const noexcept; ///< Likewise.

private:
  struct state;
  explicit registrar(std::shared_ptr<state> running) noexcept;
  void end(bool deregisters) noexcept;

  std::shared_ptr<state> state_;

  friend std::variant<registrar, configuration_problems> start(options how);
};

/// Starts, without waiting for anybody: that the server is registered is told by an event. Everything that is wrong
/// with the configuration is listed, and nothing is started then.
std::variant<registrar, configuration_problems> start(options how);

} // namespace mp_registrar
