#include "http/membership_waits.hpp"

#include <boost/test/unit_test.hpp>

using namespace coordinator;
using namespace coordinator::http;
using namespace std::chrono_literals;

namespace {

struct fixture {
  time_point now{1h};
  membership_waits waits;

  exchange_ptr wait(std::string known, duration at_most) {
    auto asked = std::make_shared<exchange>();
    waits.add({asked, std::move(known), now + at_most, [] {}, false});
    return asked;
  }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(http_membership_waits_test, fixture)

BOOST_AUTO_TEST_CASE(a_wait_ends_when_its_time_is_over) {
  wait("v1", 10s);
  wait("v1", 20s);
  BOOST_TEST((waits.wake() == now + 10s));
  now += 10s;
  BOOST_TEST(waits.take_ready(now).size() == 1u);
  BOOST_TEST((waits.wake() == now + 10s));
}

BOOST_AUTO_TEST_CASE(a_change_ends_the_waits_of_those_who_know_less_once_it_has_settled) {
  const auto behind = wait("v1", 10s);
  wait("v2", 10s);
  waits.changed("v2", now);
  BOOST_TEST(waits.take_ready(now).empty());
  BOOST_TEST((waits.wake() == now + membership_waits::settling));
  now += membership_waits::settling;
  const auto ready = waits.take_ready(now);
  BOOST_REQUIRE(ready.size() == 1u);
  BOOST_TEST((ready[0].exchange == behind));
  BOOST_TEST(waits.size() == 1u);
}

BOOST_AUTO_TEST_CASE(many_changes_in_a_row_do_not_put_an_answer_off) {
  wait("v1", 10s);
  waits.changed("v2", now);
  now += membership_waits::settling / 2;
  waits.changed("v3", now);
  now += membership_waits::settling / 2;
  BOOST_TEST(waits.take_ready(now).size() == 1u);
}

BOOST_AUTO_TEST_CASE(a_client_that_has_gone_waits_no_longer) {
  const auto gone = wait("v1", 10s);
  wait("v1", 10s);
  gone->client_gone = true;
  BOOST_TEST(waits.take_ready(now).size() == 1u);
  BOOST_TEST(waits.size() == 1u);
}

BOOST_AUTO_TEST_CASE(a_change_from_before_a_wait_does_not_end_it) {
  waits.changed("v2", now); // nobody waits
  wait("v3", 10s);
  BOOST_TEST(waits.take_ready(now + 1s).empty());
  wait("v2", 10s);
  waits.changed("v3", now);
  wait("v4", 10s); // knows of another change that is not told of here yet
  BOOST_TEST(waits.take_ready(now + 1s).size() == 1u);
  BOOST_TEST(waits.size() == 2u);
}

BOOST_AUTO_TEST_CASE(nobody_is_woken_for_nothing) {
  BOOST_TEST((waits.wake() == time_point::max()));
  waits.changed("v2", now);
  BOOST_TEST((waits.wake() == time_point::max()));
}

BOOST_AUTO_TEST_SUITE_END()
