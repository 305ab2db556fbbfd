#include "schema/json_text.hpp"
#include "schema/utf8.hpp"

#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

using namespace coordinator::schema;
using namespace std::string_view_literals;

namespace {

std::string quoted(std::string_view text) {
  std::string out = "<";
  append_quoted(out, text);
  return out.substr(1);
}

template <class Number>
std::string number(Number value) {
  std::string out;
  append_number(out, value);
  return out;
}

} // namespace

BOOST_AUTO_TEST_SUITE(schema_json_text_test)

BOOST_AUTO_TEST_CASE(strings_are_quoted_with_the_escapes_that_json_demands) {
  const std::pair<std::string_view, std::string_view> table[] = {
      {"", R"("")"},
      {"mp-host7", R"("mp-host7")"},
      {R"(a"b\c/d)", R"("a\"b\\c/d")"},
      {"\b\f\n\r\t", R"("\b\f\n\r\t")"},
      {"\0\x01\x1F\x7F"sv, "\"\\u0000\\u0001\\u001f\x7F\""},
      {"aä€😀b", "\"aä€😀b\""},
      {"</script>", R"("</script>")"},
  };
  for (const auto& [text, json] : table)
    BOOST_TEST(quoted(text) == json);
}

BOOST_AUTO_TEST_CASE(bytes_that_are_not_utf8_are_replaced_when_quoted) {
  BOOST_TEST(quoted("a\xFFz") == "\"a\xEF\xBF\xBDz\"");
  BOOST_TEST(quoted("\xE2\x82") == "\"\xEF\xBF\xBD\xEF\xBF\xBD\"");
  BOOST_TEST(quoted("\xED\xA0\x80").find("\xED") == std::string::npos);
  BOOST_TEST(quoted("\xC3\"") == "\"\xEF\xBF\xBD\\\"\"");
}

BOOST_AUTO_TEST_CASE(doubles_are_written_in_the_shortest_form_that_reads_back_the_same) {
  const std::pair<double, std::string_view> table[] = {
      {0.0, "0.0"},
      {-0.0, "-0.0"},
      {1.0, "1.0"},
      {-1.5, "-1.5"},
      {0.1, "0.1"},
      {0.1 + 0.2, "0.30000000000000004"},
      {1790000000.0, "1790000000.0"},
      {1790000000.25, "1790000000.25"},
      {1790000000.1234567, "1790000000.1234567"},
      {123456789012345680.0, "1.2345678901234568e+17"},
      {9999999999999998.0, "9999999999999998.0"},
      {1e16, "1e+16"},
      {0.0001, "0.0001"},
      {0.00001, "1e-05"},
      {-0.00012345678901234567, "-0.00012345678901234567"},
      {5e-324, "5e-324"},
      {std::numeric_limits<double>::max(), "1.7976931348623157e+308"},
      {std::numeric_limits<double>::lowest(), "-1.7976931348623157e+308"},
      {std::numeric_limits<double>::infinity(), "null"},
      {-std::numeric_limits<double>::infinity(), "null"},
      {std::numeric_limits<double>::quiet_NaN(), "null"},
  };
  for (const auto& [value, text] : table)
    BOOST_TEST(number(value) == text);
}

BOOST_AUTO_TEST_CASE(integers_are_written_in_full) {
  BOOST_TEST(number(0) == "0");
  BOOST_TEST(number(std::uint16_t{65535}) == "65535");
  BOOST_TEST(number(std::numeric_limits<std::int64_t>::min()) == "-9223372036854775808");
  BOOST_TEST(number(std::numeric_limits<std::uint64_t>::max()) == "18446744073709551615");
}

BOOST_AUTO_TEST_CASE(an_echoed_text_is_a_bounded_json_string) {
  BOOST_TEST(echo("text/plain"sv) == R"("text/plain")");
  BOOST_TEST(echo("a\"b\xFF"sv) == "\"a\\\"b\xEF\xBF\xBD\"");
  BOOST_TEST(echo(std::string(1022, 'x')) == '"' + std::string(1022, 'x') + '"');
  BOOST_TEST(echo(std::string(1023, 'x')) == "\"\\\"" + std::string(1023, 'x') + "…\"");
  BOOST_TEST(echo(std::string(1 << 20, '\x01')).size() <= 2100U);
}

BOOST_AUTO_TEST_CASE(characters_are_counted_and_cut_by_code_point) {
  BOOST_TEST(utf8_length("") == 0U);
  BOOST_TEST(utf8_length("aä€😀") == 4U);
  BOOST_TEST(utf8_prefix("aä€😀", 100) == "aä€😀");
  const std::string_view expected[] = {"", "a", "a", "aä", "aä", "aä", "aä€", "aä€", "aä€", "aä€", "aä€😀"};
  for (std::size_t bytes = 0; bytes <= 10; ++bytes)
    BOOST_TEST(utf8_prefix("aä€😀", bytes) == expected[bytes]);
}

BOOST_AUTO_TEST_SUITE_END()
