#include "harness/service.hpp"

#include <signal.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

using namespace coordinator::service_test;

namespace {

/// A coordinator that a test ends itself.
struct stoppable {
  explicit stoppable(std::vector<std::string> flags = {}) : process{std::move(flags)}, api{process.port()} {}

  /// Checks that it ends cleanly, and within that time of the signal.
  void check_stop(int signal, double seconds) {
    const auto start = monotonic_clock::now();
    process.send_signal(signal);
    check_clean_end(process);
    const auto took = seconds_since(start);
    BOOST_TEST(took < seconds * leniency, "the stop took " << took << " s");
  }

  coordinator_process process;
  client api;
};

} // namespace

// SIGTERM and SIGINT: no new connections, every request that came in is answered, status 0 and soon.
BOOST_AUTO_TEST_SUITE(stopping)

BOOST_AUTO_TEST_CASE(an_idle_service_stops_at_once_on_either_signal) {
  for (const int signal : {SIGTERM, SIGINT}) {
    stoppable it;
    register_instance(it.api, "a");
    it.check_stop(signal, 1);
  }
}

BOOST_AUTO_TEST_CASE(a_service_without_a_single_request_stops_at_once) {
  stoppable it;
  it.check_stop(SIGTERM, 1);
}

BOOST_AUTO_TEST_CASE(idle_connections_do_not_delay_the_stop_and_are_closed_cleanly) {
  stoppable it;
  std::vector<connection> idle;
  for (int i = 0; i < 100; ++i) {
    idle.emplace_back(it.process.port());
    if (i % 2 == 0) { // half of them were of use before
      idle.back().send("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n");
      idle.back().read_response();
    }
  }
  it.check_stop(SIGTERM, 2);
  for (auto& one : idle)
    BOOST_TEST(one.read_to_end().empty());
}

BOOST_AUTO_TEST_CASE(unfinished_requests_do_not_delay_the_stop_beyond_the_grace) {
  stoppable it{{"--shutdown-grace", "2"}};
  connection head_only{it.process.port()};
  head_only.send("PUT /instances/a/heartbeat HTTP/1.1\r\nHo");
  connection half_a_body{it.process.port()};
  half_a_body.send("POST /instances HTTP/1.1\r\nHost: x\r\nContent-Length: 50\r\n\r\n{");
  BOOST_TEST(is_alive(it.process.port()));
  it.check_stop(SIGTERM, 3);
}

BOOST_AUTO_TEST_CASE(a_reader_that_never_reads_does_not_delay_the_stop_beyond_the_grace) {
  stoppable it{{"--shutdown-grace", "1"}};
  register_a_long_list(it.process.port());
  connection deaf{it.process.port(), {.receive_buffer = 4096}};
  deaf.send("GET /instances HTTP/1.1\r\nHost: x\r\n\r\n");
  BOOST_TEST(is_alive(it.process.port()));
  it.check_stop(SIGTERM, 2.5);
}

BOOST_AUTO_TEST_CASE(a_grace_of_zero_stops_at_once) {
  stoppable it{{"--shutdown-grace", "0"}};
  connection idle{it.process.port()};
  register_instance(it.api, "a");
  it.check_stop(SIGTERM, 1.5);
}

BOOST_AUTO_TEST_CASE(a_reply_that_is_being_sent_is_sent_to_its_end_and_then_the_service_stops) {
  stoppable it;
  register_a_long_list(it.process.port());
  const auto whole = it.api.get("/instances").body;
  connection slow{it.process.port(), {.receive_buffer = 64 * 1024}};
  slow.send("GET /instances HTTP/1.1\r\nHost: x\r\n\r\n");
  auto stream = slow.read_some(1);
  it.process.send_signal(SIGTERM);
  const auto signalled = monotonic_clock::now();
  stream += slow.read_to_end();
  BOOST_TEST(stream.substr(stream.find("\r\n\r\n") + 4) == whole);
  slow.close();
  check_clean_end(it.process);
  BOOST_TEST(seconds_since(signalled) < 1 * leniency); // the reply was the last thing to wait for
}

