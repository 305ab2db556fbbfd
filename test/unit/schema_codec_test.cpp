#include "schema/codec_impl.hpp"

#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

// Types that exist for these tests only: one field of each kind, and lists of objects inside of lists of objects.

namespace {

enum class tier { l1, l2, all };

struct sample {
  std::string text = "-";
  std::int64_t whole = 0;
  std::uint64_t size = 0;
  std::int8_t small = 0;
  double number = 0;
  double share = 0;
  bool flag = false;
  tier level = tier::all;
  std::vector<std::int32_t> list;
  std::vector<std::pair<std::string, std::string>> map;
  std::optional<std::int64_t> limit;
};

struct cache_key {
  std::string hash;
  std::int64_t rank = 0;
};

struct cache_entry {
  cache_key key;
  std::uint64_t size_bytes = 0;
  std::vector<std::int64_t> token_ids;
};

struct cache_batch {
  std::string instance_id;
  std::uint64_t seq = 0;
  std::vector<cache_entry> entries;
  std::optional<cache_key> last;
};

struct cache_events {
  std::vector<cache_batch> batches;
};

} // namespace

namespace coordinator::schema {

template <>
struct declaration<sample> {
  static constexpr std::string_view name = "sample";
  static constexpr std::string_view description = "One field of each kind.";
  static constexpr auto fields = std::make_tuple(
      optional<"text">(&sample::text, text_rule{.strip = true, .min_length = 2, .max_bytes = 8}, "A text."),
      optional<"whole">(&sample::whole, "An integer."), optional<"size">(&sample::size, "A size."),
      optional<"small">(&sample::small, integer_rule<std::int8_t>{.min = -5, .max = 5}, "A small integer."),
      optional<"number">(&sample::number, "A number."),
      optional<"share">(&sample::share, number_rule{.min = 0, .max = 0.5}, "A share."),
      optional<"flag">(&sample::flag, "A flag."),
      optional<"level">(&sample::level,
                        choice(std::pair{tier::l1, "l1"}, std::pair{tier::l2, "l2"}, std::pair{tier::all, "all"}),
                        "A tier."),
      optional<"list">(&sample::list, "A list."), optional<"map">(&sample::map, "A map."),
      optional<"limit">(&sample::limit, "A limit."));
};

template <>
struct declaration<cache_key> {
  static constexpr std::string_view name = "cache_key";
  static constexpr std::string_view description = "A key.";
  static constexpr auto fields = std::make_tuple(required<"chunk_hash_hex">(&cache_key::hash, "A hash."),
                                                 required<"kv_rank">(&cache_key::rank, "A rank."));
};

template <>
struct declaration<cache_entry> {
  static constexpr std::string_view name = "cache_entry";
  static constexpr std::string_view description = "An entry.";
  static constexpr auto fields = std::make_tuple(required<"key">(&cache_entry::key, "A key."),
                                                 optional<"size_bytes">(&cache_entry::size_bytes, "A size."),
                                                 optional<"token_ids">(&cache_entry::token_ids, "Tokens."));
};

template <>
struct declaration<cache_batch> {
  static constexpr std::string_view name = "cache_batch";
  static constexpr std::string_view description = "A batch.";
  static constexpr auto fields = std::make_tuple(
      required<"instance_id">(&cache_batch::instance_id, text_rule{.min_length = 1}, "An id."),
      required<"seq">(&cache_batch::seq, integer_rule<std::uint64_t>{.min = 1}, "A number."),
      optional<"entries">(&cache_batch::entries, "Entries."), optional<"last">(&cache_batch::last, "A key."));
};

template <>
struct declaration<cache_events> {
  static constexpr std::string_view name = "cache_events";
  static constexpr std::string_view description = "Batches.";
  static constexpr auto fields = std::make_tuple(optional<"batches">(&cache_events::batches, "Batches."));
};

} // namespace coordinator::schema

