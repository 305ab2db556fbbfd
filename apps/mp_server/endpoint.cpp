#include "apps/mp_server/endpoint.hpp"

#include <caf/actor_cast.hpp>
#include <caf/actor_system.hpp>
#include <caf/exit_reason.hpp>
#include <caf/send.hpp>

#include <utility>

namespace mp_server {

namespace http = coordinator::http;

namespace {

http::server_options server_options_of(std::string host, std::uint16_t port,
                                       const std::shared_ptr<const http::router>& routes) {
  http::server_options options;
  options.host = std::move(host);
  options.port = port;
  options.routes = routes;
  // A request that is to hang must not be answered by the server's own patience.
  options.limits.answer = std::chrono::hours{24 * 365};
  options.alive = [](std::size_t) {};
  return options;
}

} // namespace

endpoint::endpoint(std::string host, std::uint16_t port, std::shared_ptr<const http::router> routes,
                   caf::actor_system& system)
    : routes_(std::move(routes)), system_(system), server_(server_options_of(std::move(host), port, routes_), system) {}

endpoint::~endpoint() {
  if (gateway_)
    caf::anon_send_exit(gateway_, caf::exit_reason::user_shutdown);
}

std::optional<std::string> endpoint::start() {
  if (auto problem = server_.listen())
    return problem;
  http::gateway_options options;
  options.routes = routes_;
  gateway_ = system_.spawn(http::gateway, std::move(options));
  server_.attach(0, caf::actor_cast<caf::strong_actor_ptr>(gateway_));
  server_.start();
  return std::nullopt;
}

} // namespace mp_server
