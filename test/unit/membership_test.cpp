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
  membership members{timeout, "run", [this] { return fmt::format("generated-{}", ++generated); }};

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
      result.push_back(row->instance_id);
    return result;
  }

  std::vector<std::string> lapsed() {
    std::vector<std::string> result;
    for (const auto& lapse : members.expire(now))
      result.push_back(lapse.entry->instance_id);
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
  const auto row = members.list("").rows->front();
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
  BOOST_TEST(join("").entry->instance_id == "generated-1");
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
  const auto row = members.list("").rows->front();
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
  const auto gone = members.expire(now);
  BOOST_REQUIRE(gone.size() == 2u);
  BOOST_TEST(gone[0].entry->instance_id == "late");
  BOOST_TEST((gone[0].age == 42s));
  BOOST_TEST(gone[1].entry->instance_id == "later");
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
  BOOST_TEST(gone.entry->instance_id == "a");
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
  membership other{timeout, "other", [] { return "x"; }};
  const auto foreign = other.join(request("a"), now, 1).tag;
  join("a");
  BOOST_TEST((members.leave("a", strings{foreign}, now).result == outcome::superseded));
  BOOST_TEST(other.list("").tag != members.list("").tag);
}

BOOST_AUTO_TEST_CASE(two_ids_at_one_address_both_stay_and_are_told_of) {
  members.join(request("a", "2001:DB8::1"), now, 1);
  members.join(request("elsewhere", "2001:db8::1", 8081), now, 1);
  const auto joined = members.join(request("b", "2001:db8:0::1"), now, 1);
  BOOST_TEST(joined.same_address == strings{"a"}, boost::test_tools::per_element());
  BOOST_TEST(members.size() == 3u);
  BOOST_TEST(members.join(request("b", "2001:db8::1"), now, 1).same_address == strings{"a"},
             boost::test_tools::per_element());
  members.leave("a", {}, now);
  BOOST_TEST(members.join(request("b", "2001:db8::1"), now, 1).same_address.empty());
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
  members.expire(now);
  BOOST_TEST(changed());
  members.leave("b", {}, now);
  members.expire(now);
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

BOOST_AUTO_TEST_CASE(a_sweep_costs_what_expired_and_not_the_size_of_the_fleet) {
  // In one run and as a ratio, so that the speed of the machine cancels out: sweeps of a large fleet without a stale
  // instance against sweeps of a tiny one. A sweep that looked at every instance would be off by a factor of 50,000.
  const auto sweeps = [&](membership& fleet) {
    auto best = duration::max();
    for (int round = 0; round < 20; ++round) {
      const auto start = std::chrono::steady_clock::now();
      for (int i = 0; i < 1000; ++i)
        BOOST_REQUIRE(fleet.expire(now).empty());
      best = std::min<duration>(best, std::chrono::steady_clock::now() - start);
    }
    return best;
  };
  membership large{timeout, "large", [] { return "x"; }};
  for (int i = 0; i < 100'000; ++i)
    large.join(request(fmt::format("mp-{}", i)), now, 1);
  membership small{timeout, "small", [] { return "x"; }};
  small.join(request("a"), now, 1);
  small.join(request("b"), now, 1);
  const auto ratio = static_cast<double>(sweeps(large).count()) / static_cast<double>(sweeps(small).count());
  BOOST_TEST(ratio < 100);
}

BOOST_AUTO_TEST_SUITE_END()