using namespace coordinator::schema;
using namespace std::string_literals;
using namespace std::string_view_literals;

namespace {

/// The value as JSON, or the body of the 422.
template <class T>
std::string outcome(std::string_view body, std::string_view content_type = "application/json") {
  const auto result = parse<T>(body, content_type);
  if (const auto* value = std::get_if<T>(&result))
    return to_json(*value);
  return to_json(std::get<violations>(result));
}

/// The value of a field of `sample` when it is sent as `json`, or its only violation.
std::string outcome_of(std::string_view field, std::string_view json) {
  const auto body = "{\"" + std::string{field} + "\":" + std::string{json} + "}";
  const auto result = parse<sample>(body, {});
  if (const auto* found = std::get_if<violations>(&result)) {
    BOOST_REQUIRE_EQUAL(found->size(), 1U);
    const auto& only = found->front();
    BOOST_REQUIRE_EQUAL(only.loc.size(), 2U);
    BOOST_TEST(std::get<std::string>(only.loc[1]) == field);
    return only.type + ": " + only.msg + (only.ctx.empty() ? "" : " " + only.ctx);
  }
  json_document written;
  BOOST_REQUIRE(!written.read(to_json(std::get<sample>(result))));
  const auto member = written.root().FindMember(std::string{field}.c_str());
  return member == written.root().MemberEnd() ? "unset" : echo(member->value);
}

using table = std::vector<std::pair<std::string_view, std::string_view>>;

void check(std::string_view field, const table& cases) {
  for (const auto& [json, expected] : cases)
    BOOST_TEST(outcome_of(field, json) == expected, field << " as " << json << ": " << outcome_of(field, json));
}

constexpr auto int_parsing = "int_parsing: Input should be a valid integer, unable to parse string as an integer"sv;
constexpr auto int_type = "int_type: Input should be a valid integer"sv;
constexpr auto int_from_float =
    "int_from_float: Input should be a valid integer, got a number with a fractional part"sv;
constexpr auto float_parsing = "float_parsing: Input should be a valid number, unable to parse string as a number"sv;
constexpr auto float_type = "float_type: Input should be a valid number"sv;
constexpr auto finite_number = "finite_number: Input should be a finite number"sv;
constexpr auto bool_parsing = "bool_parsing: Input should be a valid boolean, unable to interpret input"sv;
constexpr auto bool_type = "bool_type: Input should be a valid boolean"sv;

} // namespace

BOOST_AUTO_TEST_SUITE(schema_codec_test)

BOOST_AUTO_TEST_CASE(an_integer_field_takes_what_denotes_an_integer) {
  check("whole", {
                     {"8080", "8080"},
                     {"-5", "-5"},
                     {"8080.0", "8080"},
                     {"1e3", "1000"},
                     {"-0.0", "0"},
                     {"true", "1"},
                     {"false", "0"},
                     {R"("8080")", "8080"},
                     {R"(" 8080 ")", "8080"},
                     {R"("\t5\n")", "5"},
                     {R"("+5")", "5"},
                     {R"("-5")", "-5"},
                     {R"("-0")", "0"},
                     {R"("0005")", "5"},
                     {R"("1_000")", "1000"},
                     {R"("1_0_0")", "100"},
                     {R"("5.0")", "5"},
                     {R"("5.000")", "5"},
                     {R"("-1_0.0")", "-10"},
                     {R"(" 5.0 ")", "5"},
                     {"9223372036854775807", "9223372036854775807"},
                     {"-9223372036854775808", "-9223372036854775808"},
                     {R"("9223372036854775807")", "9223372036854775807"},
                     {R"("-9223372036854775808")", "-9223372036854775808"},
                     {"9007199254740993", "9007199254740993"},
                     {R"("9007199254740993")", "9007199254740993"},
                 });
}

