#pragma once

#include "apps/mp_server/settings.hpp"

namespace mp_server {

/// Runs the server until it is told to stop, and returns the process's exit status: 0 after SIGTERM, SIGINT or SIGHUP,
/// 1 when it could not start, 2 when its settings make no sense.
///
/// To be called once, from the main thread, before any other thread exists: it blocks signals for all threads.
int run_server(const settings& chosen);

} // namespace mp_server
