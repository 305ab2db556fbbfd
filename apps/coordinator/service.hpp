#pragma once

#include "actors/capability.hpp"
#include "apps/coordinator/settings.hpp"

#include <vector>

namespace coordinator {

/// Runs the coordinator, with those capabilities, until it is told to stop, and returns the process's exit status: 0
/// after SIGTERM, SIGINT or SIGHUP, 1 when it could not start or gave up on an actor.
///
/// To be called once, from the main thread, before any other thread exists: it blocks signals for all threads.
int run_service(const settings& chosen, const std::vector<capability>& capabilities);

} // namespace coordinator
