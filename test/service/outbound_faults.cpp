#include "harness/deadline.hpp"
#include "harness/mp_server_process.hpp"
#include "harness/pings.hpp"
#include "harness/service.hpp"

#include <boost/test/unit_test.hpp>

#include <fmt/format.h>

#include <csignal>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

// What goes wrong between the coordinator and an mp server that it calls, as the client sees it who asked for the call.
// Pings stand for all calls.

using namespace coordinator::service_test;

namespace {

/// Pings may take very long, so that what ends soon was ended by something else.
constexpr const char* long_limit = "20";
/// Much less than that.
constexpr double soon = 2 * leniency;

struct patient : service {
  patient() : service{with_ping({"--ping-timeout", long_limit})} {}
};

constexpr double short_limit = 0.5;

struct impatient : service {
  impatient() : service{with_ping({"--ping-timeout", fmt::format("{}", short_limit)})} {}
};

std::vector<std::string> same_id(std::string id, std::size_t count) {
  return std::vector<std::string>(count, std::move(id));
}

} // namespace

BOOST_AUTO_TEST_SUITE(outbound_faults)

BOOST_FIXTURE_TEST_CASE(a_stopped_process_is_told_from_a_healthy_one_in_time_and_heals_when_it_goes_on, impatient) {
  mp_server_process server;
  register_at(api, "a", server.port());
  BOOST_TEST_REQUIRE(outcome_of(api.get("/ping/a")) == "answered"); // its connection is kept
  server.halt();                                                    // its system goes on accepting connections
  const auto start = monotonic_clock::now();
  for (auto& ping : start_pings(port(), same_id("a", 20)))
    BOOST_TEST(outcome_of(ping.read_response()) == "timed_out");
  BOOST_TEST(seconds_since(start) >= short_limit);
  BOOST_TEST(seconds_since(start) < 2 * short_limit * leniency);
  server.send_signal(SIGCONT);
  BOOST_TEST(eventually(5s, [&] { return outcome_of(api.get("/ping/a")) == "answered"; }));
}

BOOST_FIXTURE_TEST_CASE(half_an_answer_is_no_answer, patient) {
  mp_server_process server;
  register_at(api, "a", server.port());
  server.set_socket("cut");
  const auto body = api.get("/ping/a").body_json();
  BOOST_TEST(body["outcome"].text() == "failed");
  BOOST_TEST(!body["healthy"].boolean());
}

BOOST_FIXTURE_TEST_CASE(a_server_that_was_started_anew_answers_the_first_call, patient) {
  const auto at = std::to_string(free_port());
  auto server = std::make_unique<mp_server_process>(std::vector<std::string>{"--http-port", at});
  register_at(api, "a", server->port());
  for (int round = 0; round < 5; ++round) {
    // One after the other and many at a time, so that there are connections to keep.
    BOOST_TEST(outcome_of(api.get("/ping/a")) == "answered");
    for (auto& ping : start_pings(port(), same_id("a", 8)))
      BOOST_TEST(outcome_of(ping.read_response()) == "answered");
    server->send_signal(SIGKILL);
    BOOST_TEST_REQUIRE(server->wait_for_exit(5s).has_value());
    BOOST_TEST(outcome_of(api.get("/ping/a")) == "refused");
    server = std::make_unique<mp_server_process>(std::vector<std::string>{"--http-port", at});
  }
}

BOOST_FIXTURE_TEST_CASE(a_server_that_refuses_requests_is_answered_for_and_stays_in_the_fleet, patient) {
  mp_server_process server;
  register_at(api, "a", server.port());
  const auto row = listed_row(api, "a").dump();
  for (const int status : {400, 404, 422, 500, 503}) {
    server.set_faults(fmt::format(R"([{{"path":"/healthcheck","status":{},"body":"{{}}"}}])", status));
    for (int i = 0; i < 50; ++i) {
      const auto body = api.get("/ping/a").body_json();
      BOOST_TEST(body["outcome"].text() == "answered");
      BOOST_TEST(!body["healthy"].boolean());
    }
  }
  BOOST_TEST(listed_row(api, "a").dump() == row);
  server.clear_faults();
  BOOST_TEST(api.get("/ping/a").body_json()["healthy"].boolean());
}

