#include "actors/health.hpp"

#include <boost/test/unit_test.hpp>

using namespace coordinator;
using namespace std::chrono_literals;

namespace {

struct fixture {
  time_point now{1h};
  pause_watch watch{1s, now};

  expiry_request tick_after(duration wait) {
    now += wait;
    return watch.on_tick(now);
  }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(pause_watch_test, fixture)

BOOST_AUTO_TEST_CASE(a_first_tick_on_time_evicts) {
  const auto first = tick_after(1s);
  BOOST_TEST(first.evict);
  BOOST_TEST((first.stood_still == 0s));
}

BOOST_AUTO_TEST_CASE(a_pause_before_the_first_tick_is_noticed) {
  const auto first = tick_after(1h);
  BOOST_TEST(!first.evict);
  BOOST_TEST((first.stood_still == 1h - 1s));
}

BOOST_AUTO_TEST_CASE(a_tick_on_time_or_a_little_late_evicts_and_extends_nothing) {
  tick_after(1s);
  for (const auto wait : {duration{1s}, duration{900ms}, duration{1s + pause_watch::tolerance}}) {
    const auto tick = tick_after(wait);
    BOOST_TEST(tick.evict);
    BOOST_TEST((tick.stood_still == 0s));
  }
}

BOOST_AUTO_TEST_CASE(a_late_tick_extends_every_lease_by_its_delay) {
  tick_after(1s);
  const auto tick = tick_after(1500ms);
  BOOST_TEST((tick.stood_still == 500ms));
  BOOST_TEST(tick.evict);
}

BOOST_AUTO_TEST_CASE(a_tick_that_missed_one_evicts_nobody) {
  tick_after(1s);
  const auto tick = tick_after(31s);
  BOOST_TEST((tick.stood_still == 30s));
  BOOST_TEST(!tick.evict);
  BOOST_TEST(tick_after(1s).evict);
}

BOOST_AUTO_TEST_CASE(a_machine_that_is_always_late_still_evicts) {
  tick_after(1s);
  int evicting = 0;
  for (int i = 0; i < 10; ++i) {
    const auto tick = tick_after(5s);
    BOOST_TEST((tick.stood_still == 4s));
    evicting += tick.evict;
  }
  BOOST_TEST(evicting == 5);
}

BOOST_AUTO_TEST_SUITE_END()
