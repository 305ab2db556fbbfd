#include "harness/service.hpp"
#include "harness/violations.hpp"

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <ostream>
#include <regex>
#include <set>
#include <string>
#include <utility>
#include <vector>

using namespace coordinator::service_test;

namespace {

using strings = std::vector<std::string>;

std::set<std::string> as_set(const strings& items) {
  return {items.begin(), items.end()};
}

struct refused_registration {
  const char* body;
  const char* location;
  const char* type;
};

std::ostream& operator<<(std::ostream& out, const refused_registration& x) {
  return out << x.body;
}

const std::vector<refused_registration> refused_registrations{
    {R"({"http_port":1})", "body.ip", "missing"},
    {R"({"ip":"a"})", "body.http_port", "missing"},
    {R"({"ip":"  ","http_port":1})", "body.ip", "string_too_short"},
    {R"({"ip":7,"http_port":1})", "body.ip", "string_type"},
    {R"({"ip":null,"http_port":1})", "body.ip", "string_type"},
    {R"({"ip":"a","http_port":0})", "body.http_port", "greater_than_equal"},
    {R"({"ip":"a","http_port":-1})", "body.http_port", "greater_than_equal"},
    {R"({"ip":"a","http_port":65536})", "body.http_port", "less_than_equal"},
    {R"({"ip":"a","http_port":"nope"})", "body.http_port", "int_parsing"},
    {R"({"ip":"a","http_port":1.5})", "body.http_port", "int_from_float"},
    {R"({"ip":"a","http_port":null})", "body.http_port", "int_type"},
    {R"({"ip":"a","http_port":[1]})", "body.http_port", "int_type"},
    {R"({"ip":"a","http_port":1,"mq_port":-1})", "body.mq_port", "greater_than_equal"},
    {R"({"ip":"a","http_port":1,"mq_port":65536})", "body.mq_port", "less_than_equal"},
    {R"({"ip":"a","http_port":1,"metadata":{"a":1}})", "body.metadata.a", "string_type"},
    {R"({"ip":"a","http_port":1,"metadata":[]})", "body.metadata", "dict_type"},
    {R"({"ip":"a","http_port":1,"metadata":null})", "body.metadata", "dict_type"},
    {R"({"ip":"a","http_port":1,"instance_id":5})", "body.instance_id", "string_type"},
    {R"({"ip":"a","http_port":1,"p2p_advertised_url":{}})", "body.p2p_advertised_url", "string_type"},
};

} // namespace

// `POST /instances`: who joins, who is refused and how that is told, what is replaced.
BOOST_FIXTURE_TEST_SUITE(registration_api, service)

// ---- registration

BOOST_AUTO_TEST_CASE(a_first_registration_is_answered_with_its_id_and_that_it_is_new) {
  const auto reply = api.post("/instances", R"({"instance_id":"mp-host7","ip":"192.0.2.17","http_port":8081})");
  BOOST_TEST(reply.status == 200);
  BOOST_TEST(reply.header_text("Content-Type") == "application/json");
  BOOST_TEST(reply.body == R"({"instance_id":"mp-host7","re_registered":false})");
}

BOOST_AUTO_TEST_CASE(a_registration_tells_its_lease_and_its_tag_in_headers) {
  const auto reply = register_instance(api, "a");
  BOOST_TEST(reply.header_text("Instance-Timeout") == "30");
  const auto tag = reply.header_text("ETag");
  BOOST_TEST(tag.size() > 2u);
  BOOST_TEST(tag.front() == '"');
  BOOST_TEST(tag.back() == '"');
}

BOOST_AUTO_TEST_CASE(a_lease_that_is_no_whole_number_of_seconds_is_told_exactly) {
  service other{{"--instance-timeout", "2.5"}};
  BOOST_TEST(register_instance(other.api, "a").header_text("Instance-Timeout") == "2.5");
}

BOOST_AUTO_TEST_CASE(a_second_registration_of_an_id_is_told_so_and_gets_another_tag) {
  const auto first = register_instance(api, "a");
  const auto second = register_instance(api, "a");
  BOOST_TEST(second.status == 200);
  BOOST_TEST(second.body == R"({"instance_id":"a","re_registered":true})");
  BOOST_TEST(second.header_text("ETag") != first.header_text("ETag"));
}

