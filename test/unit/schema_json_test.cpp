#include "schema/json.hpp"
#include "schema/violation.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <thread>

#include <pthread.h>

using namespace coordinator::schema;
using namespace std::string_literals;
using namespace std::string_view_literals;

namespace {

/// Reads `text` from memory of exactly its size, so that a sanitizer sees every read past its end.
std::optional<json_error> read(json_document& document, std::string_view text) {
  const auto exact = std::make_unique<char[]>(text.size());
  std::copy(text.begin(), text.end(), exact.get());
  return document.read({exact.get(), text.size()});
}

std::string outcome(std::string_view text) {
  json_document document;
  if (const auto error = read(document, text))
    return std::to_string(error->offset) + ": " + error->reason;
  return echo(document.root());
}

std::string repeated(std::string_view part, std::size_t times) {
  std::string result;
  result.reserve(part.size() * times);
  for (std::size_t i = 0; i < times; ++i)
    result += part;
  return result;
}

std::string nested_arrays(std::size_t depth) {
  return std::string(depth, '[') + std::string(depth, ']');
}
std::string nested_objects(std::size_t depth) {
  return repeated("{\"a\":", depth) + "1" + std::string(depth, '}');
}

constexpr std::size_t one_mebibyte = std::size_t{1} << 20;

/// Runs `work` on a thread whose stack has one mebibyte.
template <class Work>
void with_small_stack(Work work) {
  pthread_attr_t attributes;
  BOOST_REQUIRE_EQUAL(pthread_attr_init(&attributes), 0);
  BOOST_REQUIRE_EQUAL(pthread_attr_setstacksize(&attributes, one_mebibyte), 0);
  pthread_t thread;
  const auto start = [](void* argument) -> void* {
    (*static_cast<Work*>(argument))();
    return nullptr;
  };
  // Boost.Test's checks are for one thread at a time: here none between start and join.
  const int created = pthread_create(&thread, &attributes, start, &work);
  if (created == 0)
    pthread_join(thread, nullptr);
  BOOST_REQUIRE_EQUAL(created, 0);
  pthread_attr_destroy(&attributes);
}

} // namespace

BOOST_AUTO_TEST_SUITE(schema_json_test)

BOOST_AUTO_TEST_CASE(every_kind_of_value_is_read) {
  for (const auto text : {"null"sv, "true"sv, "false"sv, "0"sv, "-1"sv, "1.5"sv, R"("")"sv, R"("x")"sv, "[]"sv, "{}"sv,
                          R"([1,[2,{"a":[]}],"b"])"sv, R"({"a":{"b":null},"c":[true]})"sv, R"({"":""})"sv})
    BOOST_TEST(outcome(text) == text);
  BOOST_TEST(outcome(" \t\r\n[ 1 , 2 ]\n") == "[1,2]");
  BOOST_TEST(outcome(R"("\u00e4\ud83d\ude00\/\b\f\n\r\t\"\\\u0000\u007f")")
             == "\"ä😀/\\b\\f\\n\\r\\t\\\"\\\\\\u0000\x7F\"");
}

BOOST_AUTO_TEST_CASE(numbers_are_exact_up_to_64_bits_and_the_nearest_double_otherwise) {
  const std::pair<std::string_view, std::string_view> table[] = {
      {"-0", "0"},
      {"4294967296", "4294967296"},
      {"-2147483649", "-2147483649"},
      {"9007199254740993", "9007199254740993"},
      {"9223372036854775807", "9223372036854775807"},
      {"-9223372036854775808", "-9223372036854775808"},
      {"18446744073709551615", "18446744073709551615"},
      {"18446744073709551616", "1.8446744073709552e+19"},
      {"-9223372036854775809", "-9.223372036854775808e+18"},
      {"1790000000.25", "1790000000.25"},
      {"0.1", "0.1"},
      {"-0.0", "-0.0"},
      {"1e22", "1e+22"},
      {"1E+3", "1000.0"},
      {"9007199254740993.0", "9007199254740992.0"},
      {"2.2250738585072011e-308", "2.225073858507201e-308"},
      {"5e-324", "5e-324"},
      {"1.7976931348623157e308", "1.7976931348623157e+308"},
      {"0.000000000000000000000000000000000000000000000001e40", "1e-08"},
      {"8080.0000000000000000000000000000001", "8080.0"},
  };
  for (const auto& [text, value] : table) {
    json_document document;
    BOOST_REQUIRE_MESSAGE(!read(document, text), text);
    if (document.root().IsDouble() && value.find('.') == std::string_view::npos
        && value.find('e') == std::string_view::npos)
      BOOST_ERROR("a double instead of an integer: " << text);
    if (value.starts_with("-9.22"))
      BOOST_TEST(document.root().GetDouble() == -0x1p63);
    else
      BOOST_TEST(echo(document.root()) == value);
  }
}

