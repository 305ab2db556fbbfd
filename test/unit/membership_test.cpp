#include "actors/membership.hpp"

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <vector>

using namespace coordinator;
using namespace std::chrono_literals;

namespace {

constexpr duration timeout = 30s;

/// Membership with a clock that moves only by hand.
struct fixture {
  time_point now{1h};
  int generated = 0;
  std::shared_ptr<membership_memory> memory = std::make_shared<membership_memory>();
  membership members{timeout, "run", [this] { return fmt::format("generated-{}", ++generated); }, memory};

  static schema::register_request request(std::string id, std::string ip = "192.0.2.1", std::uint16_t port = 8080) {
    schema::register_request result;
    result.instance_id = std::move(id);
    result.ip = std::move(ip);
    result.http_port = port;
    return result;
  }

  registration join(std::string id) {
    // an address of its own, so that only tests that mean to share one do
    return members.join(request(std::move(id), fmt::format("host-{}", ++hosts)), now, 1000.5);
  }
  int hosts = 0;

  std::vector<std::string> ids() {
    std::vector<std::string> result;
    for (const auto& row : *members.list("").rows)
      result.push_back(row.entry->instance_id);
    return result;
  }

  std::vector<std::string> lapsed() {
    std::vector<std::string> result;
    for (const auto& lapse : members.sweep(now, {}).lapsed)
      result.push_back(lapse.who.entry->instance_id);
    return result;
  }
};

using strings = std::vector<std::string>;

} // namespace

BOOST_FIXTURE_TEST_SUITE(membership_test, fixture)

BOOST_AUTO_TEST_CASE(an_instance_that_joined_is_listed_with_all_it_sent) {
  auto sent = request("a", "2001:db8::1", 81);
  sent.labels = {{"zone", "b"}, {"arch", "x"}};
  sent.p2p_advertised_url = "192.0.2.1:7700";
  sent.mq_port = 5600;
  const auto joined = members.join(sent, now, 1000.5);
  BOOST_TEST(!joined.re_registered);
  const auto row = members.list("").rows->front().entry;
  BOOST_TEST(row->instance_id == "a");
  BOOST_TEST(row->ip == "2001:db8::1");
  BOOST_TEST(row->http_port == 81);
  BOOST_TEST(row->registration_time == 1000.5);
  BOOST_TEST((row->labels == schema::metadata{{"zone", "b"}, {"arch", "x"}}));
  BOOST_TEST(row->p2p_advertised_url == "192.0.2.1:7700");
  BOOST_TEST(row->mq_port == 5600);
  BOOST_TEST(!row->seconds_since_heartbeat.has_value());
}

