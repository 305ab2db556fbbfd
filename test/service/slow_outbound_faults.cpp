#include "harness/deadline.hpp"
#include "harness/mp_server_process.hpp"
#include "harness/pings.hpp"
#include "harness/service.hpp"

#include <boost/test/unit_test.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <string>
#include <thread>
#include <vector>

using namespace coordinator::service_test;

namespace {

/// Sleeps until so long after `start`: what happens at which time is what is tried.
void at(monotonic_clock::time_point start, std::chrono::milliseconds offset) {
  std::this_thread::sleep_until(start + offset);
}

} // namespace

// Faults of calls to mp servers that take many rounds to show. scripts/test --thorough runs them.
BOOST_AUTO_TEST_SUITE(slow_outbound_faults)

BOOST_AUTO_TEST_CASE(an_answer_that_comes_after_its_server_moved_changes_nothing_in_200_rounds) {
  constexpr int at_a_time = 20;
  service it{with_ping({"--ping-timeout", "20", "--courier-connections-per-instance", "20"})};
  mp_server_process former;
  former.set_faults(R"([{"path":"/healthcheck","delay_ms":1000}])");
  mp_server_process next;
  for (int wave = 0; wave < 10; ++wave) {
    const auto ids = register_many_at(it.api, "mp", at_a_time, former.port());
    const auto start = monotonic_clock::now();
    auto pings = start_pings(it.port(), ids);
    at(start, 500ms);
    for (const auto& id : ids)
      BOOST_TEST(it.api.del(instance_path(id)).status == 204);
    at(start, 700ms);
    register_many_at(it.api, "mp", at_a_time, next.port());
    const auto list = rows_in(it.api.get("/instances"));
    for (auto& ping : pings) {
      const auto reply = ping.read_response();
      BOOST_TEST((reply.status == 404 || outcome_of(reply) == "answered"), reply);
    }
    at(start, 1200ms);
    BOOST_TEST(rows_in(it.api.get("/instances")) == list);
    for (const auto& id : ids) {
      const auto body = it.api.get(ping_path(id)).body_json();
      BOOST_TEST(body["healthy"].boolean());
      BOOST_TEST(body["pings"].integer() == 1);
    }
  }
  BOOST_TEST(next.calls().size() == 200u);
  BOOST_TEST(is_alive(it.port()));
}

BOOST_AUTO_TEST_CASE(a_hundred_rounds_of_half_dead_servers_cost_no_thread_no_descriptor_and_no_memory) {
  constexpr double limit = 0.1;
  service it{with_ping({"--ping-timeout", fmt::format("{}", limit), "--courier-connections-per-instance", "4"})};
  mp_server_process silent;
  silent.set_socket("silent");
  mp_server_process dripping;
  dripping.set_socket("drip");
  mp_server_process stopped;
  register_at(it.api, "silent", silent.port());
  register_at(it.api, "dripping", dripping.port());
  register_at(it.api, "stopped", stopped.port());
  stopped.halt();
  const auto before = it.process.open_descriptors();
  const auto rounds = [&](int count) {
    for (int round = 0; round < count; ++round) {
      std::vector<std::string> ids;
      for (int i = 0; i < 6; ++i) // some have to wait for their turn
        ids.insert(ids.end(), {"silent", "dripping", "stopped"});
      const auto start = monotonic_clock::now();
      for (auto& ping : start_pings(it.port(), ids))
        BOOST_TEST(outcome_of(ping.read_response()) == "timed_out");
      BOOST_TEST(seconds_since(start) < (limit + 0.5) * leniency);
    }
  };
  rounds(10);
  const auto threads = it.process.threads();
  const auto memory = it.process.resident_bytes();
  rounds(100);
  BOOST_TEST(it.process.threads() == threads);
  BOOST_TEST(it.process.resident_bytes() <= memory + memory / 10 + 2 * 1024 * 1024);
  BOOST_TEST(eventually(5s, [&] { return it.process.open_descriptors() <= before; }),
             it.process.open_descriptors() << " descriptors are open; " << before << " were");
  stopped.send_signal(SIGCONT);
  silent.set_socket("serve");
  dripping.set_socket("serve");
  for (const auto* id : {"silent", "dripping", "stopped"})
    BOOST_TEST(eventually(5s, [&] { return outcome_of(it.api.get(ping_path(id))) == "answered"; }), id);
}

