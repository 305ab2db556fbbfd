#include "http/request.hpp"

#include <boost/test/unit_test.hpp>

namespace http = coordinator::http;

BOOST_AUTO_TEST_SUITE(http_request_test)

BOOST_AUTO_TEST_CASE(case_is_ignored_for_ascii_letters_only) {
  BOOST_TEST(http::equals_ignoring_case("Content-Length", "cOnTeNt-lEnGtH"));
  BOOST_TEST(http::equals_ignoring_case("", ""));
  BOOST_TEST(!http::equals_ignoring_case("Host", "Hos"));
  BOOST_TEST(!http::equals_ignoring_case("Host", "Hosts"));
  BOOST_TEST(!http::equals_ignoring_case("@[", "`{")); // 0x20 apart, as letters are
  BOOST_TEST(!http::equals_ignoring_case("\xc4", "\xe4"));
}

BOOST_AUTO_TEST_CASE(the_first_header_of_a_name_is_found_whatever_its_case) {
  http::request request;
  request.headers = {{"Host", "a"}, {"If-Match", "\"1\""}, {"IF-MATCH", "\"2\""}};
  BOOST_TEST(request.header_value("if-match") == "\"1\"");
  BOOST_TEST(request.has_header("if-Match"));
}

BOOST_AUTO_TEST_CASE(an_absent_header_is_told_from_an_empty_one) {
  http::request request;
  request.headers = {{"Empty", ""}};
  BOOST_TEST(request.header_value("Empty").empty());
  BOOST_TEST(request.header_value("Absent").empty());
  BOOST_TEST(request.has_header("empty"));
  BOOST_TEST(!request.has_header("absent"));
}

BOOST_AUTO_TEST_CASE(the_values_of_a_list_header_are_joined_in_order) {
  http::request request;
  request.headers = {{"If-Match", "\"1\""}, {"Host", "a"}, {"if-match", ""}, {"IF-MATCH", "\"2\", \"3\""}};
  BOOST_TEST(request.joined_header("If-Match") == "\"1\", , \"2\", \"3\"");
  BOOST_TEST(request.joined_header("Host") == "a");
  BOOST_TEST(request.joined_header("Absent").empty());
}

BOOST_AUTO_TEST_SUITE_END()