BOOST_AUTO_TEST_CASE(an_absent_empty_or_blank_id_is_replaced_by_a_generated_one) {
  const std::regex pattern{"mp-[0-9a-f]{32}"};
  std::set<std::string> generated;
  for (const char* body :
       {R"({"ip":"192.0.2.1","http_port":1})", R"({"ip":"192.0.2.1","http_port":1,"instance_id":""})",
        R"({"ip":"192.0.2.1","http_port":1,"instance_id":" \t\n "})"}) {
    const auto reply = api.post("/instances", body);
    BOOST_TEST(reply.status == 200);
    const auto id = reply.body_json()["instance_id"].text();
    BOOST_TEST(std::regex_match(id, pattern), id);
    BOOST_TEST(reply.body_json()["re_registered"].boolean() == false);
    generated.insert(id);
  }
  BOOST_TEST(generated.size() == 3u);
  BOOST_TEST(as_set(listed_ids(api)) == generated, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(white_space_around_id_ip_and_url_is_stripped) {
  const auto reply = api.post(
      "/instances",
      R"({"instance_id":"\t x \n","ip":"  192.0.2.5 ","http_port":80,"p2p_advertised_url":" 192.0.2.5:7700 "})");
  BOOST_TEST(reply.body == R"({"instance_id":"x","re_registered":false})");
  const auto row = listed_row(api, "x");
  BOOST_TEST(row["ip"].text() == "192.0.2.5");
  BOOST_TEST(row["p2p_advertised_url"].text() == "192.0.2.5:7700");
}

BOOST_AUTO_TEST_CASE(unknown_members_of_a_registration_are_ignored) {
  const auto reply =
      api.post("/instances", R"({"instance_id":"a","ip":"192.0.2.1","http_port":80,"future":{"x":[1,null]}})");
  BOOST_TEST(reply.status == 200);
  BOOST_TEST(!listed_row(api, "a").has("future"));
}

BOOST_AUTO_TEST_CASE(numbers_are_read_leniently_where_their_value_is_certain) {
  for (const char* port : {"8080", "\"8080\"", "8080.0", "\" 8080 \"", "8.08e3"}) {
    const auto reply =
        api.post("/instances", fmt::format(R"({{"instance_id":"a","ip":"192.0.2.1","http_port":{}}})", port));
    BOOST_TEST(reply.status == 200, port << " got " << reply);
    BOOST_TEST(listed_row(api, "a")["http_port"].integer() == 8080);
  }
  BOOST_TEST(api.post("/instances", R"({"instance_id":"b","ip":"192.0.2.1","http_port":true})").status == 200);
  BOOST_TEST(listed_row(api, "b")["http_port"].integer() == 1);
}

BOOST_AUTO_TEST_CASE(ports_within_their_bounds_are_accepted) {
  for (const auto& [http_port, mq_port] : std::vector<std::pair<int, int>>{{1, 0}, {65535, 65535}, {8080, 1}}) {
    const auto reply =
        api.post("/instances", fmt::format(R"({{"instance_id":"a","ip":"192.0.2.1","http_port":{},"mq_port":{}}})",
                                           http_port, mq_port));
    BOOST_TEST(reply.status == 200, reply);
    BOOST_TEST(listed_row(api, "a")["http_port"].integer() == http_port);
    BOOST_TEST(listed_row(api, "a")["mq_port"].integer() == mq_port);
  }
}

BOOST_AUTO_TEST_CASE(addresses_that_others_can_reach_are_accepted) {
  const std::vector<std::pair<std::string, std::string>> sent_and_stored{
      {"192.0.2.7", "192.0.2.7"},     {"2001:db8::7", "2001:db8::7"},   {"[2001:db8::7]", "2001:db8::7"},
      {"localhost", "localhost"},     {"127.0.0.1", "127.0.0.1"},       {"cache-7.example.com", "cache-7.example.com"},
      {"mp_server-0", "mp_server-0"}, {"fe80::1%eth0", "fe80::1%eth0"},
  };
  for (const auto& [sent, stored] : sent_and_stored) {
    const auto reply = register_instance(api, {.instance_id = "a", .ip = sent});
    BOOST_TEST(reply.status == 200, sent << " got " << reply);
    BOOST_TEST(listed_row(api, "a")["ip"].text() == stored);
  }
}

BOOST_AUTO_TEST_CASE(addresses_that_lead_nowhere_are_refused_by_name_of_the_field) {
  for (const std::string ip : {"", "   ", "0.0.0.0", "::", "[::]", "0:0:0:0:0:0:0:0", "a b", "http://192.0.2.1",
                               "192.0.2.1:8080", "192.0.2.1/24", "a\tb"}) {
    const auto reply = register_instance(api, {.instance_id = "a", .ip = ip});
    BOOST_TEST(reply.status == 422, "'" << ip << "' got " << reply);
    BOOST_TEST(locations(reply) == std::set<std::string>{"body.ip"}, boost::test_tools::per_element());
  }
  BOOST_TEST(register_instance(api, {.instance_id = "a", .ip = std::string(300, 'x')}).status == 422);
  BOOST_TEST(listed_ids(api).empty());
}

BOOST_AUTO_TEST_CASE(two_ids_at_one_address_both_stay_and_a_warning_names_both) {
  register_instance(api, {.instance_id = "older-one", .ip = "192.0.2.7"});
  register_instance(api, {.instance_id = "newer-one", .ip = "192.0.2.7"});
  BOOST_TEST(listed_ids(api) == (strings{"older-one", "newer-one"}), boost::test_tools::per_element());
  const auto warns_of_both = [&] {
    const auto lines = lines_of(process.output());
    return std::any_of(lines.begin(), lines.end(), [](const auto& line) {
      return line.find("warning") != std::string::npos && line.find("older-one") != std::string::npos
             && line.find("newer-one") != std::string::npos;
    });
  };
  BOOST_TEST(eventually(2s, warns_of_both));
}

// ---- what is refused

BOOST_DATA_TEST_CASE(a_broken_registration_names_its_field_and_rule,
                     boost::unit_test::data::make(refused_registrations)) {
  const auto reply = api.post("/instances", sample.body);
  BOOST_TEST(reply.status == 422, reply);
  BOOST_TEST(reply.header_text("Content-Type") == "application/json");
  BOOST_TEST(locations(reply) == std::set<std::string>{sample.location}, boost::test_tools::per_element());
  const auto violation = only_violation(reply);
  BOOST_TEST(violation["type"].text() == sample.type);
  BOOST_TEST(!violation["msg"].text().empty());
  BOOST_TEST(violation.has("input"));
  BOOST_TEST(!violation.has("url"));
  BOOST_TEST(listed_ids(api).empty());
}

BOOST_AUTO_TEST_CASE(every_failing_field_of_a_registration_is_listed) {
  const auto reply = api.post(
      "/instances", R"({"http_port":"x","mq_port":-1,"metadata":{"a":1,"b":"fine","c":[]},"instance_id":null})");
  BOOST_TEST(reply.status == 422);
  const std::set<std::string> all{"body.ip",         "body.http_port",  "body.mq_port",
                                  "body.metadata.a", "body.metadata.c", "body.instance_id"};
  BOOST_TEST(locations(reply) == all, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_violated_bound_is_told_in_the_context) {
  const auto low = only_violation(api.post("/instances", R"({"ip":"a","http_port":0})"));
  BOOST_TEST(low["ctx"]["ge"].integer() == 1);
  BOOST_TEST(low["msg"].text() == "Input should be greater than or equal to 1");
  BOOST_TEST(low["input"].integer() == 0);
  const auto high = only_violation(api.post("/instances", R"({"ip":"a","http_port":70000})"));
  BOOST_TEST(high["ctx"]["le"].integer() == 65535);
  BOOST_TEST(high["msg"].text() == "Input should be less than or equal to 65535");
  const auto blank = only_violation(api.post("/instances", R"({"ip":"","http_port":1})"));
  BOOST_TEST(blank["ctx"]["min_length"].integer() == 1);
  BOOST_TEST(blank["msg"].text() == "String should have at least 1 character");
}

BOOST_AUTO_TEST_CASE(a_missing_field_shows_the_object_that_lacks_it) {
  const auto violation = only_violation(api.post("/instances", R"({"http_port":1,"instance_id":"x"})"));
  BOOST_TEST(violation["msg"].text() == "Field required");
  BOOST_TEST(violation["input"] == json::parse(R"({"http_port":1,"instance_id":"x"})"));
}

BOOST_AUTO_TEST_CASE(a_registration_without_a_body_is_refused) {
  const auto reply = api.post("/instances", "");
  BOOST_TEST(reply.status == 422);
  const auto violation = only_violation(reply);
  BOOST_TEST(violation["type"].text() == "missing");
  BOOST_TEST(locations(reply) == std::set<std::string>{"body"}, boost::test_tools::per_element());
  BOOST_TEST(violation["input"].dump() == "null");
}

BOOST_AUTO_TEST_CASE(only_json_content_types_are_read) {
  const registration one{.instance_id = "a"};
  for (const char* accepted :
       {"application/json", "application/json; charset=utf-8", "Application/JSON", "application/vnd.fleet+json"})
    BOOST_TEST(api.post("/instances", to_json(one), {{"Content-Type", accepted}}).status == 200, accepted);
  for (const char* refused :
       {"text/plain", "application/x-www-form-urlencoded", "application/jsonp", "multipart/form-data; boundary=x"})
    BOOST_TEST(api.post("/instances", to_json(one), {{"Content-Type", refused}}).status == 422, refused);
}

BOOST_AUTO_TEST_CASE(a_body_without_a_content_type_is_read_as_json) {
  connection raw{port()};
  const auto body = to_json({.instance_id = "a"});
  raw.send(fmt::format("POST /instances HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n{}", body.size(), body));
  BOOST_TEST(raw.read_response().status == 200);
  BOOST_TEST(is_listed(api, "a"));
}

BOOST_AUTO_TEST_CASE(ids_have_a_longest_length_and_hold_no_control_characters) {
  BOOST_TEST(register_instance(api, std::string(256, 'x')).status == 200);
  for (const auto& id : strings{std::string(257, 'x'), std::string(1, '\0') + "a", "a\nb",
                                "a\x7f"
                                "b",
                                "a\u0085b"}) {
    const auto reply = register_instance(api, id);
    BOOST_TEST(reply.status == 422, reply);
    BOOST_TEST(locations(reply) == std::set<std::string>{"body.instance_id"}, boost::test_tools::per_element());
  }
  // The bound is on bytes: 128 letters of two bytes fit, 129 do not.
  std::string wide;
  for (int i = 0; i < 128; ++i)
    wide += "\u00fc";
  BOOST_TEST(register_instance(api, wide).status == 200);
  BOOST_TEST(register_instance(api, wide + "\u00fc").status == 422);
}

// ---- replacement

BOOST_AUTO_TEST_CASE(a_re_registration_replaces_everything_and_keeps_its_place) {
  register_instance(api, "first");
  api.post("/instances", R"({"instance_id":"s","ip":"192.0.2.1","http_port":8001,"metadata":{"a":"1","b":"2"},)"
                         R"("p2p_advertised_url":"192.0.2.1:7700","mq_port":5600})");
  register_instance(api, "last");
  const auto before = listed_row(api, "s");
  const auto reply =
      api.post("/instances", R"({"instance_id":"s","ip":"192.0.2.2","http_port":8002,"metadata":{"c":"3"}})");
  BOOST_TEST(reply.body_json()["re_registered"].boolean() == true);
  const auto after = listed_row(api, "s");
  BOOST_TEST(after["ip"].text() == "192.0.2.2");
  BOOST_TEST(after["http_port"].integer() == 8002);
  BOOST_TEST(after["metadata"] == json::parse(R"({"c":"3"})"));
  BOOST_TEST(after["p2p_advertised_url"].text().empty());
  BOOST_TEST(after["mq_port"].integer() == 0);
  BOOST_TEST(after["registration_time"].number() > before["registration_time"].number());
  BOOST_TEST(listed_ids(api) == (strings{"first", "s", "last"}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_refused_re_registration_changes_nothing) {
  register_instance(api, {.instance_id = "s", .metadata = {{"a", "1"}}});
  const auto before = api.get("/instances").body;
  BOOST_TEST(api.post("/instances", R"({"instance_id":"s","ip":"192.0.2.9","http_port":0})").status == 422);
  BOOST_TEST(api.get("/instances").body == before);
}

BOOST_AUTO_TEST_CASE(an_id_that_left_and_returns_goes_to_the_end_of_the_list) {
  for (const char* id : {"a", "b", "c"})
    register_instance(api, id);
  api.del(instance_path("a"));
  BOOST_TEST(register_instance(api, "a").body_json()["re_registered"].boolean() == false);
  BOOST_TEST(listed_ids(api) == (strings{"b", "c", "a"}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()
