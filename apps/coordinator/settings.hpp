#pragma once

#include "actors/capability.hpp"
#include "actors/log.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace coordinator {

/// Half of the processors, 1 to 4: the other half is for the actors that do bulk work.
std::size_t default_http_threads() noexcept;

/// Everything an operator can set. docs/settings.md and the README list them; defaults are here and nowhere else.
struct settings {
  using duration = std::chrono::nanoseconds;

  std::string host = "0.0.0.0";
  std::uint16_t port = 9300; ///< 0: any free port, which is logged.
  duration instance_timeout = std::chrono::seconds{30};
  duration health_check_interval = std::chrono::seconds{10}; ///< 0: nothing is ever evicted.
  double eviction_guard = 0; ///< Share of the fleet that may lapse in one sweep; 0: any.
  duration eviction_guard_max = std::chrono::seconds{60};
  std::size_t courier_connections = 1024;
  std::size_t courier_connections_per_instance = 8;
  duration timeout_keep_alive = std::chrono::seconds{75};
  std::size_t http_threads = default_http_threads();
  duration shutdown_grace = std::chrono::seconds{5};
  log::level log_level = log::level::info;
  std::string log_file;                    ///< Empty: standard error.
  std::vector<std::string> log_components; ///< Empty: all.

  configuration capabilities; ///< Values of the settings that capabilities bring.

  /// Name, effective value and where it came from (`flag`, `environment`, `file`, `default`), for the log.
  struct effective {
    std::string name;
    std::string value;
    std::string source;
  };
  std::vector<effective> sources;
};

/// The process is to end with this status, after this text was printed.
struct early_exit {
  int status = 0;
  std::string text;
};

/// Reads the settings, those that `known` bring included: a flag beats the environment, that beats the `--config` file,
/// that beats the default. When anything is wrong, every problem is listed by the name that the operator used, and the
/// status is 2.
std::variant<settings, early_exit> read_settings(int argc, const char* const* argv,
                                                 const std::vector<capability>& known);

} // namespace coordinator
