#include "harness/deadline.hpp"
#include "harness/mp_server_process.hpp"
#include "harness/pings.hpp"
#include "harness/service.hpp"

#include <boost/test/unit_test.hpp>

#include <csignal>
#include <string>
#include <vector>

// The capability that docs/adding-a-capability.md works out, in the coordinator that is built with it.

using namespace coordinator::service_test;

namespace {

struct pinging : service {
  pinging() : service{with_ping({"--ping-timeout", "0.5"})} {}

  bool joined(std::string_view id) {
    return eventually(5s, [&] { return is_listed(api, id); });
  }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(ping_example, pinging)

BOOST_AUTO_TEST_CASE(a_healthy_server_is_found_healthy) {
  const mp_server_process server{joining(port(), "a")};
  BOOST_TEST_REQUIRE(joined("a"));
  const auto reply = api.get("/ping/a");
  BOOST_TEST_REQUIRE(reply.status == 200, reply);
  const auto body = reply.body_json();
  BOOST_TEST(body["instance_id"].text() == "a");
  BOOST_TEST(body["healthy"].boolean());
  BOOST_TEST(body["outcome"].text() == "answered");
  BOOST_TEST(body["milliseconds"].number() > 0);
  BOOST_TEST(api.get("/ping/a").body_json()["pings"].integer() == 2);
}

BOOST_AUTO_TEST_CASE(every_way_not_to_answer_is_told_in_time) {
  mp_server_process server{joining(port(), "a")};
  BOOST_TEST_REQUIRE(joined("a"));
  const std::vector<std::pair<std::string, std::string>> ways{
      {"refuse", "refused"}, {"silent", "timed_out"}, {"drip", "timed_out"}, {"reset", "failed"}};
  for (const auto& [mode, outcome] : ways) {
    server.set_socket(mode);
    const auto start = monotonic_clock::now();
    const auto body = api.get("/ping/a").body_json();
    BOOST_TEST(!body["healthy"].boolean(), mode);
    BOOST_TEST(body["outcome"].text() == outcome, mode);
    BOOST_TEST(seconds_since(start) < 1 * leniency, mode);
  }
  server.set_socket("serve");
  const auto body = api.get("/ping/a").body_json();
  BOOST_TEST(body["healthy"].boolean());
  BOOST_TEST(body["failed"].integer() == 4);
}

BOOST_AUTO_TEST_CASE(a_stranger_is_not_found) {
  BOOST_TEST(api.get("/ping/nobody").status == 404);
  BOOST_TEST(api.get("/ping/%01").status == 422);
}

BOOST_AUTO_TEST_CASE(heartbeats_go_on_while_pings_hang) {
  mp_server_process server{joining(port(), "a")};
  BOOST_TEST_REQUIRE(joined("a"));
  server.set_socket("silent");
  std::vector<connection> pings;
  for (int i = 0; i < 50; ++i) {
    pings.emplace_back(port());
    pings.back().send(render_request("GET", "/ping/a"));
  }
  const auto start = monotonic_clock::now();
  for (int i = 0; i < 100; ++i)
    BOOST_TEST(heartbeat(api, "a").status == 200);
  BOOST_TEST(seconds_since(start) < 0.2 * leniency);
  for (auto& ping : pings)
    BOOST_TEST(ping.read_response().body_json()["outcome"].text() == "timed_out");
}

BOOST_AUTO_TEST_CASE(a_ping_of_one_that_leaves_meanwhile_ends_with_it) {
  mp_server_process server{joining(port(), "a")};
  BOOST_TEST_REQUIRE(joined("a"));
  server.set_socket("silent");
  for (int round = 0; round < 20; ++round) {
    connection ping{port()};
    ping.send(render_request("GET", "/ping/a"));
    BOOST_TEST(ping.stays_silent(50ms));
    if (round % 2 == 0)
      api.del("/instances/a");
    else
      register_instance(api, {.instance_id = "a", .ip = "127.0.0.1", .http_port = server.port()});
    BOOST_TEST(ping.read_response().status == 404);
    register_instance(api, {.instance_id = "a", .ip = "127.0.0.1", .http_port = server.port()});
  }
}

BOOST_AUTO_TEST_CASE(one_that_has_just_left_is_not_called) {
  mp_server_process server;
  for (int round = 0; round < 50; ++round) {
    register_instance(api, {.instance_id = "a", .ip = "127.0.0.1", .http_port = server.port()});
    api.del("/instances/a");
    BOOST_TEST(api.get("/ping/a").status == 404);
  }
  BOOST_TEST(server.calls().empty());
}

BOOST_AUTO_TEST_CASE(clients_however_many_leave_descriptors_to_reach_servers_with) {
  mp_server_process server;
  auto options = with_ping({});
  options.descriptor_limit = 200;
  service crowded{options};
  register_instance(crowded.api, {.instance_id = "a", .ip = "127.0.0.1", .http_port = server.port()});
  std::vector<connection> crowd;
  for (int i = 0; i < 180; ++i)
    crowd.emplace_back(crowded.port());
  BOOST_TEST(crowd.back().read_response().status == 503); // there is room for no more
  BOOST_TEST(crowded.api.get("/ping/a").body_json()["outcome"].text() == "answered");
}

BOOST_AUTO_TEST_CASE(its_settings_are_like_all_others) {
  BOOST_TEST(process.output().find("ping-timeout=0.5 ping-history=600") != std::string::npos);
  const auto wrong = run_to_end(with_ping({"--ping-timeout", "soon"}));
  BOOST_TEST(wrong.output.find("--ping-timeout: must be a number of seconds from 0.01 to 25, not 'soon'")
             != std::string::npos);
  auto from_environment = with_ping({});
  from_environment.environment = {{"LMCACHE_MP_COORDINATOR_PING_HISTORY", "5"}};
  coordinator_process other{from_environment};
  BOOST_TEST(other.wait_for_output("ping-history=5", 5s));
  other.stop();
  BOOST_TEST(run_to_end(with_ping({"--log-components", "pong"})).output.find("ping") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(its_endpoint_is_described) {
  const auto document = api.get("/openapi.json").body_json();
  BOOST_TEST(document["paths"].has("/ping/{instance_id}"));
  BOOST_TEST(document["components"]["schemas"].has("ping_reply"));
}

BOOST_AUTO_TEST_CASE(a_stop_is_not_held_up_by_pings_that_hang) {
  mp_server_process server;
  server.set_socket("silent");
  coordinator_process stopped{with_ping({"--ping-timeout", "20"})};
  client other{stopped.port()};
  register_instance(other, {.instance_id = "a", .ip = "127.0.0.1", .http_port = server.port()});
  connection ping{stopped.port()};
  ping.send(render_request("GET", "/ping/a"));
  BOOST_TEST(ping.stays_silent(200ms));
  stopped.send_signal(SIGTERM);
  BOOST_TEST(stopped.wait_for_exit(10s).has_value());
  check_clean_end(stopped);
}

BOOST_AUTO_TEST_SUITE_END()