BOOST_AUTO_TEST_CASE(requests_that_came_before_the_signal_are_answered) {
  for (int round = 0; round < 10; ++round) {
    stoppable it;
    BOOST_TEST_REQUIRE(register_instance(it.api, "a").status == 200);
    // One write, one segment: once the first is answered, the service has them all.
    constexpr int depth = 50;
    std::string requests;
    for (int i = 0; i < depth; ++i)
      requests += "PUT /instances/a/heartbeat HTTP/1.1\r\nHost: x\r\n\r\n";
    connection raw{it.process.port()};
    raw.send(requests);
    raw.read_response();
    it.process.send_signal(SIGTERM);
    const auto rest = raw.read_responses_to_end();
    BOOST_TEST(std::all_of(rest.begin(), rest.end(), [](const auto& reply) { return reply.status == 200; }));
    // It may stop between two of them, if it says so.
    BOOST_TEST((rest.size() == depth - 1 || (!rest.empty() && rest.back().closes())), rest.size() << " more replies");
    check_clean_end(it.process);
  }
}

BOOST_AUTO_TEST_CASE(under_load_every_reply_is_whole_and_every_connection_ends) {
  stoppable it{{"--http-threads", "2"}};
  register_all(it.process.port(), numbered_registrations("n", 100));
  std::atomic<int> answered{0};
  std::atomic<int> torn{0};
  std::atomic<bool> stopped{false};
  std::vector<std::thread> load;
  for (int i = 0; i < 16; ++i)
    load.emplace_back([&, i] {
      while (!stopped) {
        try {
          connection raw{it.process.port()};
          while (!stopped) {
            raw.send(i % 4 == 0 ? "GET /instances HTTP/1.1\r\nHost: x\r\n\r\n"
                                : "PUT /instances/n-1/heartbeat HTTP/1.1\r\nHost: x\r\n\r\n");
            if (raw.ends(5s)) // closed in place of an answer: a clean end that a client can tell
              break;
            try {
              const auto reply = raw.read_response();
              ++answered;
              if (reply.closes())
                break;
            } catch (const transport_error&) {
              ++torn;
              break;
            }
          }
        } catch (const transport_error&) {
          // refused or closed: the service is on its way out
        }
      }
    });
  BOOST_TEST(eventually(10s, [&] { return answered > 2000; }));
  it.check_stop(SIGTERM, 5);
  stopped = true;
  for (auto& one : load)
    one.join();
  BOOST_TEST(torn == 0);
}

BOOST_AUTO_TEST_CASE(new_connections_are_refused_as_soon_as_the_stop_begins) {
  stoppable it;
  register_a_long_list(it.process.port());
  connection deaf{it.process.port(), {.receive_buffer = 4096}}; // keeps the stop from ending
  deaf.send("GET /instances HTTP/1.1\r\nHost: x\r\n\r\n");
  BOOST_TEST(is_alive(it.process.port()));
  it.process.send_signal(SIGTERM);
  BOOST_TEST(eventually(300ms * leniency, [&] { return refuses_connections(it.process.port()); }));
  BOOST_TEST(it.process.running());
  deaf.reset();
  check_clean_end(it.process);
}

BOOST_AUTO_TEST_CASE(further_signals_change_nothing) {
  stoppable it;
  register_a_long_list(it.process.port());
  const auto whole = it.api.get("/instances").body;
  connection slow{it.process.port(), {.receive_buffer = 64 * 1024}};
  slow.send("GET /instances HTTP/1.1\r\nHost: x\r\n\r\n");
  auto stream = slow.read_some(1);
  for (const int signal : {SIGTERM, SIGTERM, SIGINT, SIGTERM, SIGINT})
    it.process.send_signal(signal);
  BOOST_TEST(it.process.wait_for_output("service.stopping", 2s));
  it.process.send_signal(SIGINT);
  it.process.send_signal(SIGTERM);
  stream += slow.read_to_end();
  BOOST_TEST(stream.substr(stream.find("\r\n\r\n") + 4) == whole);
  check_clean_end(it.process);
}

