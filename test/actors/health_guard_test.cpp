#include "actors/errors.hpp"
#include "actors/health.hpp"
#include "test/actors/fixture.hpp"
#include "test/actors/registry_for_tests.hpp"

#include <boost/test/unit_test.hpp>

#include <map>
#include <string>
#include <vector>

using namespace coordinator;
using namespace std::chrono_literals;

// The eviction guard as the real registry and health actor play it together.

namespace {

/// How the servers of a fleet react to being asked.
struct servers {
  std::map<std::string, outbound_outcome> outcomes; ///< Those that are not in here never answer at all.
  std::vector<std::string> asked;
  bool busy = false; ///< The courier takes no calls.
  duration took{};
  duration tried_for{2s};
};

courier_actor::behavior_type scripted_courier(courier_actor::pointer self, std::shared_ptr<servers> fleet) {
  return {
      [=](call_atom, const instance_call& call) -> caf::result<outbound_reply> {
        const auto& id = call.target.entry->instance_id;
        fleet->asked.push_back(id);
        if (fleet->busy)
          return make_error(ec::overloaded);
        const auto found = fleet->outcomes.find(id);
        if (found == fleet->outcomes.end())
          return self->make_response_promise<outbound_reply>(); // never delivered
        outbound_reply reply;
        reply.outcome = found->second;
        reply.took = fleet->took;
        reply.tried_for = fleet->tried_for;
        reply.status = found->second == outbound_outcome::answered ? 503 : 0; // unwell, but there
        return reply;
      },
      [](changes_atom, const membership_update_ptr&) {},
      [](caf::tick_atom) {},
      [](links_atom, const links&) {},
      [](status_atom) { return actor_status{}; },
  };
}

/// Twenty servers with leases of 3 s, of which all but `mp-0` fall silent.
struct fixture : test::actors_fixture {
  std::shared_ptr<servers> fleet = std::make_shared<servers>();
  std::shared_ptr<guard_board> guard = std::make_shared<guard_board>();
  registry_actor members = start_registry();
  courier_actor caller = stop_at_end(system.spawn(scripted_courier, fleet));
  health_actor sweeper = start_sweeper();

  fixture() {
    for (int i = 0; i < 20; ++i)
      join("mp-" + std::to_string(i));
  }

  registry_actor start_registry() {
    auto options = test::options_of_registry(now());
    options.instance_timeout = 3s;
    options.guard = {0.5};
    return stop_at_end(system.spawn(registry, std::move(options)));
  }

  health_actor start_sweeper() {
    return stop_at_end(system.spawn(health, health_options{1s, true, 20s, links{members, caller}, guard,
                                                           std::make_shared<progress_mark>("health", 3s, now()),
                                                           std::make_shared<progress_mark>("sweep", 3s, now())}));
  }

  void join(std::string id) { ask<registration>(members, register_atom_v, test::registration_of(std::move(id))); }
  void beat(const std::string& id) { tell(members, heartbeat_atom_v, instance_reference{id, {}}); }