BOOST_AUTO_TEST_CASE(heartbeats_are_answered_at_once_for_as_long_as_pings_hang_in_every_http_thread) {
  constexpr int http_threads = 2;
  service it{with_ping({"--ping-timeout", "1", "--http-threads", std::to_string(http_threads)})};
  mp_server_process server;
  server.set_socket("silent");
  const auto hung = register_many_at(it.api, "hung", 2 * http_threads, server.port());
  register_instance(it.api, "a");
  const auto beat = render_request("PUT", heartbeat_path("a"));
  std::vector<connection> old_ones;
  for (int i = 0; i < 2 * http_threads; ++i)
    old_ones.emplace_back(it.port());

  std::atomic<bool> over{false};
  std::atomic<int> timed_out{0};
  std::vector<std::thread> stalled;
  for (const auto& id : hung)
    stalled.emplace_back([&, id] {
      connection mine{it.port()};
      while (!over) {
        mine.send(render_request("GET", ping_path(id)));
        timed_out += mine.read_response().body.find("timed_out") != std::string::npos ? 1 : 0;
      }
    });
  BOOST_TEST(eventually(5s, [&] { return server.dead_connections() >= hung.size(); }));
  double slowest = 0;
  const auto check_beat = [&](connection& over_this) {
    const auto start = monotonic_clock::now();
    over_this.send(beat);
    BOOST_TEST(over_this.read_response().status == 200);
    slowest = std::max(slowest, seconds_since(start));
  };
  std::size_t beats = 0;
  for (const auto start = monotonic_clock::now(); seconds_since(start) < 20; ++beats) {
    check_beat(old_ones[beats % old_ones.size()]);
    connection fresh{it.port()};
    check_beat(fresh);
    let_pass(2ms);
  }
  over = true;
  for (auto& each : stalled)
    each.join();
  BOOST_TEST(slowest < 0.2 * leniency, "the slowest of " << beats << " heartbeats took " << slowest << " s");
  BOOST_TEST(timed_out >= 2 * http_threads * 10); // they did hang all the while
}

BOOST_AUTO_TEST_CASE(a_hundred_stops_in_the_middle_of_many_calls_end_within_the_grace) {
  constexpr double grace = 1;
  mp_server_process healthy;
  mp_server_process slow;
  slow.set_faults(R"([{"path":"/healthcheck","delay_ms":100}])");
  mp_server_process silent;
  silent.set_socket("silent");
  mp_server_process resetting;
  resetting.set_socket("reset");
  for (int run = 0; run < 100; ++run) {
    coordinator_process it{with_ping({"--ping-timeout", run % 2 == 0 ? "20" : "0.3", "--shutdown-grace",
                                      fmt::format("{}", grace), "--courier-connections", run % 4 < 2 ? "16" : "1024"})};
    std::vector<std::string> ids;
    client api{it.port()};
    for (const auto& [prefix, server] :
         {std::pair{"healthy", &healthy}, {"slow", &slow}, {"silent", &silent}, {"resetting", &resetting}})
      for (const auto& id : register_many_at(api, prefix, 10, server->port()))
        ids.push_back(id);
    std::vector<std::thread> askers;
    std::atomic<int> answered{0};
    for (std::size_t first = 0; first < 16; ++first)
      askers.emplace_back([&, first] {
        try {
          for (std::size_t next = first;; ++next) {
            auto ping = std::move(start_pings(it.port(), {ids[next * 7 % ids.size()]}).front());
            ping.read_response(reply_body::expected, 10s);
            ++answered;
          }
        } catch (const transport_error&) {
          // closed or refused: the service is on its way out
        }
      });
    BOOST_TEST(eventually(5s, [&] { return answered > 0; }));
    let_pass(std::chrono::milliseconds{run * 3});
    const auto start = monotonic_clock::now();
    it.send_signal(run % 3 == 0 ? SIGINT : SIGTERM);
    check_clean_end(it);
    const auto took = seconds_since(start);
    BOOST_TEST(took < (grace + 1) * leniency, "the stop of run " << run << " took " << took << " s");
    for (auto& each : askers)
      each.join();
  }
}

BOOST_AUTO_TEST_CASE(time_limits_that_never_run_out_cost_neither_speed_nor_memory) {
  constexpr int calls_of_a_part = 50000;
  constexpr int connections = 16;
  constexpr int depth = 25;
  service it{with_ping({"--ping-timeout", "25"})};
  mp_server_process server;
  register_at(it.api, "a", server.port());
  std::string batch;
  for (int i = 0; i < depth; ++i)
    batch += render_request("GET", "/ping/a");
  std::vector<connection> clients;
  for (int i = 0; i < connections; ++i)
    clients.emplace_back(it.port());
  struct cost {
    double processor_seconds;
    std::uint64_t memory;
  };
  std::vector<cost> costs;
  int failed = 0;
  for (int part = 0; part < 6; ++part) {
    const auto before = it.process.processor_seconds();
    for (int sent = 0; sent < calls_of_a_part; sent += connections * depth) {
      for (auto& each : clients)
        each.send(batch);
      for (auto& each : clients)
        for (int i = 0; i < depth; ++i)
          failed += each.read_response().body.find("\"answered\"") == std::string::npos ? 1 : 0;
    }
    costs.push_back({it.process.processor_seconds() - before, it.process.resident_bytes()});
    BOOST_TEST_MESSAGE("part " << part << ": " << costs.back().processor_seconds << " s of processor time, "
                               << costs.back().memory << " bytes");
  }
  BOOST_TEST(failed == 0);
  // Processor time of its own, since what else the machine does would show in the speed. It disturbs this, too, but not
  // every part; a cost that grows does.
  const auto least = [](auto first, auto last) {
    return std::min_element(
               first, last,
               [](const cost& left, const cost& right) { return left.processor_seconds < right.processor_seconds; })
        ->processor_seconds;
  };
  BOOST_TEST(least(costs.begin() + 3, costs.end()) < 1.5 * least(costs.begin(), costs.begin() + 3));
  BOOST_TEST(costs.back().memory <= costs[1].memory + costs[1].memory / 10 + 2 * 1024 * 1024);
}

BOOST_AUTO_TEST_SUITE_END()
