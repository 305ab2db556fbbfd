#pragma once

#include "apps/mp_server/main_loop.hpp"
#include "apps/mp_server/node.hpp"
#include "apps/mp_server/service_port.hpp"
#include "http/router.hpp"

#include <functional>
#include <optional>
#include <string>

namespace mp_server {

/// What the control port needs besides the node. All of it is used by tasks of the main loop.
struct controlled {
  main_loop& main;
  service_port& service;
  /// Suspends heartbeats without deregistering, or goes on by registering anew. Returns why it can't.
  std::function<std::optional<std::string>(bool enabled)> set_heartbeats;
  /// Registers anew, as a process does that has restarted. Likewise.
  std::function<std::optional<std::string>()> register_anew;
};

/// What a test tells this server to do (docs/mp-server.md, "The control port"). What `what` refers to must outlive
/// the main loop's last task.
void add_control_routes(coordinator::http::router& routes, const node_actor& to, const controlled& what);

} // namespace mp_server