BOOST_AUTO_TEST_CASE(numbers_out_of_range_and_what_is_no_json_number_are_refused) {
  BOOST_TEST(outcome("[1e400]") == "1: A number is out of range");
  BOOST_TEST(outcome("[-1e400]") == "1: A number is out of range");
  BOOST_TEST(outcome("[1e309]") == "1: A number is out of range");
  BOOST_TEST(outcome("[179769313486231580000e290]") == "1: A number is out of range");
  BOOST_TEST(outcome("[1" + std::string(400, '0') + "]") == "1: A number is out of range");
  for (const auto text : {"NaN"sv, "nan"sv, "Infinity"sv, "-Infinity"sv, "inf"sv, "+1"sv, "01"sv, "-"sv, "1."sv, ".5"sv,
                          "1e"sv, "1e+"sv, "0x10"sv, "1_000"sv, "--1"sv, "-01"sv, "1.e1"sv})
    BOOST_TEST(json_document{}.read("[" + std::string{text} + "]").has_value(), text);
}

// RapidJSON's own conversions read and compute out of bounds here.
BOOST_AUTO_TEST_CASE(numbers_with_extreme_digits_and_exponents_do_no_harm) {
  for (const auto& text : {
           "0." + std::string(1000, '0') + "1",
           "0." + std::string(100000, '0') + "1e5",
           "0." + std::string(50, '0') + "1e-323",
           "0.1e-2147483639"s,
           "0.1e-2147483648"s,
           "1e-99999999999999999999"s,
           "1e99999999999999999999"s,
           "0e99999999999999999999"s,
           "1." + std::string(100000, '9'),
           "1" + std::string(300, '0') + "." + std::string(1000, '1') + "e-300",
           "1" + std::string(100000, '0') + "e-100000",
           "123456789012345678901234567890e-340"s,
           "-0." + std::string(400, '0') + "e300",
           std::string(700, '1') + "." + std::string(700, '1') + "e-1000",
       }) {
    json_document document;
    const auto error = read(document, text);
    if (error)
      BOOST_TEST(error->reason == "A number is out of range");
    else
      BOOST_TEST(document.root().IsNumber());
  }
}

