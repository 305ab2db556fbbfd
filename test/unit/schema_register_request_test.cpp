#include "schema/identifier.hpp"
#include "schema/instance.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

using namespace coordinator::schema;
using namespace std::string_literals;
using namespace std::string_view_literals;

namespace {

parsed<register_request> parse_exact(std::string_view body) {
  const auto exact = std::make_unique<char[]>(body.size());
  std::copy(body.begin(), body.end(), exact.get());
  return parse<register_request>({exact.get(), body.size()}, "application/json");
}

register_request accepted(std::string_view body) {
  auto result = parse_exact(body);
  if (const auto* found = std::get_if<violations>(&result))
    BOOST_REQUIRE_MESSAGE(false, body.substr(0, 200) << " is refused: " << to_json(*found).substr(0, 500));
  return std::get<register_request>(std::move(result));
}

std::string refused(std::string_view body) {
  const auto result = parse_exact(body);
  BOOST_REQUIRE_MESSAGE(std::holds_alternative<violations>(result), body.substr(0, 200) << " is accepted");
  return to_json(std::get<violations>(result));
}

constexpr std::string_view field_names[] = {"ip",       "http_port",          "instance_id",
                                            "metadata", "p2p_advertised_url", "mq_port"};

/// A body that is good but for `field`, which is `json`, or absent when that is empty.
std::string body_with(std::string_view field, std::string_view json) {
  std::map<std::string_view, std::string_view> members = {{"ip", R"("192.0.2.17")"},
                                                          {"http_port", "8081"},
                                                          {"instance_id", R"("mp-host7")"},
                                                          {"metadata", R"({"zone":"a"})"},
                                                          {"p2p_advertised_url", R"("192.0.2.17:7700")"},
                                                          {"mq_port", "5600"}};
  members[field] = json;
  std::string body = "{";
  for (const auto name : field_names) {
    const auto value = members[name];
    if (value.empty())
      continue;
    body += body.size() > 1 ? ",\"" : "\"";
    body.append(name).append("\":").append(value);
  }
  return body + "}";
}

/// `accepted`, or the type of the only violation, which must be of `field`.
std::string outcome_of(std::string_view field, std::string_view json) {
  const auto result = parse_exact(body_with(field, json));
  const auto* found = std::get_if<violations>(&result);
  if (found == nullptr)
    return "accepted";
  BOOST_REQUIRE_EQUAL(found->size(), 1U);
  BOOST_REQUIRE_GE(found->front().loc.size(), 2U);
  BOOST_TEST(std::get<std::string>(found->front().loc[0]) == "body");
  BOOST_TEST(std::get<std::string>(found->front().loc[1]) == field);
  return found->front().type;
}

std::string metadata_of(int entries, std::size_t value_bytes) {
  std::string map = "{";
  for (int i = 0; i < entries; ++i)
    map += "\"k" + std::to_string(10'000 + i) + "\":\"" + std::string(value_bytes, 'v') + "\",";
  map.back() = '}';
  return map;
}

} // namespace

BOOST_AUTO_TEST_SUITE(schema_register_request_test)

BOOST_AUTO_TEST_CASE(what_existing_servers_send_is_accepted) {
  const auto request =
      accepted(R"({"instance_id":"mp-host7","ip":"192.0.2.17","http_port":8081,"metadata":{"zone":"a","rack":"b"},)"
               R"("p2p_advertised_url":"192.0.2.17:7700","mq_port":5600})");
  BOOST_TEST(
      (request
       == register_request{"192.0.2.17", 8081, "mp-host7", {{"zone", "a"}, {"rack", "b"}}, "192.0.2.17:7700", 5600}));
}

BOOST_AUTO_TEST_CASE(only_address_and_port_are_required) {
  BOOST_TEST((accepted(R"({"ip":"host","http_port":1})") == register_request{"host", 1, "", {}, "", 0}));
}

BOOST_AUTO_TEST_CASE(texts_are_stripped_and_addresses_stored_without_brackets) {
  const auto request = accepted(
      R"({"ip":"\t [2001:DB8::1] \n","http_port":" 8080 ","instance_id":"  x ","p2p_advertised_url":" a:1 ","unknown":[{}]})");
  BOOST_TEST(request.ip == "2001:DB8::1");
  BOOST_TEST(request.http_port == 8080);
  BOOST_TEST(request.instance_id == "x");
  BOOST_TEST(request.p2p_advertised_url == "a:1");
  BOOST_TEST(accepted(R"({"ip":"h","http_port":1,"instance_id":" \t "})").instance_id.empty());
}

BOOST_AUTO_TEST_CASE(a_request_survives_being_written_and_read) {
  const register_request request{"fe80::1%eth0", 65535, "a/b \"\\ä😀", {{"", ""}, {"k\n", "v\t\x7F"}}, "x", 1};
  BOOST_TEST((accepted(to_json(request)) == request));
}

// Case E1: the answer to every kind of value in every field.
BOOST_AUTO_TEST_CASE(every_kind_of_value_in_every_field_is_accepted_or_named) {
  constexpr std::string_view values[] = {
      "",      "null", "true", R"("")", R"("x")", "1.5", "-1", "0", "2147483648", "4294967296", "9223372036854775808",
      "1e308", "[]",   "{}",
  };
  constexpr auto string = "string_type"sv;
  constexpr auto low = "greater_than_equal"sv;
  constexpr auto high = "less_than_equal"sv;
  constexpr auto good = "accepted"sv;
  const std::map<std::string_view, std::vector<std::string_view>> expected = {
      {"ip",
       {"missing", string, string, "string_too_short", good, string, string, string, string, string, string, string,
        string, string}},
      {"http_port",
       {"missing", "int_type", good, "int_parsing", "int_parsing", "int_from_float", low, low, high, high, high, high,
        "int_type", "int_type"}},
      {"instance_id",
       {good, string, string, good, good, string, string, string, string, string, string, string, string, string}},
      {"metadata",
       {good, "dict_type", "dict_type", "dict_type", "dict_type", "dict_type", "dict_type", "dict_type", "dict_type",
        "dict_type", "dict_type", "dict_type", "dict_type", good}},
      {"p2p_advertised_url",
       {good, string, string, good, good, string, string, string, string, string, string, string, string, string}},
      {"mq_port",
       {good, "int_type", good, "int_parsing", "int_parsing", "int_from_float", low, good, high, high, high, high,
        "int_type", "int_type"}},
  };
  for (const auto field : field_names)
    for (std::size_t i = 0; i < std::size(values); ++i)
      BOOST_TEST(outcome_of(field, values[i]) == expected.at(field).at(i), field << ": " << values[i]);
  // The same for the values of the map.
  for (const auto value : values)
    if (!value.empty())
      BOOST_TEST(outcome_of("metadata", "{\"k\":" + std::string{value} + "}")
                 == (value.starts_with('"') ? good : string));
}

BOOST_AUTO_TEST_CASE(ports_are_checked_for_their_range) {
  for (const auto port : {"1"sv, "65535"sv, R"("8080")"sv, "8080.0"sv, "true"sv, R"("65535.0")"sv})
    BOOST_TEST(outcome_of("http_port", port) == "accepted", port);
  for (const auto port : {"0"sv, "-1"sv, "-65535"sv, "false"sv, R"("0")"sv, "-1e300"sv})
    BOOST_TEST(outcome_of("http_port", port) == "greater_than_equal", port);
  for (const auto port : {"65536"sv, "65537"sv, "4294967297"sv, "18446744073709551617"sv, R"("65536")"sv, "1e300"sv,
                          R"("18446744073709551617")"sv})
    BOOST_TEST(outcome_of("http_port", port) == "less_than_equal", port);
  for (const auto port : {"0"sv, "1"sv, "65535"sv, "false"sv})
    BOOST_TEST(outcome_of("mq_port", port) == "accepted", port);
  BOOST_TEST(outcome_of("mq_port", "-1") == "greater_than_equal");
  BOOST_TEST(outcome_of("mq_port", "65536") == "less_than_equal");
}

BOOST_AUTO_TEST_CASE(addresses_that_lead_nowhere_are_named) {
  for (const auto ip : {R"("0.0.0.0")"sv, R"("::")"sv, R"("[::]")"sv, R"(" 0 ")"sv, R"("::ffff:0.0.0.0")"sv,
                        R"("a b")"sv, R"("http://x")"sv, R"("192.0.2.1:80")"sv, R"("a\u0000")"sv, R"("ä")"sv})
    BOOST_TEST(outcome_of("ip", ip) == "value_error", ip);
  BOOST_TEST(outcome_of("ip", '"' + std::string(300, 'a') + '"') == "value_error");
  for (const auto ip : {R"("")"sv, R"("   ")"sv, R"("\t\n")"sv})
    BOOST_TEST(outcome_of("ip", ip) == "string_too_short", ip);
}

BOOST_AUTO_TEST_CASE(ids_that_cannot_be_used_are_named) {
  BOOST_TEST(outcome_of("instance_id", '"' + std::string(256, 'x') + '"') == "accepted");
  BOOST_TEST(outcome_of("instance_id", "\"  " + std::string(256, 'x') + "  \"") == "accepted");
  BOOST_TEST(outcome_of("instance_id", '"' + std::string(257, 'x') + '"') == "value_error");
  for (const auto id : {R"("a\u0000b")"sv, R"("a\nb")"sv, R"("\u007f")"sv, R"("\u0085x")"sv, R"("\u0000")"sv})
    BOOST_TEST(outcome_of("instance_id", id) == "value_error", id);
  for (const auto id : {R"("a/b")"sv, R"("a%2Fb")"sv, R"("\ud83d\ude00")"sv, R"("a b")"sv})
    BOOST_TEST(outcome_of("instance_id", id) == "accepted", id);
}

BOOST_AUTO_TEST_CASE(every_bad_value_of_the_metadata_is_named) {
  BOOST_TEST(
      refused(body_with("metadata", R"({"a":1,"b":"ok","c":null,"d":{"e":[]}})"))
      == R"({"detail":[{"type":"string_type","loc":["body","metadata","a"],"msg":"Input should be a valid string","input":1},)"
         R"({"type":"string_type","loc":["body","metadata","c"],"msg":"Input should be a valid string","input":null},)"
         R"({"type":"string_type","loc":["body","metadata","d"],"msg":"Input should be a valid string","input":{"e":[]}}]})");
}

BOOST_AUTO_TEST_CASE(metadata_has_at_most_1024_entries) {
  BOOST_TEST(accepted(body_with("metadata", metadata_of(1024, 1))).labels.size() == 1024U);
  const auto body = refused(body_with("metadata", metadata_of(1025, 1)));
  BOOST_TEST(
      body.starts_with(
          R"({"detail":[{"type":"too_long","loc":["body","metadata"],"msg":"Dictionary should have at most 1024 items after validation, not 1025","input":"{\"k10000\":)"),
      body);
  BOOST_TEST(body.ends_with(R"(…","ctx":{"field_type":"Dictionary","max_length":1024,"actual_length":1025}}]})"), body);
}

BOOST_AUTO_TEST_CASE(metadata_has_at_most_64_kibibytes) {
  // 1,024 names of 6 bytes, and values that fill up the rest.
  const auto full = accepted(body_with("metadata", metadata_of(1024, 58)));
  BOOST_REQUIRE_EQUAL(full.labels.size(), 1024U);
  BOOST_TEST(full.labels.back().second.size() == 58U);
  BOOST_TEST(outcome_of("metadata", metadata_of(1024, 59)) == "value_error");
  BOOST_TEST(outcome_of("metadata", R"({"a":")" + std::string(65'535, 'x') + R"("})") == "accepted");
  const auto body = refused(body_with("metadata", R"({"a":")" + std::string(65'536, 'x') + R"("})"));
  BOOST_TEST(body.find(R"("msg":"Value error, names and values have 65537 bytes together, at most 65536 are allowed")")
                 != std::string::npos,
             body);
  BOOST_TEST(outcome_of("metadata", R"({")" + std::string(65'537, 'x') + R"(":""})") == "value_error");
}

BOOST_AUTO_TEST_CASE(metadata_of_8_kibibytes_is_kept_as_it_is) {
  const auto request = accepted(body_with("metadata", metadata_of(100, 80)));
  BOOST_REQUIRE_EQUAL(request.labels.size(), 100U);
  BOOST_TEST(request.labels[99].first == "k10099");
  BOOST_TEST(request.labels[99].second == std::string(80, 'v'));
}

// Case E8.
BOOST_AUTO_TEST_CASE(metadata_with_50_000_names_is_refused_in_time) {
  std::string equal = "{";
  for (int i = 0; i < 50'000; ++i)
    equal += R"("same":"x",)";
  equal.back() = '}';
  for (int i = 0; i < 10; ++i) {
    BOOST_TEST(outcome_of("metadata", metadata_of(50'000, 3)) == "too_long");
    BOOST_TEST(refused(body_with("metadata", equal)).find("A member occurs twice in an object") != std::string::npos);
  }
}

// Case E2; the depth test of the whole body is in schema_json_test.
BOOST_AUTO_TEST_CASE(nesting_inside_of_the_metadata_is_refused) {
  constexpr std::size_t deep = 150'000;
  std::string nested;
  for (std::size_t i = 0; i < deep; ++i)
    nested += "{\"a\":";
  nested += "1" + std::string(deep, '}');
  BOOST_TEST(refused(body_with("metadata", nested)).find("Nested deeper than 64 levels") != std::string::npos);
  BOOST_TEST(outcome_of("metadata", R"({"a":{"a":{"a":1}}})") == "string_type");
}

BOOST_AUTO_TEST_CASE(a_peer_address_has_at_most_1024_bytes) {
  BOOST_TEST(outcome_of("p2p_advertised_url", '"' + std::string(1024, 'x') + '"') == "accepted");
  BOOST_TEST(outcome_of("p2p_advertised_url", "\" " + std::string(1024, 'x') + " \"") == "accepted");
  BOOST_TEST(outcome_of("p2p_advertised_url", '"' + std::string(1025, 'x') + '"') == "string_too_long");
}

BOOST_AUTO_TEST_CASE(all_failing_fields_are_listed_in_the_order_of_the_schema) {
  BOOST_TEST(
      refused(
          R"({"mq_port":70000,"instance_id":5,"http_port":"nope","ip":"  ","p2p_advertised_url":null,"metadata":[1]})")
      == R"({"detail":[)"
         R"({"type":"string_too_short","loc":["body","ip"],"msg":"String should have at least 1 character","input":"  ","ctx":{"min_length":1}},)"
         R"({"type":"int_parsing","loc":["body","http_port"],"msg":"Input should be a valid integer, unable to parse string as an integer","input":"nope"},)"
         R"({"type":"string_type","loc":["body","instance_id"],"msg":"Input should be a valid string","input":5},)"
         R"({"type":"dict_type","loc":["body","metadata"],"msg":"Input should be a valid dictionary","input":[1]},)"
         R"({"type":"string_type","loc":["body","p2p_advertised_url"],"msg":"Input should be a valid string","input":null},)"
         R"({"type":"less_than_equal","loc":["body","mq_port"],"msg":"Input should be less than or equal to 65535","input":70000,"ctx":{"le":65535}})"
         R"(]})");
}

BOOST_AUTO_TEST_CASE(the_body_of_a_422_is_the_one_of_the_contract) {
  const std::pair<std::string_view, std::string_view> table[] = {
      {R"({"instance_id":"x"})",
       R"({"type":"missing","loc":["body","ip"],"msg":"Field required","input":{"instance_id":"x"}},)"
       R"({"type":"missing","loc":["body","http_port"],"msg":"Field required","input":{"instance_id":"x"}})"},
      {"", R"({"type":"missing","loc":["body"],"msg":"Field required","input":null})"},
      {"{", R"({"type":"json_invalid","loc":["body",1],"msg":"JSON decode error","input":{},)"
            R"("ctx":{"error":"Missing a name for object member"}})"},
      {"[]", R"({"type":"model_attributes_type","loc":["body"],)"
             R"("msg":"Input should be a valid dictionary or object to extract fields from","input":[]})"},
      {R"({"ip":"h","http_port":8080.5})",
       R"({"type":"int_from_float","loc":["body","http_port"],)"
       R"("msg":"Input should be a valid integer, got a number with a fractional part","input":8080.5})"},
      {R"({"ip":"h","http_port":null})",
       R"({"type":"int_type","loc":["body","http_port"],"msg":"Input should be a valid integer","input":null})"},
      {R"({"ip":["h"],"http_port":1})",
       R"({"type":"string_type","loc":["body","ip"],"msg":"Input should be a valid string","input":["h"]})"},
      {R"({"ip":"h","http_port":0})",
       R"({"type":"greater_than_equal","loc":["body","http_port"],)"
       R"("msg":"Input should be greater than or equal to 1","input":0,"ctx":{"ge":1}})"},
      {R"({"ip":"h","http_port":65536})",
       R"({"type":"less_than_equal","loc":["body","http_port"],)"
       R"("msg":"Input should be less than or equal to 65535","input":65536,"ctx":{"le":65535}})"},
      {R"({"ip":" 0.0.0.0","http_port":1})",
       R"({"type":"value_error","loc":["body","ip"],"msg":"Value error, a wildcard address means every interface and leads )"
       R"(nowhere from other machines","input":" 0.0.0.0","ctx":{"error":{}}})"},
      {R"({"ip":"h","http_port":1,"instance_id":"a\u0001"})",
       R"({"type":"value_error","loc":["body","instance_id"],"msg":"Value error, an instance id must not contain control )"
       R"(characters","input":"a\u0001","ctx":{"error":{}}})"},
  };
  for (const auto& [body, items] : table)
    BOOST_TEST(refused(body) == R"({"detail":[)" + std::string{items} + "]}");
}

// Cases C22 and E10.
BOOST_AUTO_TEST_CASE(no_start_of_a_body_is_taken_for_the_whole) {
  const auto whole = body_with("instance_id", R"("aä€😀\ud83d\ude00\n")");
  for (std::size_t length = 0; length < whole.size(); ++length)
    BOOST_TEST(std::holds_alternative<violations>(parse_exact(std::string_view{whole}.substr(0, length))));
}

// Case E9.
BOOST_AUTO_TEST_CASE(only_a_byte_order_mark_may_stand_around_a_body) {
  const auto body = body_with("mq_port", "1");
  BOOST_TEST((accepted("\xEF\xBB\xBF" + body) == accepted(body)));
  BOOST_TEST((accepted(" \r\n" + body + "\t ") == accepted(body)));
  for (const auto& text :
       {body + "x", body + body, body + "\0"s, "\0"s + body, body + "//x", "\xFE\xFF" + body, body + ","})
    BOOST_TEST(refused(text).find("json_invalid") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_long_label_name_is_cut_in_the_location) {
  const std::string name(900'000, 'n');
  const auto result = parse<register_request>(R"({"ip":"192.0.2.1","http_port":1,"metadata":{")" + name + R"(":1}})", "");
  const auto& found = std::get<violations>(result);
  BOOST_TEST(to_json(found).size() < 10'000u);
  const auto& last = std::get<std::string>(found.front().loc.back());
  BOOST_TEST(last == std::string(max_location_name, 'n') + "\xE2\x80\xA6");
}

BOOST_AUTO_TEST_SUITE_END()