  /// Seconds with a tick each, in which `mp-0` lives.
  void pass(int seconds) {
    for (int i = 0; i < seconds; ++i) {
      advance(1s);
      beat("mp-0");
      caf::anon_send(sweeper, caf::tick_atom_v);
      settle();
    }
  }
  std::size_t listed() { return ask<snapshot>(members, list_atom_v, std::string{})->rows->size(); }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(health_guard_test, fixture)

BOOST_AUTO_TEST_CASE(of_many_that_fall_silent_those_that_answer_stay_and_the_others_leave) {
  for (int i = 1; i < 11; ++i)
    fleet->outcomes["mp-" + std::to_string(i)] = outbound_outcome::answered;
  for (int i = 11; i < 15; ++i)
    fleet->outcomes["mp-" + std::to_string(i)] = outbound_outcome::refused;
  for (int i = 15; i < 20; ++i)
    fleet->outcomes["mp-" + std::to_string(i)] = outbound_outcome::timed_out;
  pass(4);
  BOOST_TEST(fleet->asked.size() == 19u);
  BOOST_TEST(listed() == 11u);
  BOOST_TEST(!guard->get().active());
  BOOST_TEST(guard->get().alive == 10u);
  BOOST_TEST(guard->get().dead == 9u);

  // They are asked again whenever the lease that the answer gave them has run out, and go on staying.
  pass(10);
  BOOST_TEST(listed() == 11u);
  // One that stops answering leaves, few as they are now.
  fleet->outcomes["mp-1"] = outbound_outcome::refused;
  pass(4);
  BOOST_TEST(listed() == 10u);
}

BOOST_AUTO_TEST_CASE(while_nobody_answers_nobody_is_evicted_and_readiness_tells_how_it_will_end) {
  pass(4);
  BOOST_TEST(listed() == 20u);
  BOOST_TEST(guard->get().held_back == 19u);
  BOOST_TEST((guard->get().last_end > now()));
  BOOST_TEST((guard->get().last_end <= now() + 20s));
  for (int i = 1; i < 11; ++i)
    beat("mp-" + std::to_string(i)); // half of them are back
  pass(1);
  BOOST_TEST(guard->get().held_back == 9u);
  for (int second = 0; second < 20; ++second) {
    for (int i = 1; i < 11; ++i)
      beat("mp-" + std::to_string(i));
    pass(1);
  }
  BOOST_TEST(listed() == 11u);
  BOOST_TEST(!guard->get().active());
}

BOOST_AUTO_TEST_CASE(the_end_does_not_wait_for_a_tick) {
  pass(4);
  BOOST_TEST(listed() == 20u);
  advance(guard->get().last_end - now());
  BOOST_TEST(listed() == 1u);
}

BOOST_AUTO_TEST_CASE(a_single_dead_one_is_evicted_without_being_asked) {
  for (int second = 0; second < 4; ++second) {
    for (int i = 1; i < 19; ++i)
      beat("mp-" + std::to_string(i));
    pass(1);
  }
  BOOST_TEST(listed() == 19u);
  BOOST_TEST(fleet->asked.empty());
}

BOOST_AUTO_TEST_CASE(a_courier_that_is_busy_is_asked_again) {
  fleet->busy = true;
  pass(4);
  BOOST_TEST(listed() == 20u);
  fleet->busy = false;
  for (int i = 1; i < 20; ++i)
    fleet->outcomes["mp-" + std::to_string(i)] = outbound_outcome::answered;
  pass(1);
  BOOST_TEST(!guard->get().active());
  BOOST_TEST(guard->get().alive == 19u);
}

BOOST_AUTO_TEST_CASE(what_may_be_the_coordinator_s_own_fault_is_no_verdict) {
  for (int i = 1; i < 20; ++i)
    fleet->outcomes["mp-" + std::to_string(i)] = outbound_outcome::unreachable;
  pass(4);
  BOOST_TEST(guard->get().held_back == 19u);
  for (auto& [id, outcome] : fleet->outcomes)
    outcome = outbound_outcome::timed_out;
  for (const auto too_short : {0ms, 1ms, 900ms}) { // its turn came late or never
    fleet->tried_for = too_short;
    pass(1);
  }
  BOOST_TEST(guard->get().held_back == 19u);
  fleet->tried_for = 2s;
  fleet->took = 10s; // for a call of 2 s: the process stood still
  pass(2);
  BOOST_TEST(guard->get().held_back == 19u);
  fleet->took = 2s;
  pass(2);
  BOOST_TEST(listed() == 1u);
}

BOOST_AUTO_TEST_CASE(a_pause_of_the_process_evicts_nobody_whose_time_ran_out_in_it) {
  pass(4);
  BOOST_TEST(guard->get().held_back == 19u);
  jump(60s); // far past the end
  BOOST_TEST(listed() == 20u);
  for (int i = 1; i < 20; ++i)
    fleet->outcomes["mp-" + std::to_string(i)] = outbound_outcome::answered;
  pass(5);
  BOOST_TEST(listed() == 20u);
  BOOST_TEST(guard->get().alive == 19u);
}

BOOST_AUTO_TEST_CASE(a_restarted_health_actor_goes_on_with_those_that_are_held_back) {
  pass(4);
  BOOST_TEST(guard->get().held_back == 19u);
  caf::anon_send_exit(sweeper, caf::exit_reason::kill);
  settle();
  sweeper = start_sweeper();
  settle();
  BOOST_TEST(!guard->get().active());
  for (int i = 1; i < 20; ++i)
    fleet->outcomes["mp-" + std::to_string(i)] = outbound_outcome::answered;
  pass(1);
  BOOST_TEST(guard->get().alive == 19u);
  BOOST_TEST(listed() == 20u);
}

BOOST_AUTO_TEST_CASE(a_restarted_registry_leaves_nobody_held_back) {
  pass(4);
  caf::anon_send_exit(members, caf::exit_reason::kill);
  settle();
  members = start_registry();
  caf::anon_send(sweeper, links_atom_v, links{members, caller});
  pass(1);
  BOOST_TEST(!guard->get().active());
}

BOOST_AUTO_TEST_SUITE_END()