BOOST_AUTO_TEST_CASE(an_integer_field_refuses_everything_else) {
  check("whole", {
                     {"8080.5", int_from_float}, {"1e-3", int_from_float},   {R"("")", int_parsing},
                     {R"(" ")", int_parsing},    {R"("x")", int_parsing},    {R"("5 0")", int_parsing},
                     {R"("- 5")", int_parsing},  {R"("--5")", int_parsing},  {R"("+-5")", int_parsing},
                     {R"("5.")", int_parsing},   {R"("5.5")", int_parsing},  {R"(".0")", int_parsing},
                     {R"("-")", int_parsing},    {R"("1e3")", int_parsing},  {R"("0x10")", int_parsing},
                     {R"("_1")", int_parsing},   {R"("1_")", int_parsing},   {R"("1__0")", int_parsing},
                     {R"("+_5")", int_parsing},  {R"("5._0")", int_parsing}, {R"("5\u0000")", int_parsing},
                     {R"("٥")", int_parsing},    {"null", int_type},         {"[]", int_type},
                     {"{}", int_type},           {"[1]", int_type},
                 });
}

BOOST_AUTO_TEST_CASE(integers_that_do_not_fit_are_out_of_range_and_never_wrap) {
  constexpr auto below =
      R"(greater_than_equal: Input should be greater than or equal to -9223372036854775808 {"ge":-9223372036854775808})"sv;
  constexpr auto above =
      R"(less_than_equal: Input should be less than or equal to 9223372036854775807 {"le":9223372036854775807})"sv;
  check("whole", {
                     {"9223372036854775808", above},
                     {"18446744073709551615", above},
                     {"18446744073709551616", above},
                     {"1e308", above},
                     {"9.3e18", above},
                     {R"("9223372036854775808")", above},
                     {R"("18446744073709551617")", above},
                     {R"("99999999999999999999999999")", above},
                     {"-9223372036854775809", below},
                     {"-1e308", below},
                     {R"("-9223372036854775809")", below},
                     {R"("-18446744073709551615")", below},
                     {R"("-99999999999999999999999999")", below},
                 });
  constexpr auto negative = R"(greater_than_equal: Input should be greater than or equal to 0 {"ge":0})"sv;
  constexpr auto over =
      R"(less_than_equal: Input should be less than or equal to 18446744073709551615 {"le":18446744073709551615})"sv;
  check("size", {
                    {"18446744073709551615", "18446744073709551615"},
                    {R"("18446744073709551615")", "18446744073709551615"},
                    {"18446744073709551616", over},
                    {R"("18446744073709551616")", over},
                    {"1e20", over},
                    {"-1", negative},
                    {R"("-1")", negative},
                    {"-1e300", negative},
                    {"-9223372036854775808", negative},
                    {"true", "1"},
                });
  constexpr auto under_five = R"(greater_than_equal: Input should be greater than or equal to -5 {"ge":-5})"sv;
  constexpr auto over_five = R"(less_than_equal: Input should be less than or equal to 5 {"le":5})"sv;
  check("small", {{"5", "5"},
                  {"-5", "-5"},
                  {"6", over_five},
                  {"-6", under_five},
                  {"256", over_five},
                  {"4294967296", over_five},
                  {"1e308", over_five},
                  {"-1e308", under_five},
                  {"-18446744073709551615", under_five}});
}

