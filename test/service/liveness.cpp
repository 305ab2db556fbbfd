#include "harness/lapse.hpp"
#include "harness/service.hpp"

#include <fmt/format.h>

#include <signal.h>

#include <list>
#include <string>
#include <vector>

using namespace coordinator::service_test;

namespace {

std::vector<std::string> with_times(double instance_timeout, double health_check_interval) {
  return {"--instance-timeout", fmt::format("{}", instance_timeout), "--health-check-interval",
          fmt::format("{}", health_check_interval)};
}

} // namespace

// Who is dropped when, and who is not. All times are the shortest with which the rule can still be told from its
// neighbours.
BOOST_AUTO_TEST_SUITE(liveness)

BOOST_AUTO_TEST_CASE(an_instance_that_never_heartbeats_leaves_between_its_timeout_and_one_sweep_later) {
  service it{with_times(1, 0.5)};
  lapse_watch watch{it.port(), 1, 0.5};
  // Spread over more than one sweep, so that every offset from a sweep occurs.
  for (int i = 0; i < 60; ++i) {
    watch.observe_for(10ms);
    watch.join(fmt::format("silent-{}", i));
  }
  watch.observe_until_all_are_gone();
}

BOOST_AUTO_TEST_CASE(the_lease_counts_from_the_last_heartbeat_for_every_pair_of_times) {
  struct setting {
    double timeout;
    double interval;
  };
  // At the same time: a quiet coordinator costs next to nothing, and the longest of them sets how long this takes.
  std::list<service> services;
  std::list<lapse_watch> watches;
  const std::vector<setting> settings{{1, 0.2}, {1, 1}, {2, 0.5}, {1.5, 2}, {3, 1}};
  for (const auto& [timeout, interval] : settings)
    services.emplace_back(with_times(timeout, interval));
  auto it = services.begin();
  for (const auto& [timeout, interval] : settings) {
    auto& watch = watches.emplace_back((it++)->port(), timeout, interval);
    for (int i = 0; i < 5; ++i)
      watch.join(fmt::format("n{}", i));
    for (int i = 0; i < 5; ++i) {
      watch.observe_for(10ms);
      watch.beat(fmt::format("n{}", i));
    }
  }
  lapse_watch::observe_until_all_are_gone(watches);
}

BOOST_AUTO_TEST_CASE(an_idle_instance_that_heartbeats_stays_for_many_timeouts) {
  service it{with_times(0.5, 0.1)};
  register_instance(it.api, "alive");
  register_instance(it.api, "dead");
  BOOST_TEST(holds_for(3s, [&] { return heartbeat(it.api, "alive").status == 200 && is_listed(it.api, "alive"); }));
  BOOST_TEST(!is_listed(it.api, "dead"));
}

BOOST_AUTO_TEST_CASE(a_re_registration_renews_the_lease_as_a_heartbeat_does) {
  service it{with_times(0.6, 0.1)};
  register_instance(it.api, "a");
  BOOST_TEST(holds_for(1500ms, [&] { return register_instance(it.api, "a").body_json()["re_registered"].boolean(); }));
}

BOOST_AUTO_TEST_CASE(reading_an_instance_does_not_renew_its_lease) {
  service it{with_times(0.6, 0.1)};
  register_instance(it.api, "a");
  BOOST_TEST(eventually(3s, [&] { return it.api.get(instance_path("a")).status == 404; }));
}

BOOST_AUTO_TEST_CASE(a_heartbeat_of_an_earlier_life_does_not_renew_the_lease) {
  service it{with_times(0.6, 0.1)};
  const auto earlier = register_instance(it.api, "a").header_text("ETag");
  register_instance(it.api, "a");
  BOOST_TEST(eventually(3s, [&] { return heartbeat(it.api, "a", {{"If-Match", earlier}}).status == 404; }));
}

BOOST_AUTO_TEST_CASE(an_instance_that_lapsed_and_returns_is_a_new_member) {
  service it{with_times(0.5, 0.1)};
  register_instance(it.api, {.instance_id = "a", .metadata = {{"old", "1"}}, .mq_port = 7});
  const auto before = listed_row(it.api, "a")["registration_time"].number();
  BOOST_TEST_REQUIRE(eventually(3s, [&] { return !is_listed(it.api, "a"); }));
  const auto beat = heartbeat(it.api, "a");
  BOOST_TEST(beat.status == 404);
  BOOST_TEST(beat.body == R"({"error":"unknown instance a; re-register"})");
  BOOST_TEST(
      register_instance(it.api, {.instance_id = "a", .metadata = {{"new", "2"}}}).body_json()["re_registered"].boolean()
      == false);
  const auto row = listed_row(it.api, "a");
  BOOST_TEST(row["metadata"] == json::parse(R"({"new":"2"})"));
  BOOST_TEST(row["mq_port"].integer() == 0);
  BOOST_TEST(row["registration_time"].number() > before);
  BOOST_TEST(listed_ids(it.api).size() == 1u);
}

