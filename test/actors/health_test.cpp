#include "actors/health.hpp"

#include "test/actors/fixture.hpp"

#include <boost/test/unit_test.hpp>
#include <caf/stateful_actor.hpp>

using namespace coordinator;
using namespace std::chrono_literals;

namespace {

/// What the stand-in for the registry was asked, and whether it answers.
struct script {
  std::vector<expiry_request> asked;
  bool answers = true;
};

registry_actor::behavior_type scripted_registry(registry_actor::pointer self, std::shared_ptr<script> played) {
  return {
      [](register_atom, schema::register_request&) { return registration{}; },
      [](heartbeat_atom, const instance_reference&) {},
      [](deregister_atom, const instance_reference&) {},
      [](list_atom, const std::string&) { return snapshot{}; },
      [](details_atom) { return fleet_details{}; },
      [](find_atom, const std::string&) { return instance_details{}; },
      [](drain_atom, const drain_request&) {},
      [](watch_atom, const std::string& tag) { return tag; },
      [](follow_atom, const follower_actor&) {},
      [=](expire_atom, const expiry_request& request) -> caf::result<expiry_report> {
        played->asked.push_back(request);
        if (!played->answers)
          return self->make_response_promise<expiry_report>(); // never delivered
        return expiry_report{};
      },
      [](verdict_atom, const verdict&) {},
      [](caf::tick_atom) {},
      [](status_atom) { return actor_status{}; },
  };
}

struct fixture : test::actors_fixture {
  std::shared_ptr<script> played = std::make_shared<script>();
  registry_actor members = stop_at_end(system.spawn(scripted_registry, played));
  std::shared_ptr<progress_mark> progress = std::make_shared<progress_mark>("health", 3s, now());
  std::shared_ptr<progress_mark> sweep = std::make_shared<progress_mark>("sweep", 3s, now());

  std::shared_ptr<guard_board> guard = std::make_shared<guard_board>();

  health_actor start(bool evicts = true) {
    return stop_at_end(system.spawn(health, health_options{1s, evicts, 60s, links{members}, guard, progress, sweep}));
  }
  void tick(const health_actor& actor) {
    caf::anon_send(actor, caf::tick_atom_v);
    settle();
  }
  std::uint64_t counter(const health_actor& actor, std::string_view name) {
    const auto status = ask<actor_status>(actor, status_atom_v);
    for (const auto& [key, value] : status->counters)
      if (key == name)
        return value;
    BOOST_FAIL("no counter " << name);
    return 0;
  }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(health_test, fixture)

BOOST_AUTO_TEST_CASE(each_tick_is_one_sweep_and_proves_progress) {
  auto actor = start();
  advance(2s);
  tick(actor);
  advance(1s);
  tick(actor);
  BOOST_TEST(played->asked.size() == 2u);
  BOOST_TEST(counter(actor, "sweeps") == 2u);
  BOOST_TEST((progress->age(now()) == 0s));
  BOOST_TEST((sweep->age(now()) == 0s));
}

BOOST_AUTO_TEST_CASE(a_late_tick_is_passed_on_as_a_longer_lease) {
  auto actor = start();
  tick(actor);
  jump(10s);
  tick(actor);
  BOOST_REQUIRE(played->asked.size() == 2u);
  BOOST_TEST((played->asked[1].stood_still == 9s));
  BOOST_TEST(!played->asked[1].evict);
}

BOOST_AUTO_TEST_CASE(without_eviction_nothing_is_swept_but_progress_is_proven) {
  auto actor = start(false);
  advance(2s);
  tick(actor);
  BOOST_TEST(played->asked.empty());
  BOOST_TEST((progress->age(now()) == 0s));
}

BOOST_AUTO_TEST_CASE(a_sweep_that_is_not_done_is_not_joined_by_a_second) {
  played->answers = false;
  auto actor = start();
  tick(actor);
  tick(actor);
  tick(actor);
  BOOST_TEST(played->asked.size() == 1u);
  advance(4s);
  BOOST_TEST(sweep->late(now())); // readiness tells of it
}

BOOST_AUTO_TEST_CASE(the_end_of_the_registry_in_mid_sweep_is_survived_and_the_next_one_is_swept) {
  played->answers = false;
  auto actor = start();
  tick(actor);
  caf::anon_send_exit(members, caf::exit_reason::kill);
  settle();
  played->answers = true;
  auto restarted = stop_at_end(system.spawn(scripted_registry, played));
  caf::anon_send(actor, links_atom_v, links{restarted});
  tick(actor);
  BOOST_TEST(counter(actor, "failed_sweeps") == 1u);
  BOOST_TEST(counter(actor, "sweeps") == 1u);
}

BOOST_AUTO_TEST_SUITE_END()
