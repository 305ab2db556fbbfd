#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace mp_registrar {

enum class event_kind : std::uint8_t {
  registered,         ///< On every registration, later ones included.
  lost,               ///< The coordinator does not know this registration any more; the next request registers again.
  superseded,         ///< Somebody else registered the id (412). Heartbeats go on, in case that other one falls silent.
  unreachable,        ///< A coordinator gave no answer. Once per URL, until something works again.
  refused,            ///< A coordinator gave an answer that is no success, or none that makes sense. Likewise.
  interval_shortened, ///< The lease is too short for the configured interval: heartbeats come more often than that.
  left,               ///< Stopped, and the registration was given up; `detail` says why when that failed.
};

std::string_view to_string(event_kind value) noexcept;

/// Something that happened to the registration of an mp server.
struct event {
  event_kind kind{};
  std::string instance_id{};
  std::string coordinator_url{};
  std::string detail{};             ///< For people; empty when there is nothing more to say.
  bool re_registered = false;       ///< Of `registered`: the coordinator replaced an earlier registration of that id.
  std::chrono::nanoseconds lease{}; ///< As the coordinator told it; 0: it did not.
  std::chrono::nanoseconds interval{}; ///< Between heartbeats from now on.
};

/// One line about it, for a log.
std::string describe(const event& what);

} // namespace mp_registrar
