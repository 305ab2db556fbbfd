#include "http/uri.hpp"

#include <boost/test/unit_test.hpp>

#include <string>
#include <utility>
#include <vector>

namespace http = coordinator::http;

namespace {

using segments = std::vector<std::string>;
using query = std::vector<std::pair<std::string, std::string>>;

segments segments_of(std::string_view text) {
  const auto parsed = http::parse_target(text);
  BOOST_REQUIRE_MESSAGE(parsed, "a bad target: " << text);
  return parsed->segments;
}

query query_of(std::string_view text) {
  const auto parsed = http::parse_target(text);
  BOOST_REQUIRE_MESSAGE(parsed, "a bad target: " << text);
  return parsed->query;
}

std::string every_byte() {
  std::string result;
  for (int c = 0; c < 256; ++c)
    result += static_cast<char>(c);
  return result;
}

} // namespace

BOOST_AUTO_TEST_SUITE(http_uri_test)

BOOST_AUTO_TEST_CASE(escapes_are_decoded_in_either_case) {
  BOOST_TEST(http::percent_decode("a%2Fb%2fc").value() == "a/b/c");
  BOOST_TEST(http::percent_decode("%C3%a4").value() == "\xc3\xa4");
  BOOST_TEST(http::percent_decode("").value().empty());
  BOOST_TEST(http::percent_decode("%00").value() == std::string(1, '\0'));
}

BOOST_AUTO_TEST_CASE(decoding_happens_once) {
  BOOST_TEST(http::percent_decode("%2525").value() == "%25");
}

BOOST_AUTO_TEST_CASE(a_plus_outside_the_query_is_a_plus) {
  BOOST_TEST(http::percent_decode("a+b").value() == "a+b");
  BOOST_TEST(segments_of("/a+b") == segments{"a+b"});
}

BOOST_AUTO_TEST_CASE(malformed_escapes_are_refused) {
  for (const auto* text : {"%", "a%", "%2", "%zz", "%2g", "%g2", "%%20", "% 20", "%-1", "a%2"})
    BOOST_TEST(!http::percent_decode(text), text);
}

BOOST_AUTO_TEST_CASE(only_unreserved_characters_are_left_unencoded) {
  BOOST_TEST(http::percent_encode("AZaz09-._~") == "AZaz09-._~");
  BOOST_TEST(http::percent_encode("a/b c?#%+\x7f\xc3\xa4") == "a%2Fb%20c%3F%23%25%2B%7F%C3%A4");
}

BOOST_AUTO_TEST_CASE(encoding_every_byte_and_decoding_gives_it_back) {
  BOOST_TEST(http::percent_decode(http::percent_encode(every_byte())).value() == every_byte());
}

BOOST_AUTO_TEST_CASE(a_path_is_split_at_slashes) {
  BOOST_TEST(segments_of("/instances/a/heartbeat") == (segments{"instances", "a", "heartbeat"}));
}

BOOST_AUTO_TEST_CASE(the_root_has_no_segments) {
  BOOST_TEST(segments_of("/").empty());
  BOOST_TEST(segments_of("/?a=1").empty());
}

BOOST_AUTO_TEST_CASE(one_trailing_slash_is_dropped) {
  BOOST_TEST(segments_of("/instances/") == segments{"instances"});
  BOOST_TEST(segments_of("/instances/?a=1") == segments{"instances"});
  BOOST_TEST(segments_of("/instances//") == (segments{"instances", ""}));
}

BOOST_AUTO_TEST_CASE(slashes_in_a_row_make_empty_segments) {
  BOOST_TEST(segments_of("//") == segments{""});
  BOOST_TEST(segments_of("//a") == (segments{"", "a"}));
  BOOST_TEST(segments_of("/a//b") == (segments{"a", "", "b"}));
  BOOST_TEST(segments_of("//a///b/") == (segments{"", "a", "", "", "b"}));
}

BOOST_AUTO_TEST_CASE(twenty_thousand_slashes_are_split_like_any_other_path) {
  // A regular expression in the library that we do not use for this overflowed the stack on it.
  BOOST_TEST(segments_of(std::string(20'000, '/')).size() == 19'999u);
}

BOOST_AUTO_TEST_CASE(segments_are_decoded_after_they_are_split) {
  BOOST_TEST(segments_of("/instances/a%2Fb/heartbeat") == (segments{"instances", "a/b", "heartbeat"}));
  BOOST_TEST(segments_of("/a%3Fb") == segments{"a?b"});
  BOOST_TEST(segments_of("/a/%2F") == (segments{"a", "/"}));
}

BOOST_AUTO_TEST_CASE(dots_in_a_path_mean_nothing) {
  BOOST_TEST(segments_of("/a/../b/.") == (segments{"a", "..", "b", "."}));
}

BOOST_AUTO_TEST_CASE(a_query_begins_at_the_first_question_mark) {
  BOOST_TEST(segments_of("/a?b/c?d") == segments{"a"});
  BOOST_TEST(query_of("/a?b/c?d") == (query{{"b/c?d", ""}}));
}

BOOST_AUTO_TEST_CASE(a_query_is_pairs_in_order) {
  BOOST_TEST(query_of("/a?x=1&y=2&x=3") == (query{{"x", "1"}, {"y", "2"}, {"x", "3"}}));
}

BOOST_AUTO_TEST_CASE(names_without_a_value_and_values_with_equals_signs_are_kept) {
  BOOST_TEST(query_of("/a?x&y=&z=a=b&=c") == (query{{"x", ""}, {"y", ""}, {"z", "a=b"}, {"", "c"}}));
}

BOOST_AUTO_TEST_CASE(nothing_between_ampersands_is_no_pair) {
  BOOST_TEST(query_of("/a?").empty());
  BOOST_TEST(query_of("/a?&&") == query{});
  BOOST_TEST(query_of("/a?&x=1&") == (query{{"x", "1"}}));
}

BOOST_AUTO_TEST_CASE(names_and_values_of_a_query_are_decoded_after_they_are_split) {
  BOOST_TEST(query_of("/a?x%3D=a%26b+c%2B") == (query{{"x=", "a&b c+"}}));
}

BOOST_AUTO_TEST_CASE(the_last_value_of_a_parameter_counts) {
  const auto target = http::parse_target("/a?x=1&y&x=2").value();
  BOOST_TEST(target.parameter("x").value() == "2");
  BOOST_TEST(target.parameter("y").value() == "");
  BOOST_TEST(!target.parameter("z"));
}

BOOST_AUTO_TEST_CASE(targets_that_are_no_paths_and_bad_escapes_are_refused) {
  for (const auto* text : {"", "a", "*", "?a=1", "http://h/", "/a%", "/a%2", "/%zz/b", "/a?%", "/a?x=%2", "/a?%g0=1",
                           "/a#", "/a#b", "/#", "/a?b#c"})
    BOOST_TEST(!http::parse_target(text), text);
}

BOOST_AUTO_TEST_SUITE_END()