BOOST_AUTO_TEST_CASE(what_is_not_json_is_refused_at_the_character_where_that_shows) {
  const std::pair<std::string_view, std::string_view> table[] = {
      {"", "0: The document is empty"},
      {"   ", "3: The document is empty"},
      {"{", "1: Missing a name for object member"},
      {R"({"a")", "4: Missing a colon after a name of object member"},
      {R"({"a" 1})", "5: Missing a colon after a name of object member"},
      {R"({"a":)", "5: Invalid value"},
      {R"({"a":1)", "6: Missing a comma or '}' after an object member"},
      {R"({"a":1,})", "7: Missing a name for object member"},
      {R"({a:1})", "1: Missing a name for object member"},
      {R"({'a':1})", "1: Missing a name for object member"},
      {"[1,2", "4: Missing a comma or ']' after an array element"},
      {"[1,]", "3: Invalid value"},
      {R"({"a":1}x)", "7: The document root must not be followed by other values"},
      {R"({"a":1}{"a":1})", "7: The document root must not be followed by other values"},
      {R"({"a":1} // comment)", "8: The document root must not be followed by other values"},
      {"/* comment */ {}", "0: Invalid value"},
      {"{}\0"sv, "2: The document root must not be followed by other values"},
      {"{}\0garbage"sv, "2: The document root must not be followed by other values"},
      {"{} \0{}"sv, "3: The document root must not be followed by other values"},
      {"\0"sv, "0: The document is empty"},
      {"nul", "3: Invalid value"},
      {"True", "0: Invalid value"},
      {"\"a\nb\"", "2: Control character in string"},
      {"\"a\tb\"", "2: Control character in string"},
      {"\"a\0b\""sv, "2: Missing a closing quotation mark in string"},
      {R"("a\x")", "2: Invalid escape character in string"},
      {R"("\u12g4")", "1: Incorrect hex digit after \\u escape in string"},
      {"'a'", "0: Invalid value"},
      {R"(["ä€😀" x])", "7: Missing a comma or ']' after an array element"},
      {"\xEF\xBB\xBF{\"a\":1}x", "7: The document root must not be followed by other values"},
      {"\xEF\xBB\xBF", "0: The document is empty"},
      {"\xEF{}", "0: Invalid value"},
      {"{\0}\0"sv, "1: Missing a name for object member"}, // UTF-16
      {"\xFF\xFE{\0}\0"sv, "0: Invalid value"},
      {"\xFE\xFF\0{\0}"sv, "0: Invalid value"},
  };
  for (const auto& [text, error] : table)
    BOOST_TEST(outcome(text) == error, "for " << text << ": " << outcome(text));
}

BOOST_AUTO_TEST_CASE(a_leading_byte_order_mark_is_skipped) {
  BOOST_TEST(outcome("\xEF\xBB\xBF{\"a\":1}") == R"({"a":1})");
  BOOST_TEST(outcome("\xEF\xBB\xBF\xEF\xBB\xBF{}") == "0: Invalid value");
  BOOST_TEST(outcome("[\"\xEF\xBB\xBF\"]") == "[\"\xEF\xBB\xBF\"]");
}

BOOST_AUTO_TEST_CASE(text_that_is_not_utf8_is_refused) {
  for (const auto bytes :
       {"\x80"sv, "\xC0\xAF"sv, "\xE0\x80\xAF"sv, "\xF0\x80\x80\xAF"sv, "\xED\xA0\x80"sv, "\xED\xB0\x80"sv,
        "\xED\xA0\x80\xED\xB0\x80"sv, "\xF4\x90\x80\x80"sv, "\xF5\x80\x80\x80"sv, "\xFF"sv, "\xC3("sv}) {
    const auto text = "[\"" + std::string{bytes} + "\"]";
    BOOST_TEST(json_document{}.read(text).has_value());
    const auto name = "{\"" + std::string{bytes} + "\":1}";
    BOOST_TEST(json_document{}.read(name).has_value());
  }
}

BOOST_AUTO_TEST_CASE(surrogates_come_in_pairs_only) {
  BOOST_TEST(outcome(R"("\ud83d\ude00")") == "\"😀\"");
  BOOST_TEST(outcome("\"\xED\x9F\xBF\"") == "\"\xED\x9F\xBF\""); // the last one below the surrogates
  for (const auto text : {R"("\ud800")"sv, R"("\udc00")"sv, R"("\ud800x")"sv, R"("\ud800\u0041")"sv,
                          R"("\udc00\ud800")"sv, R"("\ud800\ud800")"sv, R"({"\udfff":1})"sv, R"({"a":"한\udc00"})"sv})
    BOOST_TEST(json_document{}.read(text).has_value(), text);
}

