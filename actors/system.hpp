#pragma once

#include <caf/actor_system_config.hpp>

namespace coordinator {

/// CAF as this service sets it up: our message types and errors, the "sharing" scheduler (idle work-stealing threads
/// poll), and a logger that hands every line to `std::clog`, where the caller puts a `log_sink`.
///
/// Reads no file and no command line.
class system_config : public caf::actor_system_config {
public:
  /// `scheduler_threads` must be positive.
  explicit system_config(std::size_t scheduler_threads);
};

/// For tests: the deterministic scheduler, which runs actors and moves time only when told to, and no logger.
class test_system_config : public caf::actor_system_config {
public:
  test_system_config();
};

} // namespace coordinator
