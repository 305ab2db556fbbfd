#pragma once

#include "actors/token_hash.hpp"
#include "apps/mp_server/node_cache.hpp"
#include "http/registrar/registrar.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace mp_server {

/// Everything that can be set; docs/mp-server.md lists it.
struct settings {
  std::string host = "0.0.0.0";
  std::uint16_t http_port = 8080;            ///< 0: any free one.
  std::optional<std::uint16_t> control_port; ///< Unset: no control port. 0: any free one.
  std::vector<adapter_options> l2_adapters;
  std::int64_t l1_capacity_bytes = 0;
  std::size_t chunk_size = coordinator::default_chunk_size;

  /// Of the registration; without the port, which is known only once it is taken.
  mp_registrar::options registration;
  bool event_reporting = false;
  std::chrono::nanoseconds event_flush_interval = std::chrono::seconds{1};

  std::vector<std::string> warnings; ///< For the operator, such as of deprecated flags.
};

/// The process is to end with this status, after this text was printed.
struct early_exit {
  int status = 0;
  std::string text;
};

/// Reads flags and, for those about the coordinator, the environment. When anything is wrong, every problem is listed
/// by the name that was used, and the status is 2.
std::variant<settings, early_exit> read_settings(int argc, const char* const* argv);

} // namespace mp_server
