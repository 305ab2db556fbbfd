#include "apps/fleet/simulated_server.hpp"

#include <boost/test/unit_test.hpp>

#include <map>
#include <string>
#include <utility>
#include <vector>

using namespace coordinator;
using namespace coordinator::fleet;
using namespace std::chrono_literals;

namespace {

/// Keeps the calls that are under way, for the test to answer.
struct scripted_client : outbound_client {
  struct call {
    outbound_request request;
    completion done;
  };
  std::map<call_id, call> under_way;
  std::size_t cancelled = 0;
  call_id last = 0;

  call_id start(outbound_request request, completion done) override {
    under_way.emplace(++last, call{std::move(request), std::move(done)});
    return last;
  }
  void cancel(call_id which) override { cancelled += under_way.erase(which); }

  /// Method and path of the one call under way; empty when there is none.
  std::string asked() const {
    if (under_way.empty())
      return "";
    const auto& request = under_way.begin()->second.request;
    return request.method + " " + request.url.substr(std::string{"http://coordinator"}.size());
  }

  void answer(int status, std::string body = {}) {
    auto done = std::move(under_way.begin()->second.done);
    under_way.erase(under_way.begin());
    outbound_reply reply;
    reply.outcome = outbound_outcome::answered;
    reply.status = status;
    reply.body = std::move(body);
    done(reply);
  }
};

/// One server, with a clock, a network and chance that do as the test says.
struct fixture {
  time_point now{1h};
  double chance = 0;
  scripted_client client;
  figures counts;
  ledger book{{}, "fleet-", {{"fleet-0", "127.16.0.0", 8080}}, now};
  std::vector<time_point> wakes;
  surroundings around{.client = client,
                      .book = book,
                      .counts = counts,
                      .wake_at = [this](std::size_t, time_point when) { wakes.push_back(when); },
                      .completion =
                          [this](std::size_t, std::uint64_t request) {
                            return [this, request](const outbound_reply& reply) { server.answered(request, reply); };
                          },
                      .random = [this] { return chance; },
                      .now = [this] { return now; },
                      .wall = [] { return 1e6; }};
  simulated_server server;

  static mp_registrar::session_options session() {
    mp_registrar::session_options options;
    options.coordinator_urls = {"http://coordinator"};
    options.ip = "127.16.0.0";
    options.http_port = 8080;
    options.instance_id = "fleet-0";
    options.heartbeat_interval = 5s;
    options.request_timeout = 10s;
    return options;
  }

  explicit fixture(double clock_rate = 1) : server{0, session(), clock_rate, around} {}

  void join() {
    server.start();
    client.answer(200, R"({"instance_id":"fleet-0","re_registered":false})");
  }

  /// Lets time pass, waking the server whenever it asked for that.
  void pass(duration time) {
    const auto end = now + time;
    for (;;) {
      auto due = wakes.end();
      for (auto wake = wakes.begin(); wake != wakes.end(); ++wake)
        if (*wake <= end && (due == wakes.end() || *wake < *due))
          due = wake;
      if (due == wakes.end())
        break;
      now = std::max(now, *due);
      wakes.erase(due);
      server.turn();
    }
    now = end;
  }
};

const std::string heartbeat = "PUT /instances/fleet-0/heartbeat";
const std::string departure = "DELETE /instances/fleet-0";

} // namespace

BOOST_FIXTURE_TEST_SUITE(fleet_server_test, fixture)

BOOST_AUTO_TEST_CASE(a_server_registers_sends_heartbeats_and_leaves) {
  server.start();
  BOOST_TEST(client.asked() == "POST /instances");
  BOOST_TEST(book.up() == 1u);
  client.answer(200, R"({"instance_id":"fleet-0","re_registered":false})");
  BOOST_TEST(book.registered() == 1u);
  for (int i = 0; i < 3; ++i) {
    pass(4900ms);
    BOOST_TEST(client.asked() == "");
    pass(100ms);
    BOOST_TEST(client.asked() == heartbeat);
    client.answer(200, R"({"instance_id":"fleet-0"})");
  }
  server.leave();
  BOOST_TEST(client.asked() == departure);
  client.answer(204);
  BOOST_TEST(server.is_down());
  BOOST_TEST(book.up() == 0u);
  BOOST_TEST(book.violations().total() == 0u);
  BOOST_TEST(counts.requests[static_cast<std::size_t>(request_kind::heartbeat)].answered == 3u);
}

