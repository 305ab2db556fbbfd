#include "actors/ping.hpp"

#include <boost/test/unit_test.hpp>

using namespace coordinator;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(ping_history_test)

BOOST_AUTO_TEST_CASE(pings_are_counted_by_registration_until_they_are_old) {
  time_point now{1h};
  ping_history history{10s};
  history.add(1, true, now);
  const auto second = history.add(1, false, now + 5s);
  BOOST_TEST(second.pings == 2u);
  BOOST_TEST(second.failed == 1u);
  BOOST_TEST(history.add(2, true, now).pings == 1u);
  history.expire(now + 11s);
  BOOST_TEST(history.size() == 1u);
  history.forget(1);
  BOOST_TEST(history.size() == 0u);
}

BOOST_AUTO_TEST_SUITE_END()
