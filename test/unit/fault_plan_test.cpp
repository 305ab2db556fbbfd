#include "apps/mp_server/fault_plan.hpp"

#include <boost/test/unit_test.hpp>

using namespace mp_server;

BOOST_AUTO_TEST_SUITE(fault_plan_test)

BOOST_AUTO_TEST_CASE(nothing_goes_wrong_unless_it_was_planned) {
  fault_plan plan;
  BOOST_TEST(!plan.next("GET", "/x").has_value());
}

BOOST_AUTO_TEST_CASE(the_first_fault_that_matches_is_used_as_often_as_it_says) {
  fault_plan plan;
  fault twice;
  twice.path = "/cache";
  twice.times = 2;
  twice.delay_ms = 1;
  fault always;
  always.method = "GET";
  always.delay_ms = 2;
  plan.set({twice, always});
  BOOST_TEST(plan.next("GET", "/cache/objects?tier=l2")->delay_ms == 1);
  BOOST_TEST(plan.next("DELETE", "/cache/objects")->delay_ms == 1);
  BOOST_TEST(plan.next("GET", "/cache/objects")->delay_ms == 2);
  BOOST_TEST(!plan.next("DELETE", "/cache/objects").has_value());
  BOOST_TEST(plan.next("GET", "/other")->delay_ms == 2);
  BOOST_TEST(*plan.faults()[0].times == 0U);
}

BOOST_AUTO_TEST_CASE(a_fault_for_no_times_is_never_used) {
  fault_plan plan;
  fault never;
  never.times = 0;
  plan.set({never});
  BOOST_TEST(!plan.next("GET", "/").has_value());
}

BOOST_AUTO_TEST_SUITE_END()