BOOST_AUTO_TEST_CASE(a_text_that_ends_too_early_is_refused_without_reading_past_its_end) {
  const auto whole = "{\"k\\u00e4\\n\":\"aä€😀\\ud83d\\ude00\\\\\",\"n\":[-1.5e+3,true,null,{}]}"s;
  BOOST_TEST(!json_document{}.read(whole).has_value());
  for (std::size_t length = 0; length < whole.size(); ++length) {
    json_document document;
    BOOST_TEST(read(document, whole.substr(0, length)).has_value(), "cut at " << length);
  }
  for (const auto end :
       {"\xC3"sv, "\xE2"sv, "\xE2\x82"sv, "\xF0"sv, "\xF0\x9F"sv, "\xF0\x9F\x98"sv, "\\"sv, "\\u"sv, "\\u1"sv,
        "\\u12"sv, "\\u123"sv, "\\ud83d"sv, "\\ud83d\\"sv, "\\ud83d\\u"sv, "\\ud83d\\ude0"sv, "x"sv}) {
    json_document value;
    BOOST_TEST(read(value, "{\"a\":\"" + std::string{end}).has_value());
    json_document name;
    BOOST_TEST(read(name, "{\"" + std::string{end}).has_value());
  }
}

BOOST_AUTO_TEST_CASE(random_mutations_are_read_or_refused) {
  const auto whole =
      "{\"k\\u00e4\\n\":\"aä€😀\\ud83d\\ude00\\\\\",\"n\":[-1.5e+3,123456789012345678901,true,null,{\"k\":1}]}"s;
  std::mt19937 random{20240117};
  const auto pick = [&random](std::size_t limit) { return static_cast<std::size_t>(random()) % limit; };
  constexpr auto interesting = "{}[]\",:\\u0129eE+-. \n\0\xEF\xBB\xBF\xED\xA0\x80\xFF"sv;
  for (int round = 0; round < 20000; ++round) {
    auto text = whole;
    for (auto changes = 1 + pick(4); changes > 0; --changes) {
      const auto at = pick(text.size());
      switch (pick(3)) {
      case 0:
        text[at] = interesting[pick(interesting.size())];
        break;
      case 1:
        text.erase(at, 1 + pick(4));
        break;
      default:
        text.insert(at, 1 + pick(4), interesting[pick(interesting.size())]);
      }
      if (text.empty())
        text = "x";
    }
    json_document document;
    const auto error = read(document, text);
    if (error)
      BOOST_REQUIRE(error->offset <= text.size() && !error->reason.empty());
    else
      BOOST_REQUIRE(!json_document{}.read(echo(document.root())).has_value());
  }
}

BOOST_AUTO_TEST_CASE(values_may_be_nested_64_deep_and_no_deeper) {
  BOOST_TEST(!json_document{}.read(nested_arrays(64)).has_value());
  BOOST_TEST(!json_document{}.read(nested_objects(64)).has_value());
  BOOST_TEST(outcome(nested_arrays(65)) == "64: Nested deeper than 64 levels");
  BOOST_TEST(json_document{}.read(nested_objects(65)).value().reason == "Nested deeper than 64 levels");
  // Depth is not the number of values that were nested in all.
  BOOST_TEST(!json_document{}.read("[" + repeated("[],{},", 1000) + nested_arrays(63) + "]").has_value());
}

BOOST_AUTO_TEST_CASE(a_mebibyte_of_nesting_fits_in_a_small_stack) {
  const auto texts = {
      std::string(one_mebibyte - 1, '['),
      nested_arrays(one_mebibyte / 2 - 1),
      repeated("{\"a\":", one_mebibyte / 5),
      nested_objects(one_mebibyte / 6 - 1),
      R"({"ip":"192.0.2.1","http_port":1,"metadata":)" + nested_objects(one_mebibyte / 6 - 20) + "}",
      R"({"batches":[{"entries":[{"key":)" + nested_arrays(one_mebibyte / 2 - 40) + "}]}]}",
      repeated("[{\"a\":", one_mebibyte / 6),
  };
  with_small_stack([&texts] {
    for (const auto& text : texts) {
      json_document document;
      const auto error = document.read(text);
      BOOST_TEST(error.has_value());
      BOOST_TEST(error->reason == "Nested deeper than 64 levels");
    }
  });
}

