#include "actors/errors.hpp"
#include "actors/membership_view.hpp"
#include "test/actors/fixture.hpp"
#include "test/actors/registry_for_tests.hpp"

#include <boost/test/unit_test.hpp>
#include <caf/typed_response_promise.hpp>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

using namespace coordinator;
using namespace std::chrono_literals;

namespace {

using test::registration_of;

struct fixture : test::actors_fixture {
  std::shared_ptr<progress_mark> progress = std::make_shared<progress_mark>("registry", 3s, now());
  std::shared_ptr<membership_memory> memory = std::make_shared<membership_memory>();
  registry_actor members = start();

  registry_actor start() {
    auto options = test::options_of_registry(now());
    options.memory = memory;
    options.guard = {0.5};
    options.progress = progress;
    return stop_at_end(system.spawn(registry, std::move(options)));
  }

  caf::expected<registration> join(std::string id) {
    return ask<registration>(members, register_atom_v, registration_of(std::move(id)));
  }
  std::size_t listed() { return ask<snapshot>(members, list_atom_v, std::string{})->rows->size(); }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(registry_test, fixture)

BOOST_AUTO_TEST_CASE(an_instance_lives_from_its_registration_to_its_departure) {
  auto joined = join("a");
  BOOST_REQUIRE(joined);
  BOOST_TEST(joined->joined.entry->instance_id == "a");
  BOOST_TEST(joined->joined.entry->registration_time == 12.5);
  BOOST_TEST(!joined->re_registered);
  BOOST_TEST(join("a")->re_registered);
  BOOST_TEST(join("")->joined.entry->instance_id == "generated");
  BOOST_TEST(!tell(members, heartbeat_atom_v, instance_reference{"a", {}}));
  BOOST_TEST(listed() == 2u);
  BOOST_TEST(!tell(members, deregister_atom_v, instance_reference{"a", {}}));
  BOOST_TEST(listed() == 1u);
}

BOOST_AUTO_TEST_CASE(what_is_unknown_or_superseded_is_an_error_value) {
  const instance_reference stranger{"nobody", {}};
  BOOST_TEST((tell(members, heartbeat_atom_v, stranger) == ec::unknown_instance));
  BOOST_TEST((tell(members, deregister_atom_v, stranger) == ec::unknown_instance));
  BOOST_TEST((ask<instance_details>(members, find_atom_v, std::string{"nobody"}).error() == ec::unknown_instance));
  const auto earlier = join("a")->tag;
  join("a");
  const instance_reference late{"a", std::vector{earlier}};
  BOOST_TEST((tell(members, heartbeat_atom_v, late) == ec::superseded));
  BOOST_TEST((tell(members, deregister_atom_v, late) == ec::superseded));
  BOOST_TEST(listed() == 1u);
}

BOOST_AUTO_TEST_CASE(time_is_the_actor_clock_and_ages_are_measured_on_it) {
  join("a");
  advance(7s);
  BOOST_TEST((ask<instance_details>(members, find_atom_v, std::string{"a"})->age == 7s));
  BOOST_TEST((ask<fleet_details>(members, details_atom_v)->rows[0].age == 7s));
}

BOOST_AUTO_TEST_CASE(expiry_removes_what_is_stale_and_reports_it) {
  join("a");
  advance(20s);
  join("b");
  advance(11s);
  const auto report = ask<expiry_report>(members, expire_atom_v, expiry_request{});
  BOOST_TEST(report->lapsed == 1u);
  BOOST_TEST(report->remaining == 1u);
  BOOST_TEST((tell(members, heartbeat_atom_v, instance_reference{"a", {}}) == ec::unknown_instance));
}

BOOST_AUTO_TEST_CASE(expiry_may_only_lengthen_leases) {
  join("a");
  advance(31s);
  BOOST_TEST(ask<expiry_report>(members, expire_atom_v, expiry_request{5s, false})->lapsed == 0u);
  BOOST_TEST((ask<instance_details>(members, find_atom_v, std::string{"a"})->age == 26s));
}

// -- following, watching, draining ---------------------------------------------

namespace {

/// What a follower was told, and whether it is done with the last update.
struct diary {
  std::vector<membership_update_ptr> updates;
  membership_view view;
  bool slow = false;
  std::vector<caf::typed_response_promise<void>> unfinished;

