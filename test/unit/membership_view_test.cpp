#include "actors/membership_view.hpp"

#include "actors/membership.hpp"

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>

#include <map>
#include <random>
#include <string>
#include <vector>

using namespace coordinator;
using namespace std::chrono_literals;

namespace {

using strings = std::vector<std::string>;

struct fixture {
  time_point now{1h};
  std::shared_ptr<membership_memory> memory = std::make_shared<membership_memory>();
  std::unique_ptr<membership> members = table();
  membership_view view;

  std::unique_ptr<membership> table() {
    return std::make_unique<membership>(
        30s, "run", [] { return "generated"; }, memory);
  }

  member join(const std::string& id) {
    schema::register_request request;
    request.instance_id = id;
    request.ip = "192.0.2.1";
    request.http_port = 80;
    return members->join(std::move(request), now, 1).joined;
  }

  membership_update whole() {
    return {members->journal().version(), members->rows(), members->latest_registration(), {}};
  }

  /// As the registry tells a follower, until it knows all.
  strings catch_up() {
    strings result;
    do {
      auto update = members->journal().since(view.version());
      if (!update)
        update = whole();
      for (const auto& change : view.apply(*update))
        result.push_back(told(change));
    } while (view.version() != members->journal().version());
    return result;
  }

  static std::string told(const membership_change& change) {
    const auto& who = change.after ? *change.after : *change.before;
    return fmt::format("{} {}", to_string(change.kind), who.entry->instance_id);
  }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(membership_view_test, fixture)

BOOST_AUTO_TEST_CASE(the_first_update_is_the_fleet_as_a_series_of_joins) {
  join("a");
  join("b");
  strings changes;
  for (const auto& change : view.apply(whole()))
    changes.push_back(told(change));
  BOOST_TEST(changes == (strings{"joined a", "joined b"}), boost::test_tools::per_element());
  BOOST_TEST(view.size() == 2u);
}

BOOST_AUTO_TEST_CASE(changes_come_in_the_order_in_which_they_happened) {
  catch_up();
  join("a");
  join("b");
  join("a");
  members->drain("b", true);
  members->leave("a", {}, now);
  BOOST_TEST(catch_up() == (strings{"joined a", "joined b", "replaced a", "drained b", "left a"}),
             boost::test_tools::per_element());
  BOOST_REQUIRE(view.find("b"));
  BOOST_TEST(view.find("b")->draining());
  BOOST_TEST(!view.find("a"));
}

BOOST_AUTO_TEST_CASE(one_who_fell_too_far_behind_learns_the_whole_and_misses_nothing_that_still_matters) {
  const auto first = join("stays");
  join("leaves");
  join("is replaced");
  join("is drained");
  catch_up();
  for (std::size_t i = 0; i < membership_journal::most_changes; ++i) {
    join("restless");
    members->leave("restless", {}, now);
  }
  members->leave("leaves", {}, now);
  join("is replaced");
  members->drain("is drained", true);
  join("is new");
  BOOST_TEST(!members->journal().since(view.version()).has_value());
  BOOST_TEST(catch_up() == (strings{"left leaves", "replaced is replaced", "drained is drained", "joined is new"}),
             boost::test_tools::per_element());
  BOOST_TEST(view.find("stays")->registration == first.registration);
}

BOOST_AUTO_TEST_CASE(a_restart_of_the_registry_ends_every_registration_it_had) {
  join("a");
  join("b");
  catch_up();
  members = table();
  join("a");
  strings changes;
  for (const auto& change : view.apply(whole())) {
    changes.push_back(told(change));
    BOOST_TEST((change.cause == departure_cause::superseded));
  }
  BOOST_TEST(changes == (strings{"left b", "replaced a"}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(whether_a_registration_has_ended_is_known_as_far_as_the_view_reaches) {
  const auto first = join("a");
  catch_up();
  BOOST_TEST(!view.has_ended(first));
  const auto second = join("a");
  BOOST_TEST(!view.has_ended(second)); // too new to be known here
  catch_up();
  BOOST_TEST(view.has_ended(first));
  BOOST_TEST(!view.has_ended(second));
  members->leave("a", {}, now);
  catch_up();
  BOOST_TEST(view.has_ended(second));
}

BOOST_AUTO_TEST_CASE(one_that_came_and_left_before_the_whole_was_told_has_ended) {
  const auto brief = join("brief");
  members->leave("brief", {}, now);
  BOOST_TEST(!view.has_ended(brief));
  view.apply(whole());
  BOOST_TEST(view.has_ended(brief));
}

BOOST_AUTO_TEST_CASE(the_journal_keeps_a_bounded_number_of_bytes) {
  schema::register_request large;
  large.instance_id = "large";
  large.ip = "192.0.2.1";
  large.http_port = 80;
  large.labels = {{"filler", std::string(60'000, 'x')}};
  for (int i = 0; i < 1000; ++i)
    members->join(large, now, 1);
  // 60 MB went through it; what is left of that is less than its bound.
  BOOST_TEST(!members->journal().since(members->journal().version() - 300).has_value());
  BOOST_TEST(members->journal().since(members->journal().version() - 200).has_value());
}

BOOST_AUTO_TEST_CASE(a_view_that_is_told_now_and_then_always_ends_up_with_the_fleet) {
  std::minstd_rand random{7};
  std::map<std::string, std::uint64_t> followed; // made of the changes alone
  const auto follow = [&] {
    do {
      auto update = members->journal().since(view.version());
      if (!update || random() % 50 == 0)
        update = whole();
      for (const auto& change : view.apply(*update)) {
        if (change.before) {
          BOOST_TEST(followed.at(change.before->entry->instance_id) == change.before->registration);
          followed.erase(change.before->entry->instance_id);
        }
        if (change.after)
          followed[change.after->entry->instance_id] = change.after->registration;
      }
    } while (view.version() != members->journal().version());
  };
  for (int step = 0; step < 20'000; ++step) {
    const auto id = fmt::format("mp-{}", random() % 50);
    switch (random() % 5) {
    case 0:
    case 1:
      join(id);
      break;
    case 2:
      members->leave(id, {}, now);
      break;
    case 3:
      members->drain(id, random() % 2 == 0);
      break;
    default:
      now += 1s;
      members->sweep(now, {});
    }
    if (random() % 20 == 0)
      follow();
  }
  follow();
  std::map<std::string, std::uint64_t> expected;
  for (const auto& row : *members->rows())
    expected[row.entry->instance_id] = row.registration;
  BOOST_TEST((followed == expected));
  BOOST_TEST(view.size() == expected.size());
}

BOOST_AUTO_TEST_SUITE_END()