BOOST_AUTO_TEST_CASE(one_that_is_not_in_the_list_any_more_is_not_called) {
  service it{with_ping({"--instance-timeout", "0.3", "--health-check-interval", "0.05"})};
  mp_server_process server;
  for (int round = 0; round < 5; ++round) {
    const auto lapsing = register_many_at(it.api, "lapsing", 10, server.port());
    const auto leaving = register_many_at(it.api, "leaving", 10, server.port());
    for (const auto& id : leaving)
      it.api.del(instance_path(id));
    BOOST_TEST_REQUIRE(eventually(5s, [&] { return listed_ids(it.api).empty(); }));
    for (const auto* gone : {&lapsing, &leaving})
      for (const auto& id : *gone)
        BOOST_TEST(it.api.get(ping_path(id)).status == 404);
  }
  BOOST_TEST(server.calls().empty());
}

BOOST_AUTO_TEST_CASE(calls_to_one_that_lapses_meanwhile_end_with_it) {
  service it{with_ping({"--ping-timeout", long_limit, "--instance-timeout", "0.5", "--health-check-interval", "0.1"})};
  mp_server_process server;
  server.set_socket("silent");
  register_at(it.api, "a", server.port());
  const auto start = monotonic_clock::now();
  // More than run at a time: those that wait for their turn end as well.
  for (auto& ping : start_pings(it.port(), same_id("a", 20)))
    BOOST_TEST(ping.read_response().status == 404);
  BOOST_TEST(seconds_since(start) < 0.6 + soon);
  BOOST_TEST(!is_listed(it.api, "a"));
}

BOOST_FIXTURE_TEST_CASE(an_answer_that_races_with_a_departure_never_counts_for_the_next_life, patient) {
  mp_server_process former;
  former.set_faults(R"([{"path":"/healthcheck","delay_ms":15}])");
  mp_server_process next;
  std::minstd_rand random{1};
  int answered = 0;
  int departed = 0;
  for (int round = 0; round < 60; ++round) {
    register_at(api, "a", former.port());
    former.forget_calls();
    auto pings = start_pings(port(), same_id("a", 4));
    BOOST_TEST_REQUIRE(eventually(5s, [&] { return former.calls().size() == pings.size(); }));
    let_pass(std::chrono::milliseconds{random() % 20});
    if (round % 2 == 0)
      api.del("/instances/a");
    register_at(api, "a", next.port());
    for (auto& ping : pings) {
      const auto reply = ping.read_response();
      BOOST_TEST((reply.status == 404 || outcome_of(reply) == "answered"), reply);
      ++(reply.status == 404 ? departed : answered);
    }
    const auto body = api.get("/ping/a").body_json();
    BOOST_TEST(body["healthy"].boolean());
    BOOST_TEST(body["pings"].integer() == 1);
    BOOST_TEST(listed_row(api, "a")["http_port"].integer() == next.port());
  }
  BOOST_TEST(next.calls().size() == 60u);
  BOOST_TEST_MESSAGE(answered << " were answered, " << departed << " ended with the instance");
  BOOST_TEST(is_alive(port()));
}

BOOST_FIXTURE_TEST_CASE(servers_that_reset_connections_fail_each_call_once_and_harm_nobody, patient) {
  mp_server_process server;
  register_at(api, "a", server.port());
  const auto at_rest = process.open_descriptors();
  for (const std::string mode : {"reset", "cut"}) {
    server.set_socket(mode);
    for (int round = 0; round < 20; ++round)
      for (auto& ping : start_pings(port(), same_id("a", 50)))
        BOOST_TEST(outcome_of(ping.read_response()) == "failed");
    BOOST_TEST(server.dead_connections() == 1000u); // nothing is tried twice
  }
  BOOST_TEST(eventually(5s, [&] { return process.open_descriptors() <= at_rest; }),
             process.open_descriptors() << " descriptors are open; " << at_rest << " were");
  BOOST_TEST(is_alive(port()));
  server.set_socket("serve");
  BOOST_TEST(outcome_of(api.get("/ping/a")) == "answered");
}

BOOST_FIXTURE_TEST_CASE(clients_that_leave_while_their_call_is_under_way_leave_nothing_behind, impatient) {
  mp_server_process silent;
  silent.set_socket("silent");
  mp_server_process slow;
  slow.set_faults(R"([{"path":"/healthcheck","delay_ms":20}])");
  register_at(api, "silent", silent.port());
  register_at(api, "slow", slow.port());
  const auto at_rest = process.open_descriptors();
  std::minstd_rand random{1};
  for (int round = 0; round < 30; ++round) {
    auto pings = start_pings(port(), same_id("silent", 5));
    for (auto& ping : start_pings(port(), same_id("slow", 5)))
      pings.push_back(std::move(ping));
    let_pass(std::chrono::milliseconds{random() % 40});
    for (std::size_t i = 0; i < pings.size(); i += 2)
      pings[i].reset();
  }
  // Of the connections to the servers, some are kept.
  BOOST_TEST(eventually(10s, [&] { return process.open_descriptors() <= at_rest + 8; }),
             process.open_descriptors() << " descriptors are open; " << at_rest << " were");
  BOOST_TEST(outcome_of(api.get("/ping/slow")) == "answered");
  BOOST_TEST(is_alive(port()));
}