BOOST_AUTO_TEST_CASE(a_number_field_takes_finite_numbers_and_strings_of_them) {
  check("number", {
                      {"1", "1.0"},
                      {"-1.5", "-1.5"},
                      {"18446744073709551616", "1.8446744073709552e+19"},
                      {"true", "1.0"},
                      {"false", "0.0"},
                      {R"("1.5")", "1.5"},
                      {R"(" 1.5 ")", "1.5"},
                      {R"("1e3")", "1000.0"},
                      {R"("+1.5")", "1.5"},
                      {R"("-1.5")", "-1.5"},
                      {R"(".5")", "0.5"},
                      {R"("5.")", "5.0"},
                      {R"("1_000.5")", "1000.5"},
                      {R"("x")", float_parsing},
                      {R"("")", float_parsing},
                      {R"(" ")", float_parsing},
                      {R"("1 5")", float_parsing},
                      {R"("1.5x")", float_parsing},
                      {R"("1__0")", float_parsing},
                      {R"("_1")", float_parsing},
                      {R"("1_")", float_parsing},
                      {R"("0x1p3")", float_parsing},
                      {R"("+-1")", float_parsing},
                      {R"("1e400")", float_parsing},
                      {R"("nan")", finite_number},
                      {R"("NaN")", finite_number},
                      {R"("inf")", finite_number},
                      {R"("-Infinity")", finite_number},
                      {"null", float_type},
                      {"[]", float_type},
                      {"{}", float_type},
                  });
  check("share", {{"0", "0.0"},
                  {"0.5", "0.5"},
                  {"-0.0", "-0.0"},
                  {"-1", R"(greater_than_equal: Input should be greater than or equal to 0 {"ge":0.0})"},
                  {"0.51", R"(less_than_equal: Input should be less than or equal to 0.5 {"le":0.5})"}});
}

BOOST_AUTO_TEST_CASE(a_boolean_field_takes_the_usual_words_and_0_and_1) {
  for (const auto yes : {"true"sv, "1"sv, "1.0"sv, R"("true")"sv, R"("TRUE")"sv, R"("yes")"sv, R"("on")"sv, R"("t")"sv,
                         R"("Y")"sv, R"("1")"sv})
    BOOST_TEST(outcome_of("flag", yes) == "true", yes);
  for (const auto no : {"false"sv, "0"sv, "0.0"sv, "-0.0"sv, R"("false")"sv, R"("No")"sv, R"("OFF")"sv, R"("F")"sv,
                        R"("n")"sv, R"("0")"sv})
    BOOST_TEST(outcome_of("flag", no) == "false", no);
  check("flag", {
                    {"2", bool_parsing},
                    {"-1", bool_parsing},
                    {R"("x")", bool_parsing},
                    {R"("")", bool_parsing},
                    {R"(" yes ")", bool_parsing},
                    {R"("01")", bool_parsing},
                    {R"("truexx")", bool_parsing},
                    {R"("falsex")", bool_parsing},
                    {R"("falsexyz")", bool_parsing},
                    {"0.5", bool_type},
                    {"18446744073709551616", bool_type},
                    {"null", bool_type},
                    {"[]", bool_type},
                    {"{}", bool_type},
                });
}

BOOST_AUTO_TEST_CASE(a_string_field_takes_strings_only) {
  constexpr auto string_type = "string_type: Input should be a valid string"sv;
  check("text", {
                    {R"("ab")", R"("ab")"},
                    {R"("  ab\n")", R"("ab")"},
                    {R"("ä€")", R"("ä€")"},
                    {R"("12345678")", R"("12345678")"},
                    {R"("  12345678 ")", R"("12345678")"},
                    {R"("€ü")", R"("€ü")"},
                    {R"("  x ")", R"(string_too_short: String should have at least 2 characters {"min_length":2})"},
                    {R"("€")", R"(string_too_short: String should have at least 2 characters {"min_length":2})"},
                    {R"("123456789")", R"(string_too_long: String should have at most 8 bytes {"max_length":8})"},
                    {R"("€€€")", R"(string_too_long: String should have at most 8 bytes {"max_length":8})"},
                    {"1", string_type},
                    {"1.5", string_type},
                    {"true", string_type},
                    {"null", string_type},
                    {"[]", string_type},
                    {"{}", string_type},
                });
}

