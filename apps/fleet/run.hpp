#pragma once

#include "apps/fleet/options.hpp"

namespace coordinator::fleet {

/// Runs the simulation from its first server to its summary. Returns the exit status: 0 when no invariant broke, 1 when
/// one did, 2 when the flags make no sense together, 3 when there is no coordinator to begin with.
int run(const options& asked);

} // namespace coordinator::fleet
