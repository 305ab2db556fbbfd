#pragma once

#include "apps/fleet/clock.hpp"
#include "apps/fleet/profiles.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace coordinator::fleet {

/// What the command line asks for. Defaults are here and nowhere else; docs/fleet.md lists them.
struct options {
  const profile* chosen = nullptr;
  std::uint32_t servers = 100;
  std::optional<duration> length; ///< Unset: the shortest that the profile takes.
  duration heartbeat_interval = std::chrono::seconds{5};
  duration instance_timeout = std::chrono::seconds{30};
  duration health_check_interval = std::chrono::seconds{10};
  duration slack = std::chrono::seconds{2};
  std::optional<double> share;
  std::uint64_t seed = 0; ///< A random one unless given.
  std::size_t connections = 256;
  std::string coordinator_url; ///< Of one that runs; empty: one is started.
  std::string coordinator_binary;
  std::vector<std::string> coordinator_flags;
  std::optional<duration> expected_guard; ///< The bound of the coordinator's eviction guard.
  std::string summary_file;               ///< Empty: standard output.

  // What follows from these.

  /// Of one request of a server.
  duration request_timeout() const noexcept;
  /// Between two lists.
  duration list_interval() const noexcept;
  /// As in ledger_options.
  duration back_within() const noexcept;
  /// As in plan_options.
  duration gone_within() const noexcept;
};

/// The process is to end with this status, after this text was printed.
struct early_exit {
  int status = 0;
  std::string text;
};

/// When anything is wrong, the status is 2 and the text names the flag.
std::variant<options, early_exit> read_options(int argc, const char* const* argv);

} // namespace coordinator::fleet
