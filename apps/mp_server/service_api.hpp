#pragma once

#include "apps/mp_server/node.hpp"
#include "http/router.hpp"

namespace mp_server {

/// What a coordinator and its tools call: /cache, /quota, and what tells of this server (docs/mp-server.md).
void add_service_routes(coordinator::http::router& routes, const node_actor& to);

} // namespace mp_server
