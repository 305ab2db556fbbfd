#pragma once

#include "schema/codec.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace coordinator::schema {

/// Reply of `GET /healthz`.
struct health_reply {
  std::string status = "healthy";
};

/// One activity of the coordinator that has not been seen to make progress in time.
struct late_activity {
  std::string name; ///< The actor, worker or job, such as `registry` or `sweep`.
  double seconds_since_progress = 0;
  double limit_seconds = 0;
};

/// What the eviction guard is doing (docs/architecture.md, "The eviction guard").
struct guard_reply {
  std::uint64_t held_back = 0; ///< Instances that are not decided yet.
  std::uint64_t alive = 0;     ///< Decided since the guard set in.
  std::uint64_t evicted = 0;   ///< Likewise.
  double ends_within_seconds = 0;
  std::string how;
};

/// Reply of `GET /readyz`.
struct readiness_reply {
  std::string status;                 ///< `ready`, `stopping` or `late`.
  std::vector<late_activity> late;    ///< Empty when ready.
  std::optional<guard_reply> guard{}; ///< While the guard holds somebody back.
};

/// `{"detail":"…"}`: every error that is not about a field.
struct problem_body {
  std::string detail;
};

/// `{"error":"…"}`: only the 404 of a heartbeat, where existing servers expect this key.
struct unknown_instance_body {
  std::string error;
};

} // namespace coordinator::schema
