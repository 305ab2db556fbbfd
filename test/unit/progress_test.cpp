#include "actors/progress.hpp"

#include <boost/test/unit_test.hpp>

using namespace coordinator;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(progress_test)

BOOST_AUTO_TEST_CASE(an_activity_is_late_once_its_limit_has_passed_without_progress) {
  progress_board board;
  progress_mark::time_point now{1h};
  auto quick = board.watch("quick", 3s, now);
  auto slow = board.watch("slow", 30s, now);
  now += 3s;
  BOOST_TEST(board.late(now).empty());
  now += 1ns;
  auto late = board.late(now);
  BOOST_REQUIRE(late.size() == 1u);
  BOOST_TEST(late[0]->name() == "quick");
  BOOST_TEST((late[0]->age(now) == 3s + 1ns));
  quick->stamp(now);
  BOOST_TEST(board.late(now).empty());
  now += 31s;
  late = board.late(now);
  BOOST_REQUIRE(late.size() == 2u);
  BOOST_TEST(late[0]->name() == "quick");
  BOOST_TEST(late[1]->name() == "slow");
}

BOOST_AUTO_TEST_CASE(stopping_is_for_good) {
  progress_board board;
  BOOST_TEST(!board.stopping());
  board.begin_stopping();
  BOOST_TEST(board.stopping());
}

BOOST_AUTO_TEST_SUITE_END()