BOOST_AUTO_TEST_CASE(an_enumeration_takes_its_names_only) {
  constexpr auto unknown = R"(enum: Input should be 'l1', 'l2' or 'all' {"expected":"'l1', 'l2' or 'all'"})"sv;
  check("level", {{R"("l1")", R"("l1")"},
                  {R"("all")", R"("all")"},
                  {R"("L1")", unknown},
                  {R"(" l1")", unknown},
                  {R"("")", unknown},
                  {"0", unknown},
                  {"null", unknown},
                  {"[]", unknown}});
}

BOOST_AUTO_TEST_CASE(lists_and_maps_are_taken_for_what_they_are_only) {
  constexpr auto list_type = "list_type: Input should be a valid list"sv;
  constexpr auto dict_type = "dict_type: Input should be a valid dictionary"sv;
  check("list", {{"[]", "[]"},
                 {R"([1,"2",3.0,true])", "[1,2,3,1]"},
                 {"{}", list_type},
                 {"1", list_type},
                 {R"("x")", list_type},
                 {"null", list_type}});
  check("map", {{"{}", "{}"},
                {R"({"b":"1","a":""})", R"({"b":"1","a":""})"},
                {"[]", dict_type},
                {"1", dict_type},
                {R"("x")", dict_type},
                {"null", dict_type}});
}

BOOST_AUTO_TEST_CASE(an_optional_field_may_be_absent_null_or_a_value) {
  check("limit", {{"5", "5"}, {"null", "unset"}, {R"("x")", int_parsing}, {"[]", int_type}});
  BOOST_TEST(outcome<sample>("{}").find("limit") == std::string::npos);
}

BOOST_AUTO_TEST_CASE(absent_fields_keep_their_defaults_and_unknown_ones_are_ignored) {
  constexpr auto defaults =
      R"({"text":"-","whole":0,"size":0,"small":0,"number":0.0,"share":0.0,"flag":false,"level":"all","list":[],"map":{}})"sv;
  BOOST_TEST(outcome<sample>("{}") == defaults);
  BOOST_TEST(outcome<sample>(R"({"unknown":{"x":[1,null]},"WHOLE":5,"":1})") == defaults);
}

BOOST_AUTO_TEST_CASE(nested_types_are_read_and_written) {
  constexpr auto body =
      R"({"batches":[{"instance_id":"a","seq":1,"entries":[{"key":{"chunk_hash_hex":"0a","kv_rank":3},"size_bytes":7,)"
      R"("token_ids":[1,2]}],"last":{"chunk_hash_hex":"0b","kv_rank":4}},{"instance_id":"b","seq":2,"entries":[]}]})"sv;
  BOOST_TEST(outcome<cache_events>(body) == body);
  BOOST_TEST(outcome<cache_events>("{}") == R"({"batches":[]})");
}

