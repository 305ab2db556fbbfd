#pragma once

#include "apps/fleet/figures.hpp"
#include "apps/fleet/options.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace coordinator::fleet {

/// What the coordinator took, if the simulator started it.
struct coordinator_usage {
  double processor_seconds = 0;
  std::uint64_t resident_bytes = 0; ///< At the end.
  std::uint64_t peak_resident_bytes = 0;
};

/// The result of a run.
struct outcome {
  figures last;
  double processor_seconds = 0; ///< Of the simulator.
  std::uint64_t health_checks = 0;
  bool was_interrupted = false;
  std::optional<coordinator_usage> coordinator;
};

/// One JSON object, on one line (docs/fleet.md, "The summary").
std::string summary_json(const options& asked, const outcome& result);

} // namespace coordinator::fleet
