#pragma once

#include "actors/latency_histogram.hpp"
#include "apps/fleet/clock.hpp"
#include "apps/fleet/violations.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace coordinator::fleet {

/// What became of the requests of one kind.
struct request_figures {
  std::uint64_t sent = 0;
  std::uint64_t answered = 0;
  std::uint64_t unavailable = 0; ///< Of these: 429 and 503.
  std::uint64_t failed = 0;      ///< Refused, cut off, or not answered in time; neither faults of ours nor answers.
  latency_histogram took;        ///< Of those that were answered.
};

/// The simulation at one moment.
struct figures {
  duration elapsed{};
  std::string phase;
  std::size_t servers = 0;
  std::size_t up = 0;
  std::size_t cut_off = 0;
  std::size_t registered = 0;
  std::size_t listed = 0;
  std::array<request_figures, 3> requests{}; ///< By request_kind.
  request_figures lists{};
  std::uint64_t rejoined = 0; ///< Registrations after a heartbeat that was answered with 404.
  std::uint64_t starts = 0;
  std::uint64_t crashes = 0;
  std::uint64_t coordinator_kills = 0; ///< Asked for so far.
  duration longest_delay{};            ///< By which the simulator's own work came late at most.
  std::string told_lease; ///< `Instance-Timeout` of the latest registration, in seconds; empty: there was none.
  violation_log violations;
  bool is_over = false;
};

} // namespace coordinator::fleet