BOOST_AUTO_TEST_CASE(every_violation_of_nested_values_is_listed_with_its_location) {
  BOOST_TEST(
      outcome<cache_events>(
          R"({"batches":[{"instance_id":"","entries":[1,{},{"key":null},{"key":{"kv_rank":"x"},"size_bytes":-1,)"
          R"("token_ids":[1,2.5]}]},null,{"instance_id":"b","seq":0,"entries":{},"last":[]}]})")
      == R"({"detail":[)"
         R"({"type":"string_too_short","loc":["body","batches",0,"instance_id"],"msg":"String should have at least 1 character","input":"","ctx":{"min_length":1}},)"
         R"({"type":"missing","loc":["body","batches",0,"seq"],"msg":"Field required","input":{"instance_id":"","entries":[1,{},{"key":null},{"key":{"kv_rank":"x"},"size_bytes":-1,"token_ids":[1,2.5]}]}},)"
         R"({"type":"model_attributes_type","loc":["body","batches",0,"entries",0],"msg":"Input should be a valid dictionary or object to extract fields from","input":1},)"
         R"({"type":"missing","loc":["body","batches",0,"entries",1,"key"],"msg":"Field required","input":{}},)"
         R"({"type":"model_attributes_type","loc":["body","batches",0,"entries",2,"key"],"msg":"Input should be a valid dictionary or object to extract fields from","input":null},)"
         R"({"type":"missing","loc":["body","batches",0,"entries",3,"key","chunk_hash_hex"],"msg":"Field required","input":{"kv_rank":"x"}},)"
         R"({"type":"int_parsing","loc":["body","batches",0,"entries",3,"key","kv_rank"],"msg":"Input should be a valid integer, unable to parse string as an integer","input":"x"},)"
         R"({"type":"greater_than_equal","loc":["body","batches",0,"entries",3,"size_bytes"],"msg":"Input should be greater than or equal to 0","input":-1,"ctx":{"ge":0}},)"
         R"({"type":"int_from_float","loc":["body","batches",0,"entries",3,"token_ids",1],"msg":"Input should be a valid integer, got a number with a fractional part","input":2.5},)"
         R"({"type":"model_attributes_type","loc":["body","batches",1],"msg":"Input should be a valid dictionary or object to extract fields from","input":null},)"
         R"({"type":"greater_than_equal","loc":["body","batches",2,"seq"],"msg":"Input should be greater than or equal to 1","input":0,"ctx":{"ge":1}},)"
         R"({"type":"list_type","loc":["body","batches",2,"entries"],"msg":"Input should be a valid list","input":{}},)"
         R"({"type":"model_attributes_type","loc":["body","batches",2,"last"],"msg":"Input should be a valid dictionary or object to extract fields from","input":[]})"
         R"(]})");
}

