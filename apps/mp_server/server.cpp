#include "apps/mp_server/server.hpp"

#include "actors/system.hpp"
#include "apps/mp_server/control_api.hpp"
#include "apps/mp_server/main_loop.hpp"
#include "apps/mp_server/membership.hpp"
#include "apps/mp_server/node.hpp"
#include "apps/mp_server/service_api.hpp"
#include "apps/mp_server/service_port.hpp"
#include "http/outbound_loop.hpp"
#include "schema/identifier.hpp"

#include <caf/actor_system.hpp>
#include <caf/exit_reason.hpp>
#include <caf/scoped_actor.hpp>
#include <caf/send.hpp>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>

namespace mp_server {

namespace http = coordinator::http;

namespace {

using namespace std::chrono_literals;

constexpr const char* control_host = "127.0.0.1";
/// For the last events to be taken: a post takes 2 s at most.
constexpr auto delivery_patience = 2500ms;
/// For requests under way to be answered.
constexpr auto drain_patience = 1s;

double wall_clock() {
  return std::chrono::duration<double>{std::chrono::system_clock::now().time_since_epoch()}.count();
}

/// 32 hexadecimal digits.
std::string generate_request_id() {
  return coordinator::schema::generate_instance_id().substr(sizeof "mp-" - 1);
}

node_options node_options_of(const settings& chosen, coordinator::outbound_client* reporter) {
  node_options options;
  options.instance_id = chosen.registration.instance_id;
  options.incarnation = static_cast<std::int64_t>(wall_clock());
  options.cache = {chosen.chunk_size, chosen.l1_capacity_bytes, chosen.l2_adapters, generate_request_id};
  options.wall_clock = wall_clock;
  options.reporter = reporter;
  if (reporter) {
    options.coordinator_url = chosen.registration.coordinator_urls.front();
    if (options.coordinator_url.ends_with('/'))
      options.coordinator_url.pop_back();
  }
  options.flush_interval = chosen.event_flush_interval;
  return options;
}

int fail(const std::string& problem, int status) {
  std::fprintf(stderr, "mp-server: %s\n", problem.c_str());
  return status;
}

void announce(const char* what, const std::string& host, std::uint16_t port) {
  const bool is_ipv6 = host.find(':') != std::string::npos;
  std::printf("mp-server: %s on %s%s%s:%u\n", what, is_ipv6 ? "[" : "", host.c_str(), is_ipv6 ? "]" : "",
              static_cast<unsigned>(port));
  std::fflush(stdout);
}

/// The flag of a member of the registrar's options.
std::string flag_of(std::string field) {
  for (auto& c : field)
    if (c == '_')
      c = '-';
  return "--" + field;
}

/// The server from its first actor to the moment it has told everybody that it stops. Returns the exit status.
int serve(const settings& chosen, main_loop& main, caf::actor_system& system, const node_actor& to) {
  auto service_routes = std::make_shared<http::router>();
  add_service_routes(*service_routes, to);
  service_port service{chosen.host, service_routes, system};
  if (const auto problem = service.open(chosen.http_port))
    return fail(*problem, 1);

  auto registration = chosen.registration;
  registration.http_port = service.port();
  fleet_membership membership{std::move(registration), to};

  std::unique_ptr<endpoint> control;
  if (chosen.control_port) {
    auto routes = std::make_shared<http::router>();
    add_control_routes(*routes, to,
                       {main, service, [&membership](bool enabled) { return membership.set_heartbeats(enabled); },
                        [&membership] { return membership.register_anew(); }});
    control = std::make_unique<endpoint>(control_host, *chosen.control_port, routes, system);
    if (const auto problem = control->start())
      return fail(*problem, 1);
  }
  if (const auto problems = membership.start(); !problems.empty()) {
    for (const auto& [field, message] : problems)
      fail((field.empty() ? "" : flag_of(field) + ": ") + message, 2);
    return 2;
  }
  // Tests read these.
  announce("serving", chosen.host, service.port());
  if (control)
    announce("control", control_host, control->port());

  main.run();

  // Events first: what a server reports after it has left, a coordinator may take for somebody else's.
  caf::scoped_actor asking{system};
  asking->request(to, delivery_patience, deliver_atom::value).receive([] {}, [](const caf::error&) {});
  membership.stop();
  service.drain(drain_patience);
  return 0;
}

} // namespace

int run_server(const settings& given) {
  main_loop main;
  auto chosen = given;
  if (chosen.registration.instance_id.empty())
    chosen.registration.instance_id = coordinator::schema::generate_instance_id();
  for (const auto& warning : chosen.warnings)
    std::fprintf(stderr, "mp-server: warning: %s\n", warning.c_str());

  coordinator::system_config config{1};
  caf::actor_system system{config};
  std::unique_ptr<http::outbound_loop> reporter;
  if (chosen.event_reporting && !chosen.registration.coordinator_urls.empty())
    reporter = std::make_unique<http::outbound_loop>(http::outbound_loop_options{1, 1});
  auto to = system.spawn(run_node, node_options_of(chosen, reporter.get()));
  const int status = serve(chosen, main, system, to);
  caf::anon_send_exit(to, caf::exit_reason::user_shutdown);
  to = nullptr;
  system.await_all_actors_done();
  return status;
}

} // namespace mp_server