BOOST_AUTO_TEST_CASE(of_many_calls_at_once_each_gets_its_own_answer_or_its_own_time_limit) {
  constexpr double limit = 4;
  service it{with_ping({"--ping-timeout", fmt::format("{}", limit), "--courier-connections-per-instance", "20"})};
  mp_server_process silent;
  silent.set_socket("silent");
  mp_server_process slow;
  slow.set_faults(R"([{"path":"/healthcheck","delay_ms":1000}])");
  const auto hung = register_many_at(it.api, "hung", 20, silent.port());
  const auto late = register_many_at(it.api, "late", 20, slow.port());
  std::vector<std::string> ids;
  for (std::size_t i = 0; i < hung.size(); ++i) {
    ids.push_back(hung[i]);
    ids.push_back(late[i]);
  }
  const auto start = monotonic_clock::now();
  auto pings = start_pings(it.port(), ids);
  for (std::size_t i = 1; i < pings.size(); i += 2) {
    const auto body = pings[i].read_response().body_json();
    BOOST_TEST(body["instance_id"].text() == ids[i]);
    BOOST_TEST(body["outcome"].text() == "answered");
    BOOST_TEST(body["pings"].integer() == 1);
  }
  BOOST_TEST(seconds_since(start) >= 1);
  BOOST_TEST(seconds_since(start) < limit); // that of nobody had to run out for it
  for (std::size_t i = 0; i < pings.size(); i += 2) {
    const auto body = pings[i].read_response().body_json();
    BOOST_TEST(body["instance_id"].text() == ids[i]);
    BOOST_TEST(body["outcome"].text() == "timed_out");
    BOOST_TEST(body["milliseconds"].number() >= limit * 1000);
    BOOST_TEST(body["milliseconds"].number() < (limit + 0.5 * leniency) * 1000);
  }
}

BOOST_FIXTURE_TEST_CASE(calls_to_a_server_that_is_killed_end_at_once, patient) {
  std::optional<mp_server_process> server{std::in_place};
  server->set_faults(R"([{"path":"/healthcheck","hang":true}])");
  register_at(api, "a", server->port());
  auto pings = start_pings(port(), same_id("a", 8));
  BOOST_TEST_REQUIRE(eventually(5s, [&] { return server->calls().size() == pings.size(); }));
  server->send_signal(SIGKILL);
  const auto start = monotonic_clock::now();
  for (auto& ping : pings)
    BOOST_TEST(outcome_of(ping.read_response()) == "failed");
  BOOST_TEST(seconds_since(start) < soon);
  BOOST_TEST(outcome_of(api.get("/ping/a")) == "refused");
}

BOOST_AUTO_TEST_CASE(clients_whose_call_is_under_way_at_a_stop_get_a_status_or_a_close) {
  mp_server_process silent;
  silent.set_socket("silent");
  mp_server_process slow;
  slow.set_faults(R"([{"path":"/healthcheck","delay_ms":500}])");
  coordinator_process stopped{with_ping({"--ping-timeout", long_limit, "--shutdown-grace", "2"})};
  client other{stopped.port()};
  register_at(other, "silent", silent.port());
  register_at(other, "slow", slow.port());
  auto hung = start_pings(stopped.port(), same_id("silent", 20));
  auto answered = start_pings(stopped.port(), same_id("slow", 8));
  BOOST_TEST_REQUIRE(eventually(5s, [&] { return slow.calls().size() == 8 && silent.dead_connections() == 8; }));
  const auto start = monotonic_clock::now();
  stopped.send_signal(SIGTERM);
  // There is time enough for those.
  for (auto& ping : answered)
    BOOST_TEST(outcome_of(ping.read_response()) == "answered");
  for (auto& ping : hung) {
    const auto stream = ping.read_to_end();
    BOOST_TEST((stream.empty() || stream.starts_with("HTTP/1.1 503 ")), stream);
  }
  check_clean_end(stopped);
  BOOST_TEST(seconds_since(start) < 3 * leniency);
}

BOOST_AUTO_TEST_SUITE_END()