BOOST_AUTO_TEST_CASE(a_hundred_violations_are_listed_and_the_others_counted) {
  const auto events = [](int wrong) {
    std::string body = R"({"batches":[)";
    for (int i = 0; i < wrong; ++i)
      body += i > 0 ? ",0" : "0";
    return parse<cache_events>(body + "]}", {});
  };
  BOOST_TEST(std::get<violations>(events(99)).size() == 99U);
  BOOST_TEST(std::get<violations>(events(100)).size() == 100U);
  const auto result = events(100'000);
  const auto& found = std::get<violations>(result);
  BOOST_REQUIRE_EQUAL(found.size(), max_listed_violations + 1);
  BOOST_TEST(std::get<std::size_t>(found[99].loc[2]) == 99U);
  BOOST_TEST(
      to_json(violations{found.back()})
      == R"({"detail":[{"type":"too_many_violations","loc":["body"],"msg":"100000 violations in all, of which the first 100 are listed","input":null,"ctx":{"total":100000,"listed":100}}]})");
}

BOOST_AUTO_TEST_CASE(the_reply_to_many_violations_of_large_values_is_small) {
  std::string body = R"({"batches":[)";
  for (int i = 0; i < 1000; ++i)
    body += R"({"x":")" + std::string(10'000, 'x') + R"("},)";
  body.back() = ']';
  BOOST_TEST(outcome<cache_events>(body + "}").size() < 200'000U);
}

// Looking a field up in an object costs its size once, whatever is in it.
BOOST_AUTO_TEST_CASE(objects_with_a_great_many_unknown_members_are_read_in_time) {
  std::string members;
  for (int i = 0; i < 10'000; ++i)
    members += ",\"u" + std::to_string(i) + "\":0";
  std::string body = R"({"batches":[{"instance_id":"a","seq":1,"entries":[)";
  for (int i = 0; i < 20; ++i)
    body += R"({"key":{"chunk_hash_hex":"","kv_rank":0})" + members + "},";
  body.back() = ']';
  const auto result = parse<cache_events>(body + "}]}", {});
  BOOST_REQUIRE(std::holds_alternative<cache_events>(result));
  BOOST_TEST(std::get<cache_events>(result).batches.front().entries.size() == 20U);
}

BOOST_AUTO_TEST_CASE(no_body_at_all_is_a_missing_one) {
  constexpr auto missing = R"({"detail":[{"type":"missing","loc":["body"],"msg":"Field required","input":null}]})"sv;
  BOOST_TEST(outcome<sample>("", "") == missing);
  BOOST_TEST(outcome<sample>("", "application/json") == missing);
  BOOST_TEST(outcome<sample>("", "text/plain") == missing);
}

BOOST_AUTO_TEST_CASE(a_body_that_is_no_object_is_refused_as_a_whole) {
  for (const auto body : {"[]"sv, R"("x")"sv, "1"sv, "null"sv, "true"sv, R"([{"text":"ab"}])"sv})
    BOOST_TEST(
        outcome<sample>(body)
        == R"({"detail":[{"type":"model_attributes_type","loc":["body"],"msg":"Input should be a valid dictionary or object to extract fields from","input":)"
               + std::string{body} + "}]}");
}

BOOST_AUTO_TEST_CASE(a_body_that_is_no_json_is_refused_with_the_place_and_the_reason) {
  const auto invalid = [](std::string_view offset, std::string_view error) {
    return R"({"detail":[{"type":"json_invalid","loc":["body",)" + std::string{offset}
           + R"(],"msg":"JSON decode error","input":{},"ctx":{"error":")" + std::string{error} + R"("}}]})";
  };
  BOOST_TEST(outcome<sample>("   ") == invalid("3", "The document is empty"));
  BOOST_TEST(outcome<sample>(R"({"ä":1,})") == invalid("7", "Missing a name for object member"));
  BOOST_TEST(outcome<sample>(R"({"whole":NaN})") == invalid("9", "Invalid value"));
  BOOST_TEST(outcome<sample>(R"({"whole":-Infinity})") == invalid("10", "Invalid value"));
  BOOST_TEST(outcome<sample>(R"({"number":1e400})") == invalid("10", "A number is out of range"));
  BOOST_TEST(outcome<sample>(R"({"text":"ab","text":"ab"})") == invalid("19", "A member occurs twice in an object"));
  BOOST_TEST(outcome<sample>(std::string(100'000, '[')) == invalid("64", "Nested deeper than 64 levels"));
  BOOST_TEST(outcome<sample>(R"({"text":"\ud800"})").find("json_invalid") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_byte_order_mark_changes_nothing) {
  BOOST_TEST(outcome<sample>("\xEF\xBB\xBF{\"whole\":5}") == outcome<sample>(R"({"whole":5})"));
}

BOOST_AUTO_TEST_CASE(json_media_types_in_utf8_are_accepted) {
  for (const auto type :
       {""sv, " "sv, "application/json"sv, "APPLICATION/JSON"sv, "application/json;charset=utf-8"sv,
        "application/json; charset=\"UTF-8\""sv, "Application/Json ; Charset = utf8 "sv, "application/json;"sv,
        "application/json; ; "sv, "application/json; version=2; charset=utf-8"sv, "application/json; charset"sv,
        "application/vnd.lmcache+json"sv, "application/problem+JSON; x=y"sv})
    BOOST_TEST(std::holds_alternative<sample>(parse<sample>("{}", type)), type);
}

BOOST_AUTO_TEST_CASE(any_other_media_type_is_one_violation_of_the_header) {
  for (const auto type :
       {"text/plain"sv, "text/json"sv, "application/x-www-form-urlencoded"sv, "application/xml"sv,
        "application/jsonp"sv, "application"sv, "application/+json"sv, "json"sv, "*/*"sv, ";"sv,
        "application/json, text/plain"sv, "multipart/form-data; boundary=application/json"sv,
        "application/json; charset=utf-16"sv, "application/json; charset=iso-8859-1"sv, "application/json;charset="sv,
        "application/json; charset=\"utf-8"sv, "application/json; charset=utf-8; charset=latin1"sv}) {
    const auto result = parse<sample>("{}", type);
    BOOST_REQUIRE_MESSAGE(std::holds_alternative<violations>(result), type);
    BOOST_TEST(
        to_json(std::get<violations>(result))
        == R"({"detail":[{"type":"value_error","loc":["header","content-type"],"msg":"Value error, the body is not announced as JSON in UTF-8: send Content-Type: application/json","input":)"
               + echo(type) + R"(,"ctx":{"error":{}}}]})");
  }
  BOOST_TEST(outcome<sample>("{}", std::string(60'000, '\xFF')).size() < 4000U);
}

BOOST_AUTO_TEST_CASE(the_schema_of_a_type_shows_its_fields_rules_and_defaults) {
  const auto schema = json_schema<sample>();
  BOOST_TEST(schema.name == "sample");
  BOOST_TEST(
      schema.json
      == R"({"type":"object","description":"One field of each kind.","properties":{)"
         R"("text":{"type":"string","minLength":2,"maxLength":8,"description":"A text.","default":"-"},)"
         R"("whole":{"type":"integer","minimum":-9223372036854775808,"maximum":9223372036854775807,"description":"An integer.","default":0},)"
         R"("size":{"type":"integer","minimum":0,"maximum":18446744073709551615,"description":"A size.","default":0},)"
         R"("small":{"type":"integer","minimum":-5,"maximum":5,"description":"A small integer.","default":0},)"
         R"("number":{"type":"number","description":"A number.","default":0.0},)"
         R"("share":{"type":"number","minimum":0.0,"maximum":0.5,"description":"A share.","default":0.0},)"
         R"("flag":{"type":"boolean","description":"A flag.","default":false},)"
         R"("level":{"type":"string","enum":["l1","l2","all"],"description":"A tier.","default":"all"},)"
         R"("list":{"type":"array","items":{"type":"integer","minimum":-2147483648,"maximum":2147483647},"description":"A list.","default":[]},)"
         R"("map":{"type":"object","additionalProperties":{"type":"string"},"description":"A map.","default":{}},)"
         R"("limit":{"type":"integer","minimum":-9223372036854775808,"maximum":9223372036854775807,"description":"A limit."}},)"
         R"("required":[]})");
  BOOST_TEST(
      json_schema<cache_entry>().json
      == R"({"type":"object","description":"An entry.","properties":{)"
         R"("key":{"$ref":"#/components/schemas/cache_key","description":"A key."},)"
         R"("size_bytes":{"type":"integer","minimum":0,"maximum":18446744073709551615,"description":"A size.","default":0},)"
         R"("token_ids":{"type":"array","items":{"type":"integer","minimum":-9223372036854775808,"maximum":9223372036854775807},"description":"Tokens.","default":[]}},)"
         R"("required":["key"]})");
  BOOST_TEST(json_schema<cache_key>().json.find(R"("required":["chunk_hash_hex","kv_rank"])") != std::string::npos);
  BOOST_TEST(json_schema<cache_batch>().json.find(R"("last":{"$ref":"#/components/schemas/cache_key")")
             != std::string::npos);
  BOOST_TEST(json_schema<cache_events>().json.find(R"("items":{"$ref":"#/components/schemas/cache_batch"})")
             != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_schema_brings_those_it_refers_to) {
  const auto schema = json_schema<cache_events>();
  BOOST_REQUIRE_EQUAL(schema.parts.size(), 1U);
  const auto& batch = schema.parts.front();
  BOOST_TEST(batch.name == "cache_batch");
  BOOST_REQUIRE_EQUAL(batch.parts.size(), 2U);
  BOOST_TEST(batch.parts[0].name == "cache_entry");
  BOOST_TEST(batch.parts[0].parts.front().name == "cache_key");
  BOOST_TEST(batch.parts[1].name == "cache_key");
  BOOST_TEST(json_schema<sample>().parts.empty());
}

BOOST_AUTO_TEST_SUITE_END()