BOOST_AUTO_TEST_CASE(a_member_that_occurs_twice_in_an_object_is_refused_where_its_name_ends) {
  BOOST_TEST(outcome(R"({"a":1,"b":2,"a":3})") == "16: A member occurs twice in an object");
  BOOST_TEST(outcome(R"({"ä":1,"\u00e4":2})") == "15: A member occurs twice in an object");
  BOOST_TEST(outcome(R"({"x":[{"b":{"c":1,"c":2}}],"x":1})") == "21: A member occurs twice in an object");
  BOOST_TEST(outcome(R"({"x":1,"x":1,"y":{"c":1,"c":2}})") == "10: A member occurs twice in an object");
  BOOST_TEST(outcome(R"({"":1,"":2})") == "8: A member occurs twice in an object");
  BOOST_TEST(outcome("{\"a\":1,\"a\\u0000\":2}") == "{\"a\":1,\"a\\u0000\":2}");
  BOOST_TEST(outcome(R"({"a":{"a":{"a":1}},"A":[{"a":1},{"a":2}]})") == R"({"a":{"a":{"a":1}},"A":[{"a":1},{"a":2}]})");
}

// Work that grew with the square of the number of names would take minutes here.
BOOST_AUTO_TEST_CASE(objects_with_a_great_many_members_are_read_in_time) {
  std::string distinct = "{";
  std::string equal = "{";
  std::string long_prefix = "{";
  for (int i = 0; i < 1'000'000; ++i) {
    distinct += "\"k" + std::to_string(i) + "\":0,";
    equal += "\"same\":0,";
  }
  for (int i = 0; i < 10'000; ++i)
    long_prefix += "\"" + std::string(1000, 'x') + std::to_string(10'000 + i) + "\":0,";
  for (auto* text : {&distinct, &equal, &long_prefix})
    text->back() = '}';
  BOOST_TEST(!json_document{}.read(distinct).has_value());
  BOOST_TEST(!json_document{}.read(long_prefix).has_value());
  const auto error = json_document{}.read(equal);
  BOOST_TEST(error.has_value());
  BOOST_TEST(error->offset == 16U);
}

BOOST_AUTO_TEST_CASE(a_failed_assertion_of_the_library_throws) {
  json_value number{1};
  BOOST_CHECK_THROW(static_cast<void>(number.GetString()), std::exception);
}

BOOST_AUTO_TEST_CASE(a_value_is_echoed_whole_up_to_1024_bytes) {
  const auto array_of = [](std::size_t bytes) { return "[\"" + std::string(bytes - 4, 'x') + "\"]"; };
  BOOST_TEST(outcome(array_of(1024)) == array_of(1024));
  const auto cut = outcome(array_of(1025));
  BOOST_TEST(cut == "\"[\\\"" + std::string(1021, 'x') + "\\\"…\"");
}

BOOST_AUTO_TEST_CASE(a_long_echo_is_cut_between_characters) {
  for (std::size_t shift = 0; shift < 4; ++shift) {
    const auto value = "\"" + std::string(shift, 'x') + repeated("😀", 1000) + "\"";
    const auto cut = outcome(value);
    BOOST_TEST(!json_document{}.read(cut).has_value());
    BOOST_TEST(cut.ends_with("😀…\""));
    BOOST_TEST(cut.starts_with("\"\\\"" + std::string(shift, 'x') + "😀"));
    BOOST_TEST(cut.size() >= 1020U);
    BOOST_TEST(cut.size() <= 1024U + 1U + 2U + 3U);
  }
}

BOOST_AUTO_TEST_CASE(the_echo_of_a_large_value_is_small_whatever_it_is_made_of) {
  std::string many = "[";
  for (int i = 0; i < 100'000; ++i)
    many += "{\"a\":[1,2]},";
  many.back() = ']';
  for (const auto& text :
       {many, "\"" + repeated("\\u0001", 100'000) + "\"", "{\"" + std::string(1'000'000, 'k') + "\":1}",
        "\"" + repeated("\\\"", 100'000) + "\"", "[\"" + std::string(2000, 'x') + "\",1]"}) {
    const auto cut = outcome(text);
    BOOST_TEST(cut.size() <= 2 * (max_echoed_input + 8));
    BOOST_TEST(cut.ends_with("…\""));
    json_document again;
    BOOST_TEST(!again.read(cut).has_value());
    BOOST_TEST(again.root().IsString());
  }
}

BOOST_AUTO_TEST_SUITE_END()