BOOST_AUTO_TEST_CASE(a_crash_is_silent_and_closes_what_is_under_way) {
  join();
  pass(5s);
  BOOST_TEST(client.asked() == heartbeat);
  server.crash();
  BOOST_TEST(client.asked() == "");
  BOOST_TEST(client.cancelled == 1u);
  pass(1min);
  BOOST_TEST(client.asked() == "");
  server.start();
  BOOST_TEST(client.asked() == "POST /instances");
}

BOOST_AUTO_TEST_CASE(an_answer_for_the_life_before_is_not_heard) {
  server.start();
  auto late = client.under_way.begin()->second.done;
  server.crash();
  server.start();
  BOOST_TEST(client.asked() == "POST /instances");
  late({.outcome = outbound_outcome::answered, .status = 500});
  BOOST_TEST(book.violations().total() == 0u);
  BOOST_TEST(client.asked() == "POST /instances");
}

BOOST_AUTO_TEST_CASE(a_server_that_is_to_start_while_it_leaves_does_so_afterwards) {
  join();
  server.leave();
  server.start();
  BOOST_TEST(client.asked() == departure);
  client.answer(204);
  BOOST_TEST(client.asked() == "POST /instances");
  BOOST_TEST(counts.starts == 2u);
}

BOOST_AUTO_TEST_CASE(nothing_gets_through_a_partition_and_heartbeats_go_on_after_it) {
  join();
  server.cut();
  chance = 0.4; // refused
  pass(1min);
  BOOST_TEST(client.last == 1u);
  chance = 0.6; // no answer
  pass(1min);
  BOOST_TEST(client.last == 1u);
  BOOST_TEST(!server.is_down());
  server.heal();
  pass(15s); // what gets no answer gets it until its time is over
  BOOST_TEST(client.asked() == heartbeat);
}

BOOST_AUTO_TEST_CASE(a_request_that_a_partition_overtakes_comes_to_nothing) {
  join();
  pass(5s);
  server.cut();
  BOOST_TEST(client.cancelled == 1u);
  server.heal();
  pass(9900ms); // as long as the request had
  BOOST_TEST(client.asked() == "");
  pass(2s);
  BOOST_TEST(client.asked() == heartbeat);
}

BOOST_AUTO_TEST_CASE(a_server_that_is_unknown_registers_again_at_once) {
  join();
  pass(31s);
  BOOST_TEST(client.asked() == heartbeat);
  client.answer(404, R"({"error":"unknown instance fleet-0; re-register"})");
  BOOST_TEST(client.asked() == "POST /instances");
  client.answer(200, R"({"instance_id":"fleet-0","re_registered":false})");
  BOOST_TEST(counts.rejoined == 1u);
}

BOOST_AUTO_TEST_CASE(wrong_answers_are_found) {
  server.start();
  client.answer(200, R"({"instance_id":"fleet-1","re_registered":false})");
  BOOST_TEST(book.violations().count(violation_kind::wrong_answer) == 1u);
  pass(5s);
  client.answer(200, "<html>");
  BOOST_TEST(book.violations().count(violation_kind::wrong_answer) == 2u);
}

BOOST_AUTO_TEST_CASE(a_fast_clock_sends_heartbeats_sooner_and_a_slow_one_later) {
  for (const auto& [rate, interval] : {std::pair{1.25, 4s}, std::pair{0.5, 10s}}) {
    fixture skewed{rate};
    skewed.join();
    skewed.pass(interval - 10ms);
    BOOST_TEST(skewed.client.asked() == "");
    skewed.pass(20ms);
    BOOST_TEST(skewed.client.asked() == heartbeat);
  }
}

BOOST_AUTO_TEST_SUITE_END()