BOOST_AUTO_TEST_CASE(an_instance_without_an_id_gets_one) {
  BOOST_TEST(join("").joined.entry->instance_id == "generated-1");
  BOOST_TEST(ids() == strings{"generated-1"}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_second_registration_replaces_everything_but_the_place_in_the_list) {
  auto first = request("a");
  first.labels = {{"a", "1"}, {"b", "2"}};
  first.mq_port = 1;
  members.join(first, now, 1);
  join("b");
  now += 5s;
  auto second = request("a", "192.0.2.9");
  second.labels = {{"c", "3"}};
  const auto again = members.join(second, now, 2);
  BOOST_TEST(again.re_registered);
  BOOST_TEST(ids() == (strings{"a", "b"}), boost::test_tools::per_element());
  const auto row = members.list("").rows->front().entry;
  BOOST_TEST(row->ip == "192.0.2.9");
  BOOST_TEST((row->labels == schema::metadata{{"c", "3"}}));
  BOOST_TEST(row->mq_port == 0);
  BOOST_TEST(row->registration_time == 2);
}

BOOST_AUTO_TEST_CASE(registering_again_renews_the_lease) {
  join("a");
  now += timeout;
  join("a");
  now += timeout;
  BOOST_TEST(lapsed().empty());
}

BOOST_AUTO_TEST_CASE(a_lease_ends_only_when_its_age_is_greater_than_the_timeout) {
  join("a");
  now += timeout;
  BOOST_TEST(lapsed().empty());
  now += 1ns;
  BOOST_TEST(lapsed() == strings{"a"}, boost::test_tools::per_element());
  BOOST_TEST(members.size() == 0u);
  BOOST_TEST(lapsed().empty());
}

BOOST_AUTO_TEST_CASE(a_heartbeat_keeps_only_its_own_instance) {
  join("a");
  join("b");
  now += 20s;
  BOOST_TEST((members.heartbeat("a", {}, now) == outcome::done));
  now += 11s;
  BOOST_TEST(lapsed() == strings{"b"}, boost::test_tools::per_element());
  BOOST_TEST(ids() == strings{"a"}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(the_longest_silent_lapse_first_with_their_ages) {
  join("late");
  now += 2s;
  join("later");
  now += 40s;
  const auto gone = members.sweep(now, {}).lapsed;
  BOOST_REQUIRE(gone.size() == 2u);
  BOOST_TEST(gone[0].who.entry->instance_id == "late");
  BOOST_TEST((gone[0].age == 42s));
  BOOST_TEST(gone[1].who.entry->instance_id == "later");
  BOOST_TEST((gone[1].age == 40s));
}

BOOST_AUTO_TEST_CASE(a_heartbeat_of_an_unknown_id_registers_nothing) {
  BOOST_TEST((members.heartbeat("a", {}, now) == outcome::unknown));
  BOOST_TEST(members.size() == 0u);
}

BOOST_AUTO_TEST_CASE(leaving_is_done_once_and_tells_the_age) {
  join("a");
  now += 3s;
  const auto gone = members.leave("a", {}, now);
  BOOST_TEST((gone.result == outcome::done));
  BOOST_TEST(gone.who.entry->instance_id == "a");
  BOOST_TEST((gone.age == 3s));
  BOOST_TEST((members.leave("a", {}, now).result == outcome::unknown));
}

BOOST_AUTO_TEST_CASE(a_condition_on_an_earlier_registration_changes_nothing) {
  const auto earlier = join("a").tag;
  const auto current = join("a").tag;
  BOOST_TEST(earlier != current);
  now += 20s;
  BOOST_TEST((members.heartbeat("a", strings{earlier}, now) == outcome::superseded));
  BOOST_TEST((members.leave("a", strings{earlier}, now).result == outcome::superseded));
  BOOST_TEST((members.heartbeat("a", strings{}, now) == outcome::superseded));
  BOOST_TEST((members.find("a", now)->age == 20s));
  BOOST_TEST((members.heartbeat("a", strings{"other", current}, now) == outcome::done));
  BOOST_TEST((members.find("a", now)->age == 0s));
  BOOST_TEST((members.leave("a", strings{current}, now).result == outcome::done));
}

BOOST_AUTO_TEST_CASE(tags_of_another_run_never_match) {
  membership other{timeout, "other", [] { return "x"; }, std::make_shared<membership_memory>()};
  const auto foreign = other.join(request("a"), now, 1).tag;
  join("a");
  BOOST_TEST((members.leave("a", strings{foreign}, now).result == outcome::superseded));
  BOOST_TEST(other.list("").tag != members.list("").tag);
}

BOOST_AUTO_TEST_CASE(two_ids_at_one_address_both_stay_and_are_told_of) {
  members.join(request("a", "2001:DB8::1"), now, 1);
  members.join(request("elsewhere", "2001:db8::1", 8081), now, 1);
  const auto joined = members.join(request("b", "2001:db8:0::1"), now, 1);
  BOOST_TEST((joined.same_address == "a"));
  BOOST_TEST(members.size() == 3u);
  BOOST_TEST((members.join(request("b", "2001:db8::1"), now, 1).same_address == "a"));
  members.leave("a", {}, now);
  BOOST_TEST(!members.join(request("b", "2001:db8::1"), now, 1).same_address.has_value());
}

BOOST_AUTO_TEST_CASE(an_unchanged_list_is_shared_and_needs_no_second_look) {
  join("a");
  const auto first = members.list("");
  BOOST_TEST(members.list("").rows == first.rows);
  members.heartbeat("a", {}, now);
  BOOST_TEST(members.list(first.tag).rows == nullptr);
  join("b");
  const auto second = members.list(first.tag);
  BOOST_TEST(second.tag != first.tag);
  BOOST_REQUIRE(second.rows);
  BOOST_TEST(second.rows->size() == 2u);
  BOOST_TEST(first.rows->size() == 1u); // a list taken earlier does not change
}

BOOST_AUTO_TEST_CASE(every_change_gives_the_list_a_new_tag) {
  strings tags{members.list("").tag};
  const auto changed = [&] {
    tags.push_back(members.list("").tag);
    return tags[tags.size() - 2] != tags.back();
  };
  join("a");
  BOOST_TEST(changed());
  join("a");
  BOOST_TEST(changed());
  members.leave("a", {}, now);
  BOOST_TEST(changed());
  join("b");
  BOOST_TEST(changed());
  now += 31s;
  members.sweep(now, {});
  BOOST_TEST(changed());
  members.leave("b", {}, now);
  members.sweep(now, {});
  BOOST_TEST(!changed());
}

BOOST_AUTO_TEST_CASE(standing_still_evicts_nobody_who_was_heartbeating) {
  join("a");
  join("dead");
  now += 29s;
  members.heartbeat("a", {}, now);
  now += 1h; // the process stood still for an hour
  members.extend_leases(1h, now);
  BOOST_TEST(lapsed().empty());
  BOOST_TEST((members.find("a", now)->age == 0s));
  BOOST_TEST((members.find("dead", now)->age == 29s));
  now += 2s;
  BOOST_TEST(lapsed() == strings{"dead"}, boost::test_tools::per_element());
  now += 28s;
  BOOST_TEST(lapsed().empty());
  now += 1s;
  BOOST_TEST(lapsed() == strings{"a"}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_heartbeat_between_waking_up_and_noticing_it_gets_no_more_than_a_lease) {
  join("a");
  join("b");
  now += 100s;
  members.heartbeat("a", {}, now); // dated before the pause is known of
  members.extend_leases(100s, now);
  members.heartbeat("b", {}, now);
  now += timeout;
  BOOST_TEST(lapsed().empty());
  now += 1ns;
  BOOST_TEST(lapsed() == (strings{"a", "b"}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(the_order_of_expiry_survives_any_history) {
  // against the obvious model: a map from id to the time of its last heartbeat
  std::mt19937 random{42};
  std::map<std::string, time_point> model;
  for (int step = 0; step < 20'000; ++step) {
    now += std::chrono::milliseconds{random() % 500};
    const auto id = fmt::format("i{}", random() % 200);
    switch (random() % 6) {
    case 0:
      join(id);
      model[id] = now;
      break;
    case 1:
      members.leave(id, {}, now);
      model.erase(id);
      break;
    case 2: {
      strings expected;
      for (const auto& [name, last] : model)
        if (now - last > timeout)
          expected.push_back(name);
      auto actual = lapsed();
      std::ranges::sort(actual);
      BOOST_REQUIRE(actual == expected);
      for (const auto& name : expected)
        model.erase(name);
      break;
    }
    default:
      BOOST_REQUIRE((members.heartbeat(id, {}, now) == outcome::done) == model.contains(id));
      if (model.contains(id))
        model[id] = now;
    }
    BOOST_REQUIRE(members.size() == model.size());
  }
}

BOOST_AUTO_TEST_CASE(a_drained_instance_stays_so_until_somebody_ends_that) {
  const auto draining = [&](std::string_view id) { return members.find(id, now)->who.draining(); };
  join("a");
  join("b");
  const auto tag = members.find("a", now)->tag;
  BOOST_TEST((members.drain("a", true) == outcome::done));
  BOOST_TEST(draining("a"));
  BOOST_TEST(!draining("b"));
  BOOST_TEST(members.find("a", now)->tag == tag); // it is still the same registration
  BOOST_TEST((members.heartbeat("a", strings{tag}, now) == outcome::done));
  join("a");
  BOOST_TEST(draining("a"));
  members.leave("a", {}, now);
  join("a");
  BOOST_TEST(draining("a"));
  now += 31s;
  lapsed();
  join("a");
  BOOST_TEST(draining("a"));
  BOOST_TEST((members.drain("a", false) == outcome::done));
  BOOST_TEST(!draining("a"));
  join("a");
  BOOST_TEST(!draining("a"));
}

BOOST_AUTO_TEST_CASE(draining_outlasts_the_table_but_not_the_process) {
  join("a");
  members.drain("a", true);
  membership restarted{timeout, "run", [] { return "x"; }, memory};
  BOOST_TEST(restarted.join(request("a"), now, 1).joined.draining());
  membership elsewhere{timeout, "other", [] { return "x"; }, std::make_shared<membership_memory>()};
  BOOST_TEST(!elsewhere.join(request("a"), now, 1).joined.draining());
}

BOOST_AUTO_TEST_CASE(only_what_is_registered_can_be_drained_and_what_is_drained_resumed) {
  BOOST_TEST((members.drain("a", true) == outcome::unknown));
  BOOST_TEST((members.drain("a", false) == outcome::unknown));
  join("a");
  BOOST_TEST((members.drain("a", false) == outcome::done)); // nothing to do
  members.drain("a", true);
  members.leave("a", {}, now);
  BOOST_TEST((members.drain("a", true) == outcome::unknown));
  BOOST_TEST((members.drain("a", false) == outcome::done));
  join("a");
  BOOST_TEST(!members.find("a", now)->who.draining());
}

BOOST_AUTO_TEST_CASE(of_drained_instances_that_never_return_a_bounded_number_is_remembered) {
  for (std::size_t i = 0; i <= membership::max_drained_and_gone; ++i) {
    const auto id = fmt::format("mp-{}", i);
    join(id);
    members.drain(id, true);
    members.leave(id, {}, now);
  }
  BOOST_TEST(memory->drained.size() == membership::max_drained_and_gone);
  BOOST_TEST((members.drain("mp-0", false) == outcome::unknown)); // the oldest
  BOOST_TEST((members.drain("mp-1", false) == outcome::done));
}

BOOST_AUTO_TEST_CASE(draining_what_comes_and_goes_drives_out_no_other) {
  join("patient");
  members.drain("patient", true);
  members.leave("patient", {}, now);
  join("restless");
  members.drain("restless", true);
  for (std::size_t i = 0; i <= membership::max_drained_and_gone; ++i) {
    members.leave("restless", {}, now);
    join("restless");
  }
  join("patient");
  BOOST_TEST(members.find("patient", now)->who.draining());
}

BOOST_AUTO_TEST_CASE(a_row_keeps_its_place_for_as_long_as_it_is_listed) {
  join("a");
  join("b");
  join("c");
  join("a");
  members.leave("b", {}, now);
  join("b");
  const auto rows = *members.list("").rows;
  BOOST_REQUIRE(rows.size() == 3u);
  BOOST_TEST(rows[0].entry->instance_id == "a");
  BOOST_TEST(rows[0].place < rows[1].place);
  BOOST_TEST(rows[1].place < rows[2].place);
  BOOST_TEST(rows[2].entry->instance_id == "b");
}

BOOST_AUTO_TEST_CASE(every_change_is_journalled_in_order_with_what_was_and_what_is) {
  const auto first = join("a").joined;
  const auto second = join("a").joined;
  members.drain("a", true);
  members.drain("a", true); // changes nothing
  members.drain("a", false);
  members.heartbeat("a", {}, now); // likewise
  members.leave("a", {}, now);
  const auto third = join("a").joined;
  now += 31s;
  lapsed();
  const auto told = members.journal().since(0);
  BOOST_REQUIRE(told);
  BOOST_TEST(told->version == members.journal().version());
  std::vector<std::string> kinds;
  for (const auto& change : told->changes)
    kinds.push_back(fmt::format("{} {}", to_string(change.kind), to_string(change.cause)));
  BOOST_TEST(kinds
                 == (strings{"joined none", "replaced superseded", "drained none", "resumed none", "left deregistered",
                             "joined none", "left lapsed"}),
             boost::test_tools::per_element());
  BOOST_TEST((told->changes[1].before->registration == first.registration));
  BOOST_TEST((told->changes[1].after->registration == second.registration));
  BOOST_TEST((told->changes[4].before->registration == second.registration));
  BOOST_TEST((told->changes[6].before->registration == third.registration));
}

BOOST_AUTO_TEST_CASE(the_version_goes_on_where_an_earlier_table_of_the_run_ended) {
  join("a");
  const auto before = members.list("").tag;
  membership restarted{timeout, "run", [] { return "x"; }, memory};
  BOOST_TEST(restarted.list("").tag != before); // though nobody has joined yet
  BOOST_REQUIRE(restarted.list(before).rows);
  BOOST_TEST(restarted.list(before).rows->empty());
  BOOST_TEST(restarted.journal().version() > members.journal().version());
  const auto place = members.find("a", now)->who.place;
  BOOST_TEST(restarted.join(request("b"), now, 1).joined.place > place); // or a page would skip it
}

BOOST_AUTO_TEST_CASE(drained_instances_that_a_restart_of_the_table_lost_are_bounded_like_others) {
  for (std::size_t i = 0; i < membership::max_drained_and_gone; ++i) {
    const auto id = fmt::format("mp-{}", i);
    join(id);
    members.drain(id, true);
  }
  membership restarted{timeout, "run", [] { return "x"; }, memory};
  BOOST_TEST(restarted.join(request("mp-7"), now, 1).joined.draining());
  restarted.join(request("a"), now, 1);
  restarted.drain("a", true);
  restarted.leave("a", {}, now);
  restarted.join(request("b"), now, 1);
  restarted.drain("b", true);
  restarted.leave("b", {}, now);
  BOOST_TEST(memory->drained.size() == membership::max_drained_and_gone + 1); // mp-7 is registered
}

// -- the guard -----------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_small_part_of_a_fleet_lapses_as_without_a_guard) {
  for (int i = 0; i < 20; ++i)
    join(fmt::format("mp-{}", i));
  now += 20s;
  for (int i = 1; i < 20; ++i)
    members.heartbeat(fmt::format("mp-{}", i), {}, now);
  now += 11s;
  const auto swept = members.sweep(now, {0.5});
  BOOST_TEST(swept.lapsed.size() == 1u);
  BOOST_TEST(swept.held_back.empty());
}

BOOST_AUTO_TEST_CASE(a_dead_one_of_very_few_lapses_in_spite_of_the_guard) {
  for (int fleet = 1; fleet < 5; ++fleet) {
    join(fmt::format("mp-{}", fleet));
    BOOST_TEST(members.size() == static_cast<std::size_t>(fleet));
    now += 31s;
    for (int i = 1; i < fleet; ++i)
      join(fmt::format("mp-{}", i));
    const auto swept = members.sweep(now, {0.1});
    BOOST_TEST(swept.lapsed.size() == 1u);
    BOOST_TEST(swept.held_back.empty());
    join(fmt::format("mp-{}", fleet));
  }
}

BOOST_AUTO_TEST_CASE(a_large_part_is_held_back_until_each_is_judged) {
  for (int i = 0; i < 10; ++i)
    join(fmt::format("mp-{}", i));
  now += 20s;
  members.heartbeat("mp-0", {}, now);
  now += 11s;
  auto swept = members.sweep(now, {0.5});
  BOOST_TEST(swept.lapsed.empty());
  BOOST_REQUIRE(swept.held_back.size() == 9u);
  BOOST_TEST(members.size() == 10u);
  const auto& dead = swept.held_back[0];
  const auto& alive = swept.held_back[1];
  const auto& back = swept.held_back[2];
  const auto& restarted = swept.held_back[3];
  BOOST_TEST(members.judge(dead.entry->instance_id, dead.registration, false, now).has_value());
  BOOST_TEST(!members.judge(alive.entry->instance_id, alive.registration, true, now));
  members.heartbeat(back.entry->instance_id, {}, now);
  BOOST_TEST(!members.judge(back.entry->instance_id, back.registration, false, now)); // it has answered for itself
  join(restarted.entry->instance_id);
  BOOST_TEST(!members.judge(restarted.entry->instance_id, restarted.registration, false, now));
  BOOST_TEST(!members.judge("nobody", 1, false, now));
  BOOST_TEST(members.size() == 9u);
  BOOST_TEST((members.find(alive.entry->instance_id, now)->age == 0s));

  swept = members.sweep(now, {0.5});
  BOOST_TEST(swept.lapsed.empty());
  BOOST_TEST(swept.held_back.size() == 5u); // told of again in each sweep
}

BOOST_AUTO_TEST_CASE(those_who_fell_silent_together_are_held_back_though_they_lapse_one_by_one) {
  for (int i = 0; i < 10; ++i) {
    join(fmt::format("cut-off-{}", i));
    now += 500ms; // the last heartbeats before the network failed
  }
  for (int i = 0; i < 5; ++i)
    join(fmt::format("well-{}", i));
  std::size_t held = 0;
  for (int second = 0; second < 60; ++second) {
    now += 1s;
    for (int i = 0; i < 5; ++i)
      members.heartbeat(fmt::format("well-{}", i), {}, now);
    const auto swept = members.sweep(now, {0.5});
    BOOST_TEST(swept.lapsed.empty());
    held += swept.held_back.size();
    for (const auto& who : swept.held_back) // each is found alive before the next one lapses
      members.judge(who.entry->instance_id, who.registration, true, now);
  }
  BOOST_TEST(held >= 10u);
  BOOST_TEST(members.size() == 15u);
}

BOOST_AUTO_TEST_CASE(those_of_them_who_are_dead_do_not_hide_the_rest) {
  for (int i = 0; i < 12; ++i) {
    join(fmt::format("silent-{}", i));
    now += 500ms;
  }
  for (int i = 0; i < 4; ++i)
    join(fmt::format("well-{}", i));
  for (int second = 0; second < 40; ++second) {
    now += 1s;
    for (int i = 0; i < 4; ++i)
      members.heartbeat(fmt::format("well-{}", i), {}, now);
    const auto swept = members.sweep(now, {0.5});
    BOOST_TEST(swept.lapsed.empty());
    for (const auto& who : swept.held_back) { // the first eight are dead, the last four are not
      const auto& id = who.entry->instance_id;
      members.judge(id, who.registration, id == "silent-8" || id == "silent-9" || id.size() == 9, now);
    }
  }
  BOOST_TEST(members.size() == 8u);
}

BOOST_AUTO_TEST_CASE(the_guard_is_off_again_one_lease_after_it_set_in) {
  for (int i = 0; i < 20; ++i)
    join(fmt::format("mp-{}", i));
  now += 31s;
  for (const auto& held : members.sweep(now, {0.5}).held_back) {
    members.judge(held.entry->instance_id, held.registration, true, now);
    members.heartbeat(held.entry->instance_id, {}, now);
  }
  now += 29s;
  for (int i = 1; i < 20; ++i)
    members.heartbeat(fmt::format("mp-{}", i), {}, now);
  now += 2s;
  const auto swept = members.sweep(now, {0.5});
  BOOST_TEST(swept.lapsed.size() == 1u);
  BOOST_TEST(swept.held_back.empty());
}

BOOST_AUTO_TEST_CASE(one_that_lives_on_a_verdict_is_never_evicted_without_another) {
  for (int i = 0; i < 10; ++i)
    join(fmt::format("mp-{}", i));
  now += 31s;
  for (const auto& held : members.sweep(now, {0.5}).held_back)
    members.judge(held.entry->instance_id, held.registration, true, now);
  now += 20s;
  for (int i = 1; i < 10; ++i)
    members.heartbeat(fmt::format("mp-{}", i), {}, now);
  now += 11s;
  const auto swept = members.sweep(now, {0.5}); // one of ten is far below the ratio
  BOOST_TEST(swept.lapsed.empty());
  BOOST_REQUIRE(swept.held_back.size() == 1u);
  BOOST_TEST(swept.held_back[0].entry->instance_id == "mp-0");

  // A heartbeat of its own makes it one like every other.
  members.heartbeat("mp-0", {}, now);
  now += 20s;
  for (int i = 1; i < 10; ++i)
    members.heartbeat(fmt::format("mp-{}", i), {}, now);
  now += 11s;
  BOOST_TEST(members.sweep(now, {0.5}).lapsed.size() == 1u);
}

BOOST_AUTO_TEST_CASE(without_a_guard_nobody_is_held_back) {
  for (int i = 0; i < 10; ++i)
    join(fmt::format("mp-{}", i));
  now += 31s;
  const auto swept = members.sweep(now, {});
  BOOST_TEST(swept.lapsed.size() == 10u);
  BOOST_TEST(swept.held_back.empty());
}

BOOST_AUTO_TEST_CASE(who_leaves_while_held_back_is_gone_and_no_longer_waited_for) {
  for (int i = 0; i < 10; ++i)
    join(fmt::format("mp-{}", i));
  now += 31s;
  const auto held = members.sweep(now, {0.5}).held_back;
  for (int i = 0; i < 10; ++i)
    members.leave(fmt::format("mp-{}", i), {}, now);
  BOOST_TEST(!members.judge("mp-0", held[0].registration, false, now));
  join("new");
  now += 31s;
  BOOST_TEST(members.sweep(now, {0.5}).lapsed.size() == 1u); // the guard is not at work any more
}

BOOST_AUTO_TEST_CASE(one_whose_address_another_has_taken_is_not_held_back) {
  for (int i = 0; i < 10; ++i)
    join(fmt::format("mp-{}", i));
  members.join(request("former", "192.0.2.7"), now, 1);
  now += 1s;
  members.join(request("present", "::ffff:192.0.2.7"), now, 1); // the same, spelt differently
  members.join(request("beside", "192.0.2.7", 8081), now, 1);
  now += 31s;
  auto swept = members.sweep(now, {0.5});
  BOOST_REQUIRE(swept.lapsed.size() == 1u);
  BOOST_TEST(swept.lapsed[0].who.entry->instance_id == "former");
  BOOST_TEST(swept.held_back.size() == 12u);

  // Nor when it was held back, or found alive, before the other came.
  members.join(request("also-present", "host-1"), now, 1); // where mp-0 is
  members.judge("mp-1", swept.held_back[1].registration, true, now);
  members.join(request("another", "host-2"), now, 1);
  now += 31s;
  swept = members.sweep(now, {0.5});
  BOOST_TEST(swept.lapsed.size() == 2u);
  BOOST_TEST(swept.held_back.size() == 12u);
  for (const auto& held : swept.held_back)
    members.judge(held.entry->instance_id, held.registration, false, now);
  BOOST_TEST(members.size() == 0u);
  join("new");
  now += 31s;
  BOOST_TEST(members.sweep(now, {0.5}).lapsed.size() == 1u); // the guard is not at work any more
}

BOOST_AUTO_TEST_CASE(a_sweep_costs_what_expired_and_not_the_size_of_the_fleet) {
  // In one run and as a ratio, so that the speed of the machine cancels out: sweeps of a large fleet without a stale
  // instance against sweeps of a tiny one. A sweep that looked at every instance would be off by a factor of 50,000.
  const auto sweeps = [&](membership& fleet) {
    auto best = duration::max();
    for (int round = 0; round < 20; ++round) {
      const auto start = std::chrono::steady_clock::now();
      for (int i = 0; i < 1000; ++i)
        BOOST_REQUIRE(fleet.sweep(now, {}).lapsed.empty());
      best = std::min<duration>(best, std::chrono::steady_clock::now() - start);
    }
    return best;
  };
  membership large{timeout, "large", [] { return "x"; }, std::make_shared<membership_memory>()};
  for (int i = 0; i < 100'000; ++i)
    large.join(request(fmt::format("mp-{}", i)), now, 1);
  membership small{timeout, "small", [] { return "x"; }, std::make_shared<membership_memory>()};
  small.join(request("a"), now, 1);
  small.join(request("b"), now, 1);
  const auto ratio = static_cast<double>(sweeps(large).count()) / static_cast<double>(sweeps(small).count());
  BOOST_TEST(ratio < 100);
}

BOOST_AUTO_TEST_SUITE_END()
