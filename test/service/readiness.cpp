#include "harness/service.hpp"

#include <signal.h>

#include <string>
#include <vector>

using namespace coordinator::service_test;

// What probes are told.
BOOST_AUTO_TEST_SUITE(readiness)

BOOST_FIXTURE_TEST_CASE(a_healthy_service_is_ready_and_nobody_is_late, service) {
  const auto reply = api.get("/readyz");
  BOOST_TEST(reply.status == 200);
  BOOST_TEST(reply.header_text("Content-Type") == "application/json");
  BOOST_TEST(reply.body == R"({"status":"ready","late":[]})");
}

BOOST_FIXTURE_TEST_CASE(liveness_does_not_depend_on_readiness, service) {
  BOOST_TEST(api.get("/healthz").body == R"({"status":"healthy"})");
}

BOOST_AUTO_TEST_CASE(a_service_serves_from_the_moment_at_which_it_says_that_it_listens) {
  for (int start = 0; start < 40; ++start) {
    coordinator_process process{coordinator_options{}};
    client first{process.port()};
    const auto begun = monotonic_clock::now();
    const auto list = first.get("/instances");
    BOOST_TEST(list.status == 200, "start " << start << ": " << list);
    BOOST_TEST(first.get("/readyz").status == 200);
    BOOST_TEST(register_instance(first, "a").status == 200);
    BOOST_TEST(seconds_since(begun) < 0.2);
    process.stop(0s);
    check_clean_end(process);
  }
}

BOOST_AUTO_TEST_CASE(a_service_stays_ready_for_longer_than_any_limit_of_progress_whether_or_not_it_sweeps) {
  service sweeping{{"--instance-timeout", "2", "--health-check-interval", "0.5"}};
  service tolerant{{"--health-check-interval", "0"}};
  BOOST_TEST(holds_for(
      6s, [&] { return sweeping.api.get("/readyz").status == 200 && tolerant.api.get("/readyz").status == 200; }));
}

BOOST_AUTO_TEST_CASE(a_service_that_was_paused_is_live_at_once_and_soon_ready_again) {
  service it{{"--instance-timeout", "3", "--health-check-interval", "0.5"}};
  const auto state = [&] {
    const auto reply = it.api.get("/readyz");
    const auto body = reply.body_json();
    // Whatever the moment: status, text and list say the same.
    BOOST_TEST(body["status"].text() == (reply.status == 200 ? "ready" : "late"), reply);
    BOOST_TEST((body["late"].size() == 0) == (reply.status == 200), reply);
    for (const auto& late : body["late"].items()) {
      BOOST_TEST(!late["name"].text().empty());
      BOOST_TEST(late["seconds_since_progress"].number() > late["limit_seconds"].number());
    }
    return reply.status;
  };
  BOOST_TEST(state() == 200);
  it.process.send_signal(SIGSTOP);
  let_pass(5s);
  it.process.send_signal(SIGCONT);
  state();
  BOOST_TEST(it.api.get("/healthz").status == 200);
  BOOST_TEST(eventually(3s, [&] { return state() == 200; }));
  BOOST_TEST(holds_for(1s, [&] { return state() == 200; }));
}

BOOST_AUTO_TEST_SUITE_END()
