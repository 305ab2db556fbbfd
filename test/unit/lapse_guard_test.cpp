#include "actors/lapse_guard.hpp"

#include <boost/test/unit_test.hpp>

#include <memory>
#include <vector>

using namespace coordinator;
using namespace std::chrono_literals;

namespace {

std::vector<member> suspects(std::uint64_t count, std::uint64_t first = 1) {
  std::vector<member> result;
  for (std::uint64_t i = 0; i < count; ++i)
    result.push_back({std::make_shared<schema::instance>(), first + i, first + i});
  return result;
}

struct fixture {
  time_point now{1h};
  lapse_guard guard{60s};
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(lapse_guard_test, fixture)

BOOST_AUTO_TEST_CASE(each_is_asked_once_and_decided_by_the_answer) {
  BOOST_TEST(guard.hold(suspects(3), now, now));
  BOOST_TEST(guard.next_probes(now).size() == 3u);
  BOOST_TEST(guard.next_probes(now).empty());
  BOOST_TEST(guard.answered(1, true, now).has_value());
  BOOST_TEST(guard.answered(2, false, now).has_value());
  BOOST_TEST(!guard.answered(2, true, now)); // decided already
  const auto status = guard.status();
  BOOST_TEST(status.held_back == 1u);
  BOOST_TEST(status.alive == 1u);
  BOOST_TEST(status.dead == 1u);
  BOOST_TEST((status.last_end == now + 60s));
}

BOOST_AUTO_TEST_CASE(a_sweep_that_tells_of_the_same_ones_again_changes_nothing) {
  BOOST_TEST(guard.hold(suspects(3), now, now));
  guard.next_probes(now);
  now += 10s;
  BOOST_TEST(!guard.hold(suspects(3), now, now));
  BOOST_TEST(guard.next_probes(now).empty());
  BOOST_TEST((guard.status().last_end == now + 50s));
}

BOOST_AUTO_TEST_CASE(one_that_the_sweep_does_not_tell_of_any_more_has_answered_for_itself) {
  guard.hold(suspects(3), now, now);
  guard.hold(suspects(2), now, now);
  BOOST_TEST(guard.status().held_back == 2u);
  BOOST_TEST(guard.status().alive == 1u);
  guard.hold({}, now, now);
  BOOST_TEST(!guard.status().active());
}

BOOST_AUTO_TEST_CASE(a_few_are_asked_at_a_time) {
  guard.hold(suspects(1000), now, now);
  const auto first = guard.next_probes(now);
  BOOST_TEST(first.size() < 100u);
  guard.answered(first[0].registration, true, now);
  guard.answered(first[1].registration, false, now);
  BOOST_TEST(guard.next_probes(now).size() == 2u);
}

BOOST_AUTO_TEST_CASE(all_are_asked_in_half_of_the_time_even_when_each_question_takes_as_long_as_it_may) {
  for (const std::uint64_t count : {10u, 1000u, 10'000u, 100'000u}) {
    lapse_guard many{60s};
    const auto start = now;
    many.hold(suspects(count), now, now);
    while (many.status().active()) {
      const auto asked = many.next_probes(now);
      BOOST_REQUIRE(!asked.empty());
      now += lapse_guard::probe_timeout;
      for (const auto& who : asked)
        many.answered(who.registration, false, now);
    }
    BOOST_TEST((now - start <= 32s));
  }
}

BOOST_AUTO_TEST_CASE(a_question_that_could_not_be_put_is_put_again) {
  guard.hold(suspects(1), now, now);
  guard.next_probes(now);
  guard.not_asked(1);
  BOOST_TEST(guard.next_probes(now).size() == 1u);
}

BOOST_AUTO_TEST_CASE(a_question_that_was_lost_is_put_again) {
  guard.hold(suspects(1), now, now);
  guard.next_probes(now);
  now += 2s;
  BOOST_TEST(guard.overdue(now).empty());
  BOOST_TEST(guard.next_probes(now).empty());
  now += 3s;
  BOOST_TEST(guard.overdue(now).empty());
  BOOST_TEST(guard.next_probes(now).size() == 1u);
}

BOOST_AUTO_TEST_CASE(nobody_is_held_back_for_longer_than_was_set) {
  guard.hold(suspects(2), now, now);
  now += 30s;
  guard.hold(suspects(3), now, now); // one more
  now += 29s;
  BOOST_TEST(guard.overdue(now).empty());
  now += 1s;
  BOOST_TEST(guard.overdue(now).size() == 2u);
  BOOST_TEST((guard.status().last_end == now + 30s));
  now += 30s;
  BOOST_TEST(guard.overdue(now).size() == 1u);
  BOOST_TEST(!guard.status().active());
  BOOST_TEST(guard.status().dead == 3u);
}

BOOST_AUTO_TEST_CASE(a_sweep_that_does_not_know_of_a_decision_yet_does_not_undo_it) {
  guard.hold(suspects(2), now, now);
  guard.next_probes(now);
  const auto asked = now;
  now += 1ms;
  guard.answered(1, false, now);
  guard.answered(2, true, now);
  now += 1ms;
  BOOST_TEST(!guard.hold(suspects(2), asked, now));
  BOOST_TEST(!guard.status().active());
  now += 30s; // the lease that the answer gave has run out
  BOOST_TEST(guard.hold({suspects(2)[1]}, now, now));
  BOOST_TEST(guard.next_probes(now).size() == 1u);
}

BOOST_AUTO_TEST_CASE(time_in_which_the_process_stood_still_is_given_back) {
  guard.hold(suspects(1), now, now);
  now += 70s;
  guard.extend(60s);
  BOOST_TEST(guard.overdue(now).empty());
  BOOST_TEST((guard.status().last_end == now + 50s));
  BOOST_TEST((guard.status().next_end == now + 50s));
}

BOOST_AUTO_TEST_CASE(a_second_time_counts_afresh) {
  guard.hold(suspects(2), now, now);
  guard.answered(1, true, now);
  guard.answered(2, false, now);
  guard.hold({}, now, now);
  BOOST_TEST(guard.hold(suspects(1, 7), now, now));
  BOOST_TEST(guard.status().alive == 0u);
  BOOST_TEST(guard.status().dead == 0u);
}

BOOST_AUTO_TEST_SUITE_END()
