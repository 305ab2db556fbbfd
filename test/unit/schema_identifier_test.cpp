#include "schema/identifier.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <set>
#include <string>
#include <string_view>

using namespace coordinator::schema;
using namespace std::string_view_literals;

BOOST_AUTO_TEST_SUITE(schema_identifier_test)

BOOST_AUTO_TEST_CASE(stripping_takes_away_the_six_blanks_of_ascii_at_both_ends_only) {
  BOOST_TEST(stripped(" \t\n\v\f\r a b \r\f\v\n\t ") == "a b");
  BOOST_TEST(stripped("a") == "a");
  BOOST_TEST(stripped("").empty());
  BOOST_TEST(stripped(" \t\n\v\f\r").empty());
  BOOST_TEST(stripped("\xC2\xA0x") == "\xC2\xA0x");
  BOOST_TEST(stripped("\0 x"sv) == "\0 x"sv);
}

BOOST_AUTO_TEST_CASE(well_formed_utf8_is_valid) {
  for (const auto text : {""sv, "a\0b"sv, "\x7F"sv, "\xC2\x80"sv, "\xDF\xBF"sv, "\xE0\xA0\x80"sv, "\xED\x9F\xBF"sv,
                          "\xEE\x80\x80"sv, "\xEF\xBF\xBF"sv, "\xF0\x90\x80\x80"sv, "\xF4\x8F\xBF\xBF"sv, "aäb€c😀d"sv})
    BOOST_TEST(is_valid_utf8(text), text);
}

BOOST_AUTO_TEST_CASE(anything_else_is_not_valid_utf8) {
  for (const auto text : {
           "\x80"sv,
           "\xBF"sv, // continuation alone
           "\xC0\xAF"sv,
           "\xC1\xBF"sv,
           "\xE0\x80\xAF"sv,
           "\xE0\x9F\xBF"sv, // overlong
           "\xF0\x80\x80\xAF"sv,
           "\xF0\x8F\xBF\xBF"sv, // overlong
           "\xED\xA0\x80"sv,
           "\xED\xAF\xBF"sv,
           "\xED\xB0\x80"sv,
           "\xED\xBF\xBF"sv, // surrogates
           "\xF4\x90\x80\x80"sv,
           "\xF5\x80\x80\x80"sv,
           "\xFE"sv,
           "\xFF"sv, // past U+10FFFF
           "\xC3"sv,
           "a\xE2\x82"sv,
           "\xF0\x9F\x98"sv, // cut off
           "\xC3q"sv,
           "\xE2\x82q"sv,
           "\xF0\x9F\x98q"sv,
           "\xE2\x28\xA1"sv, // continuation missing
       })
    BOOST_TEST(!is_valid_utf8(text));
}

BOOST_AUTO_TEST_CASE(ids_of_1_to_256_bytes_without_control_characters_are_accepted) {
  for (const auto id : {"x"sv, "mp-host7"sv, "a/b"sv, "a b"sv, "\"\\"sv, "ä€😀"sv, "\xC2\xA0"sv, "%2F"sv, "."sv})
    BOOST_TEST(!identifier_problem(id).has_value(), id);
  BOOST_TEST(!identifier_problem(std::string(256, 'x')));
  std::string longest;
  for (int i = 0; i < 128; ++i)
    longest += "ä";
  BOOST_TEST(!identifier_problem(longest));
}

BOOST_AUTO_TEST_CASE(an_id_that_is_empty_or_longer_than_256_bytes_is_refused) {
  BOOST_TEST(identifier_problem("").value() == "an instance id must not be empty");
  BOOST_TEST(identifier_problem(std::string(257, 'x')).value()
             == "an instance id has at most 256 bytes, this one has 257");
  std::string too_long = "x";
  for (int i = 0; i < 128; ++i)
    too_long += "ä";
  BOOST_TEST(identifier_problem(too_long).has_value());
}

BOOST_AUTO_TEST_CASE(every_control_character_in_an_id_is_refused) {
  for (unsigned byte = 0; byte < 0x20; ++byte)
    BOOST_TEST(identifier_problem(std::string{"a"} + static_cast<char>(byte) + "b").value()
               == "an instance id must not contain control characters");
  BOOST_TEST(identifier_problem("a\x7F").has_value());
  for (unsigned byte = 0x80; byte < 0xA0; ++byte)
    BOOST_TEST(identifier_problem(std::string{"a\xC2"} + static_cast<char>(byte)).value()
               == "an instance id must not contain control characters");
}

BOOST_AUTO_TEST_CASE(an_id_that_is_not_utf8_is_refused) {
  for (const auto id : {"\xC0\xAF"sv, "\xED\xA0\x80"sv, "x\xFF"sv, "x\xE2\x82"sv, "\x85"sv})
    BOOST_TEST(identifier_problem(id).value() == "an instance id must be valid UTF-8");
}

BOOST_AUTO_TEST_CASE(generated_ids_are_random_uuids_of_version_4) {
  std::set<std::string> seen;
  for (int i = 0; i < 1000; ++i) {
    const auto id = generate_instance_id();
    BOOST_REQUIRE_EQUAL(id.size(), 35U);
    BOOST_REQUIRE(id.starts_with("mp-"));
    BOOST_REQUIRE(
        std::all_of(id.begin() + 3, id.end(), [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); }));
    BOOST_REQUIRE_EQUAL(id[3 + 12], '4');
    BOOST_REQUIRE("89ab"sv.find(id[3 + 16]) != std::string_view::npos);
    BOOST_REQUIRE(!identifier_problem(id));
    seen.insert(id);
  }
  BOOST_TEST(seen.size() == 1000U);
}

BOOST_AUTO_TEST_SUITE_END()
