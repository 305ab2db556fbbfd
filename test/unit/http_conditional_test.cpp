#include "http/conditional.hpp"

#include <boost/test/unit_test.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace http = coordinator::http;

namespace {

using tags = std::vector<std::string>;

http::entity_tag_condition parsed(std::string_view value) {
  http::entity_tag_condition result;
  BOOST_REQUIRE_MESSAGE(http::parse_entity_tags(value, result), "refused: " << value);
  BOOST_REQUIRE(result.tags.size() == result.weak.size());
  return result;
}

} // namespace

BOOST_AUTO_TEST_SUITE(http_conditional_test)

BOOST_AUTO_TEST_CASE(a_star_matches_whatever_exists) {
  for (const auto* value : {"*", " *", "*\t"}) {
    const auto condition = parsed(value);
    BOOST_TEST(condition.any);
    BOOST_TEST(condition.tags.empty());
    BOOST_TEST(condition.matches_strongly("x"));
    BOOST_TEST(condition.matches_weakly("x"));
  }
}

BOOST_AUTO_TEST_CASE(tags_come_without_quotes_and_in_order) {
  const auto condition = parsed(R"("a", W/"b","", "W/")");
  BOOST_TEST(!condition.any);
  BOOST_TEST(condition.tags == (tags{"a", "b", "", "W/"}));
  BOOST_TEST((condition.weak == std::vector<bool>{false, true, false, false}));
}

BOOST_AUTO_TEST_CASE(a_tag_may_hold_commas_backslashes_and_bytes_above_ascii) {
  BOOST_TEST(parsed("\"a,b\",\"c\\\",\"\xc3\xa4\"").tags == (tags{"a,b", "c\\", "\xc3\xa4"}));
}

BOOST_AUTO_TEST_CASE(a_weak_tag_matches_weakly_only) {
  const auto condition = parsed(R"("strong", W/"weak")");
  BOOST_TEST(condition.matches_strongly("strong"));
  BOOST_TEST(condition.matches_weakly("strong"));
  BOOST_TEST(!condition.matches_strongly("weak"));
  BOOST_TEST(condition.matches_weakly("weak"));
}

BOOST_AUTO_TEST_CASE(a_tag_that_is_listed_both_ways_matches_strongly) {
  BOOST_TEST(parsed(R"(W/"x", "x")").matches_strongly("x"));
}

BOOST_AUTO_TEST_CASE(tags_are_compared_byte_by_byte) {
  const auto condition = parsed(R"("abc")");
  for (const auto* tag : {"ABC", "ab", "abcd", "", "\"abc\""}) {
    BOOST_TEST(!condition.matches_strongly(tag));
    BOOST_TEST(!condition.matches_weakly(tag));
  }
}

BOOST_AUTO_TEST_CASE(empty_list_elements_are_skipped) {
  BOOST_TEST(parsed(", \"a\" ,,\t,\"b\", ").tags == (tags{"a", "b"}));
}

BOOST_AUTO_TEST_CASE(a_list_without_tags_matches_nothing) {
  for (const auto* value : {"", " ", ",", " , ,"}) {
    const auto condition = parsed(value);
    BOOST_TEST(condition.tags.empty());
    BOOST_TEST(!condition.matches_strongly(""));
    BOOST_TEST(!condition.matches_weakly(""));
  }
}

BOOST_AUTO_TEST_CASE(everything_else_is_refused) {
  using namespace std::string_view_literals;
  for (const auto value :
       {"a"sv,   "\"a"sv,     "a\""sv,      "\""sv,       "\"a\"\"b\""sv, "\"a\" \"b\""sv, "\"a\";\"b\""sv, "w/\"a\""sv,
        "W/a"sv, "W/"sv,      "W\"a\""sv,   "W/ \"a\""sv, "'a'"sv,        "*, \"a\""sv,    "\"a\", *"sv,    "**"sv,
        "*a"sv,  "\"a b\""sv, "\"a\tb\""sv, "\"a\0b\""sv, "\"a\x7f\""sv,  "\"a\r\n\""sv}) {
    http::entity_tag_condition out;
    BOOST_TEST(!http::parse_entity_tags(value, out), value);
  }
}

BOOST_AUTO_TEST_CASE(what_was_in_the_output_is_replaced) {
  auto condition = parsed("*");
  BOOST_REQUIRE(http::parse_entity_tags("\"a\"", condition));
  BOOST_TEST(!condition.any);
  BOOST_REQUIRE(http::parse_entity_tags("\"b\"", condition));
  BOOST_TEST(condition.tags == tags{"b"});
}

BOOST_AUTO_TEST_SUITE_END()