  std::vector<std::string> ids() const {
    std::vector<std::string> result;
    view.for_each([&](const member& each) { result.push_back(each.entry->instance_id); });
    std::ranges::sort(result);
    return result;
  }
};

/// A follower that is done with what it was told when it gets a second message.
using diary_actor = follower_actor::extend<caf::reacts_to<caf::ok_atom>>;

diary_actor::behavior_type diarist(diary_actor::pointer self, std::shared_ptr<diary> written) {
  return {[=](changes_atom, const membership_update_ptr& update) -> caf::result<void> {
            written->updates.push_back(update);
            written->view.apply(*update);
            if (!written->slow)
              return caf::unit;
            written->unfinished.push_back(self->make_response_promise<void>());
            return written->unfinished.back();
          },
          [=](caf::ok_atom) {
            for (caf::response_promise& promise : std::exchange(written->unfinished, {}))
              promise.deliver(caf::unit);
          }};
}

} // namespace

BOOST_AUTO_TEST_CASE(a_follower_is_told_the_fleet_and_then_every_change) {
  join("a");
  auto written = std::make_shared<diary>();
  const auto follower = stop_at_end(system.spawn(diarist, written));
  caf::anon_send(members, follow_atom_v, follower_actor{follower});
  settle();
  BOOST_REQUIRE(written->updates.size() == 1u);
  BOOST_TEST(written->updates[0]->whole->size() == 1u);
  join("b");
  join("a");
  tell(members, deregister_atom_v, instance_reference{"b", {}});
  tell(members, drain_atom_v, drain_request{"a", true});
  std::vector<change_kind> kinds;
  for (std::size_t i = 1; i < written->updates.size(); ++i)
    for (const auto& change : written->updates[i]->changes)
      kinds.push_back(change.kind);
  BOOST_TEST(
      (kinds == std::vector{change_kind::joined, change_kind::replaced, change_kind::left, change_kind::drained}));
  BOOST_TEST(written->ids() == std::vector<std::string>{"a"}, boost::test_tools::per_element());
  advance(31s);
  ask<expiry_report>(members, expire_atom_v, expiry_request{});
  BOOST_TEST(written->ids().empty());
}

BOOST_AUTO_TEST_CASE(a_slow_follower_is_sent_one_update_at_a_time_and_the_whole_when_it_fell_far_behind) {
  auto written = std::make_shared<diary>();
  written->slow = true;
  const auto follower = stop_at_end(system.spawn(diarist, written));
  caf::anon_send(members, follow_atom_v, follower_actor{follower});
  settle();
  for (std::size_t i = 0; i <= membership_journal::most_changes; ++i)
    caf::anon_send(members, register_atom_v, registration_of("a"));
  join("b");
  BOOST_TEST(written->updates.size() == 1u);
  caf::anon_send(follower, caf::ok_atom_v);
  settle();
  BOOST_REQUIRE(written->updates.size() == 2u);
  BOOST_TEST(written->updates[1]->changes.empty());
  BOOST_TEST(written->updates[1]->whole->size() == 2u);
  BOOST_TEST(written->ids() == (std::vector<std::string>{"a", "b"}), boost::test_tools::per_element());
  caf::anon_send(follower, caf::ok_atom_v);
  settle();
  BOOST_TEST(written->updates.size() == 2u); // it knows all
}

BOOST_AUTO_TEST_CASE(many_changes_reach_a_follower_in_several_updates_without_a_gap) {
  auto written = std::make_shared<diary>();
  written->slow = true;
  const auto follower = stop_at_end(system.spawn(diarist, written));
  caf::anon_send(members, follow_atom_v, follower_actor{follower});
  for (std::size_t i = 0; i < 3 * membership_journal::most_changes_at_once; ++i)
    caf::anon_send(members, register_atom_v, registration_of("mp-" + std::to_string(i)));
  settle();
  while (!written->unfinished.empty()) {
    caf::anon_send(follower, caf::ok_atom_v);
    settle();
  }
  BOOST_TEST(written->view.size() == 3 * membership_journal::most_changes_at_once);
  for (std::size_t i = 1; i < written->updates.size(); ++i)
    BOOST_TEST(written->updates[i]->changes.size() <= membership_journal::most_changes_at_once);
}

BOOST_AUTO_TEST_CASE(a_follower_that_ended_is_forgotten) {
  auto written = std::make_shared<diary>();
  written->slow = true;
  const auto follower = system.spawn(diarist, written);
  caf::anon_send(members, follow_atom_v, follower_actor{follower});
  settle();
  written->unfinished.clear();
  caf::anon_send_exit(follower, caf::exit_reason::kill);
  settle();
  join("a");
  BOOST_TEST(ask<actor_status>(members, status_atom_v)->counters.back().first == "followers");
  BOOST_TEST(ask<actor_status>(members, status_atom_v)->counters.back().second == 0u);
}

BOOST_AUTO_TEST_CASE(one_who_watches_is_answered_when_the_fleet_is_another) {
  const auto tag = ask<snapshot>(members, list_atom_v, std::string{})->tag;
  BOOST_TEST(*ask<std::string>(members, watch_atom_v, std::string{"something else"}) == tag); // at once
  std::string told;
  auto watching = self->request(members, caf::infinite, watch_atom_v, tag);
  settle();
  tell(members, heartbeat_atom_v, instance_reference{"nobody", {}});
  join("a");
  watching.receive([&](const std::string& current) { told = current; },
                   [](const caf::error&) { BOOST_FAIL("an error"); });
  BOOST_TEST(told == ask<snapshot>(members, list_atom_v, std::string{})->tag);
  BOOST_TEST(told != tag);
}

BOOST_AUTO_TEST_CASE(draining_survives_a_restart_of_the_actor) {
  join("a");
  BOOST_TEST(!tell(members, drain_atom_v, drain_request{"a", true}));
  BOOST_TEST((tell(members, drain_atom_v, drain_request{"nobody", true}) == ec::unknown_instance));
  caf::anon_send_exit(members, caf::exit_reason::kill);
  settle();
  members = start();
  BOOST_TEST(join("a")->joined.draining());
}

BOOST_AUTO_TEST_CASE(the_guard_holds_back_what_a_verdict_then_decides) {
  for (int i = 0; i < 10; ++i)
    join("mp-" + std::to_string(i));
  advance(31s);
  auto report = ask<expiry_report>(members, expire_atom_v, expiry_request{});
  BOOST_TEST(report->lapsed == 0u);
  BOOST_REQUIRE(report->held_back.size() == 10u);
  BOOST_TEST(report->remaining == 10u);
  for (std::size_t i = 0; i < 10; ++i) {
    const auto& who = report->held_back[i];
    caf::anon_send(members, verdict_atom_v, verdict{who.entry->instance_id, who.registration, i < 4});
  }
  settle();
  BOOST_TEST(listed() == 4u);
}

BOOST_AUTO_TEST_CASE(a_tick_proves_progress) {
  advance(2s);
  BOOST_TEST((progress->age(now()) == 2s));
  caf::anon_send(members, caf::tick_atom_v);
  settle();
  BOOST_TEST((progress->age(now()) == 0s));
}

BOOST_AUTO_TEST_CASE(its_status_counts_messages_and_members) {
  join("a");
  tell(members, heartbeat_atom_v, instance_reference{"a", {}});
  const auto status = ask<actor_status>(members, status_atom_v);
  BOOST_TEST(status->name == "registry");
  BOOST_TEST(status->handled == 3u);
  BOOST_TEST((status->counters.front() == std::pair<std::string, std::uint64_t>{"instances", 1}));
}

BOOST_AUTO_TEST_SUITE_END()