BOOST_AUTO_TEST_CASE(a_whole_fleet_that_falls_silent_leaves) {
  service it{with_times(1, 0.5)};
  register_all(it.port(), numbered_registrations("n", 20));
  BOOST_TEST(eventually(2500ms, [&] { return listed_ids(it.api).empty(); }));
}

BOOST_AUTO_TEST_CASE(a_sweep_interval_of_zero_evicts_nobody) {
  service it{with_times(0.2, 0)};
  register_instance(it.api, "a");
  BOOST_TEST(holds_for(1s, [&] { return is_listed(it.api, "a"); }));
  BOOST_TEST(heartbeat(it.api, "a").status == 200);
}

BOOST_AUTO_TEST_CASE(a_dead_instance_at_a_reused_address_leaves_while_its_successor_stays) {
  service it{with_times(0.5, 0.1)};
  register_instance(it.api, {.instance_id = "u1", .ip = "192.0.2.7"});
  register_instance(it.api, {.instance_id = "u2", .ip = "192.0.2.7"});
  BOOST_TEST(eventually(3s, [&] { return heartbeat(it.api, "u2").status == 200 && !is_listed(it.api, "u1"); }));
  BOOST_TEST(heartbeat(it.api, "u2").status == 200);
}

BOOST_AUTO_TEST_CASE(without_a_condition_a_late_delete_costs_one_beat_and_not_the_membership) {
  service it{with_times(3, 1)};
  register_instance(it.api, {.instance_id = "s", .ip = "192.0.2.1"}); // pod A
  register_instance(it.api, {.instance_id = "s", .ip = "192.0.2.2"}); // pod B
  BOOST_TEST(it.api.del(instance_path("s")).status == 204);           // pod A's clean-up, late
  BOOST_TEST(heartbeat(it.api, "s").status == 404);
  BOOST_TEST(register_instance(it.api, {.instance_id = "s", .ip = "192.0.2.2"}).body_json()["re_registered"].boolean()
             == false);
  BOOST_TEST(listed_row(it.api, "s")["ip"].text() == "192.0.2.2");
}

BOOST_AUTO_TEST_CASE(a_pause_longer_than_the_timeout_evicts_nobody_who_heartbeats) {
  service it{with_times(1, 0.25)};
  const auto living = numbered_registrations("living", 10);
  register_all(it.port(), living);
  register_instance(it.api, "dead");
  let_pass(600ms); // two sweeps
  for (const auto& x : living)
    BOOST_TEST(heartbeat(it.api, x.instance_id).status == 200);
  it.process.send_signal(SIGSTOP);
  let_pass(2s); // all leases run out meanwhile
  it.process.send_signal(SIGCONT);

  // The living beat every 0.5 s, as they did before.
  bool all_known = true;
  bool dead_left = false;
  eventually(4s, [&] {
    for (const auto& x : living)
      all_known = all_known && heartbeat(it.api, x.instance_id).status == 200;
    dead_left = !is_listed(it.api, "dead");
    let_pass(500ms);
    return dead_left || !all_known;
  });
  BOOST_TEST(all_known);
  BOOST_TEST(dead_left);
  BOOST_TEST(listed_ids(it.api).size() == living.size());
}

BOOST_AUTO_TEST_CASE(a_pause_before_the_first_sweep_evicts_nobody_either) {
  service it{with_times(1, 0.25)};
  register_all(it.port(), numbered_registrations("n", 10));
  it.process.send_signal(SIGSTOP);
  let_pass(1500ms);
  it.process.send_signal(SIGCONT);
  // At least 0.6 s of every lease are left: they had begun a moment before the pause.
  BOOST_TEST(holds_for(500ms, [&] { return listed_ids(it.api).size() == 10u; }));
  BOOST_TEST(eventually(2s, [&] { return listed_ids(it.api).empty(); }));
}

BOOST_AUTO_TEST_SUITE_END()