BOOST_AUTO_TEST_CASE(a_stopped_service_can_be_started_again_on_the_same_port_at_once) {
  auto first = std::make_unique<stoppable>();
  const auto port = std::to_string(first->process.port());
  std::vector<connection> open; // the service closes them first, so their ends linger on its side
  for (int i = 0; i < 10; ++i)
    open.emplace_back(first->process.port());
  first->check_stop(SIGTERM, 2);
  for (int round = 0; round < 3; ++round) {
    stoppable next{{"--port", port}};
    BOOST_TEST(is_alive(next.process.port()));
    next.check_stop(SIGTERM, 2);
  }
}

BOOST_AUTO_TEST_CASE(a_stop_during_the_start_neither_hangs_nor_crashes) {
  for (int milliseconds = 0; milliseconds <= 300; milliseconds += 10) {
    child_process process{coordinator_command({})};
    let_pass(std::chrono::milliseconds{milliseconds});
    process.send_signal(SIGTERM);
    const auto status = process.wait_for_exit(5s);
    BOOST_TEST(status.has_value(), "SIGTERM " << milliseconds << " ms after the start: it does not end");
    // Before it has set up its handling of signals, the system ends it.
    if (status)
      BOOST_TEST((*status == clean_exit || *status == (exit_status{-1, SIGTERM, false})),
                 "SIGTERM " << milliseconds << " ms after the start: " << *status << "\n"
                            << process.output());
  }
}

BOOST_AUTO_TEST_CASE(a_stop_within_the_first_moments_neither_hangs_nor_crashes) {
  for (int microseconds = 0; microseconds <= 20000; microseconds += 400) {
    child_process process{coordinator_command({})};
    std::this_thread::sleep_for(std::chrono::microseconds{microseconds});
    process.send_signal(SIGTERM);
    const auto status = process.wait_for_exit(5s);
    BOOST_TEST(status.has_value(), "SIGTERM " << microseconds << " us after the start: it does not end");
    if (status)
      BOOST_TEST((*status == clean_exit || *status == (exit_status{-1, SIGTERM, false})),
                 "SIGTERM " << microseconds << " us after the start: " << *status << "\n"
                            << process.output());
  }
}

BOOST_AUTO_TEST_CASE(readiness_on_an_open_connection_says_that_the_service_stops) {
  stoppable it;
  register_a_long_list(it.process.port());
  connection deaf{it.process.port(), {.receive_buffer = 4096}}; // keeps the stop from ending
  deaf.send("GET /instances HTTP/1.1\r\nHost: x\r\n\r\n");
  BOOST_TEST(is_alive(it.process.port()));
  // Half a request: not idle, so it is not closed at once.
  connection probe{it.process.port()};
  probe.send("GET /readyz HTTP/1.1\r\n");
  probe.delivered();
  BOOST_TEST(is_alive(it.process.port()));
  it.process.send_signal(SIGTERM);
  BOOST_TEST(it.process.wait_for_output("service.stopping", 2s));
  BOOST_TEST(eventually(2s, [&] { return refuses_connections(it.process.port()); }));
  if (probe.try_send("Host: x\r\n\r\n") && !probe.ends(2s)) {
    const auto reply = probe.read_response();
    BOOST_TEST(reply.status == 503);
    BOOST_TEST(reply.closes());
    BOOST_TEST(reply.body_json()["status"].text() == "stopping");
  }
  deaf.reset();
  check_clean_end(it.process);
}

BOOST_AUTO_TEST_SUITE_END()
