#include "harness/service.hpp"
#include "harness/violations.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

using namespace coordinator::service_test;

namespace {

using strings = std::vector<std::string>;

/// Values of every type and at the edges of the integer types that a careless reader would use.
const strings odd_values{
    "null",  "true", "\"\"", "\"x\"", "1.5", "-1", "2147483648", "4294967296", "9223372036854775808",
    "1e308", "[]",   "{}"};

/// The members of a registration and which of the odd values each accepts.
const std::map<std::string, std::set<std::string>> accepted_values{
    {"ip", {"\"x\""}},
    {"http_port", {"true"}}, // counts as 1
    {"instance_id", {"\"\"", "\"x\""}},
    {"metadata", {"{}"}},
    {"p2p_advertised_url", {"\"\"", "\"x\""}},
    {"mq_port", {"true"}},
};

/// A good registration in which one member has that value.
std::string with_member(const std::string& name, const std::string& value) {
  std::map<std::string, std::string> members{{"ip", "\"192.0.2.1\""}, {"http_port", "8080"}};
  members[name] = value;
  std::string result;
  for (const auto& [key, text] : members)
    result += fmt::format("{}\"{}\":{}", result.empty() ? "{" : ",", key, text);
  return result + "}";
}

std::string nested(std::size_t depth, char open, char close) {
  return std::string(depth, open) + std::string(depth, close);
}

/// Objects in objects: `{"a":{"a":…}}`.
std::string nested_objects(std::size_t depth) {
  std::string result;
  for (std::size_t i = 0; i < depth; ++i)
    result += R"({"a":)";
  return result + "1" + std::string(depth, '}');
}

const std::string good = R"({"instance_id":"good","ip":"192.0.2.1","http_port":8080})";

/// A fleet that must be the same before and after whatever a test sends.
struct unmoved_fleet : service {
  explicit unmoved_fleet(const coordinator_options& options = {}) : service{options} {
    register_instance(api, {.instance_id = "bystander", .ip = "192.0.2.200", .metadata = {{"zone", "a"}}});
    before_ = rows_in(api.get("/instances"));
  }
  ~unmoved_fleet() {
    BOOST_TEST(rows_in(api.get("/instances")) == before_);
    BOOST_TEST(is_alive(port()));
  }

  /// Posts a body that is to be refused; the connection has to survive that, so all go over the same one.
  response refused(std::string_view body, const std::string& what) {
    const auto reply = body.empty() ? api.post("/instances", body, {{"Content-Type", "application/json"}})
                                    : api.post("/instances", body);
    BOOST_TEST((reply.status == 422 || reply.status == 400), what << " got " << reply);
    BOOST_TEST(!reply.closes(), what << " got " << reply);
    return reply;
  }

private:
  std::string before_;
};

struct one_mebibyte_stacks : unmoved_fleet {
  static coordinator_options options() {
    coordinator_options result;
    result.stack_limit = 1024 * 1024;
    return result;
  }
  one_mebibyte_stacks() : unmoved_fleet{options()} {}
};

} // namespace

// Whatever is sent as a body is read or refused; it is never a 500, never the end of a connection, an actor or the
// process.
BOOST_AUTO_TEST_SUITE(json_bodies)

BOOST_FIXTURE_TEST_CASE(every_member_accepts_or_refuses_every_odd_value_by_its_name, unmoved_fleet) {
  for (const auto& [name, accepted] : accepted_values) {
    for (const auto& value : odd_values) {
      BOOST_TEST_CONTEXT(name << ": " << value) {
        const auto body = with_member(name, value);
        if (accepted.contains(value)) {
          const auto reply = api.post("/instances", body);
          BOOST_TEST(reply.status == 200, reply);
          api.del(instance_path(reply.body_json()["instance_id"].text()));
        } else {
          const auto reply = refused(body, name);
          BOOST_TEST(locations(reply) == std::set<std::string>{"body." + name}, boost::test_tools::per_element());
        }
      }
    }
    BOOST_TEST(is_alive(port()));
  }
}

BOOST_FIXTURE_TEST_CASE(every_odd_value_but_a_string_is_refused_as_a_label, unmoved_fleet) {
  for (const auto& value : odd_values) {
    if (value.front() == '"')
      continue;
    const auto reply = refused(with_member("metadata", fmt::format(R"({{"fine":"x","k":{}}})", value)), value);
    BOOST_TEST(locations(reply) == std::set<std::string>{"body.metadata.k"}, boost::test_tools::per_element());
  }
}

BOOST_FIXTURE_TEST_CASE(a_body_that_is_no_object_is_refused_as_a_whole, unmoved_fleet) {
  for (const std::string body : {"[]", "[{}]", "\"x\"", "1", "-1.5e3", "null", "true", "", " ", "\r\n\t "}) {
    const auto reply = refused(body, "'" + body + "'");
    for (const auto& location : locations(reply))
      BOOST_TEST(location.starts_with("body"));
  }
}

BOOST_FIXTURE_TEST_CASE(numbers_beyond_every_type_are_refused_and_odd_spellings_are_read_by_value, unmoved_fleet) {
  for (const char* number :
       {"1e400", "-1e400", "123456789012345678901234567890", "-9223372036854775809", "18446744073709551616", "1E5",
        "65536.0", "0.0", "-0", "1e-400", "\"99999999999999999999\"", "\"1e3\"", "\"0x10\"", "\"\\u0000\""})
    refused(with_member("http_port", number), number);
  for (const char* number : {"0.1e1", "1e0", "10e-1", "65535.000", "6.5535E+4", "\"+7\"", "\"007\""}) {
    const auto reply = api.post("/instances", with_member("http_port", number));
    BOOST_TEST(reply.status == 200, number << " got " << reply);
    if (reply.status == 200)
      api.del(instance_path(reply.body_json()["instance_id"].text()));
  }
}

BOOST_FIXTURE_TEST_CASE(what_is_almost_json_is_refused, unmoved_fleet) {
  const strings bodies{
      good + "x",
      good + good,
      good + ",",
      good + std::string{"\0", 1},
      good + std::string{"\0garbage", 8},
      good.substr(0, good.size() - 1),
      good.substr(0, good.size() - 1) + ",}",
      "'" + good + "'",
      R"({'ip':'192.0.2.1','http_port':8080})",
      R"({ip:"192.0.2.1",http_port:8080})",
      R"({"ip":"192.0.2.1","http_port":08080})",
      R"({"ip":"192.0.2.1","http_port":+8080})",
      R"({"ip":"192.0.2.1","http_port":8080.})",
      R"({"ip":"192.0.2.1","http_port":.8e4})",
      R"({"ip":"192.0.2.1","http_port":0x1f})",
      R"({"ip":"192.0.2.1","http_port":NaN})",
      R"({"ip":"192.0.2.1","http_port":Infinity})",
      R"({"ip":"192.0.2.1","http_port":-Infinity})",
      R"({"ip":"192.0.2.1","http_port":8080,"future":NaN})",
      R"({"ip":"192.0.2.1","http_port":True})",
      R"({"ip":"192.0.2.1" "http_port":8080})",
      R"({"ip":"192.0.2.1","http_port":8080 /* a comment */})",
      "// a comment\n" + good,
      "{\"ip\":\"192.0.2.1\n\",\"http_port\":8080}",
      "{\"ip\":\"192.0.2.1\t\",\"http_port\":8080}",
      R"({"ip":"\x41","http_port":8080})",
      "\xEF\xBB\xBF\xEF\xBB\xBF" + good,
      "\xEF\xBB" + good,
  };
  for (const auto& body : bodies)
    refused(body, body);
}

BOOST_FIXTURE_TEST_CASE(other_encodings_than_utf_8_are_refused, unmoved_fleet) {
  std::string little;
  std::string big;
  for (const char c : good) {
    little += {c, '\0'};
    big += {'\0', c};
  }
  refused(little, "UTF-16, little-endian");
  refused(big, "UTF-16, big-endian");
  refused("\xFF\xFE" + little, "UTF-16 with a byte order mark");
  for (const std::string text : {"\xFF", "\xC3", "\xC3(", "\xE2\x82", "\xF0\x9F\x98", "\x80", "\xC0\xAF",
                                 "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xF8\x88\x80\x80\x80"}) {
    refused(with_member("p2p_advertised_url", "\"" + text + "\""), "broken UTF-8 in a text");
    refused(with_member("metadata", "{\"" + text + "\":\"x\"}"), "broken UTF-8 in a label");
    refused(with_member("future", "\"" + text + "\""), "broken UTF-8 in an unknown member");
  }
}

BOOST_FIXTURE_TEST_CASE(half_a_surrogate_pair_is_refused, unmoved_fleet) {
  for (const char* escape : {R"(\ud800)", R"(\udc00)", R"(\ud800x)", R"(\udc00\ud800)", R"(\ud800\u0041)"}) {
    refused(with_member("instance_id", fmt::format("\"{}\"", escape)), escape);
    refused(with_member("metadata", fmt::format("{{\"k\":\"{}\"}}", escape)), escape);
  }
  const auto reply = api.post("/instances", with_member("instance_id", R"("\ud83d\ude00")"));
  BOOST_TEST(reply.body_json()["instance_id"].text() == "\U0001f600");
  api.del(instance_path("\U0001f600"));
}

BOOST_FIXTURE_TEST_CASE(a_body_cut_within_a_character_or_an_escape_is_refused, unmoved_fleet) {
  const std::string start = R"({"ip":"192.0.2.1","http_port":8080,"instance_id":")";
  for (const std::string end : {"\xC3", "\xE2", "\xE2\x82", "\xF0", "\xF0\x9F", "\xF0\x9F\x98", "\\", "\\u", "\\u1",
                                "\\u12", "\\u123", "\\ud83d", "\\ud83d\\", "\\ud83d\\u", "\\ud83d\\ude"})
    refused(start + end, "cut after " + end);
}

BOOST_FIXTURE_TEST_CASE(a_byte_order_mark_is_skipped_and_the_body_has_full_effect, service) {
  const auto reply = api.post("/instances", "\xEF\xBB\xBF" + good);
  BOOST_TEST(reply.status == 200, reply);
  BOOST_TEST(listed_row(api, "good")["http_port"].integer() == 8080);
}

BOOST_FIXTURE_TEST_CASE(members_that_occur_twice_are_refused, unmoved_fleet) {
  for (const char* body : {R"({"ip":"192.0.2.1","ip":"192.0.2.2","http_port":8080})",
                           R"({"ip":"192.0.2.1","http_port":8080,"metadata":{"a":"1","a":"2"}})",
                           R"({"ip":"192.0.2.1","http_port":8080,"\u0069p":"192.0.2.2"})",
                           R"({"ip":"192.0.2.1","http_port":8080,"future":1,"future":2})",
                           R"({"ip":"192.0.2.1","http_port":8080,"future":{"a":1,"a":2}})"})
    refused(body, body);
}

BOOST_FIXTURE_TEST_CASE(nesting_is_read_up_to_a_depth_and_refused_beyond, unmoved_fleet) {
  for (const auto& value : {nested(60, '[', ']'), nested_objects(60)}) {
    const auto reply = api.post("/instances", with_member("future", value));
    BOOST_TEST(reply.status == 200, reply);
    api.del(instance_path(reply.body_json()["instance_id"].text()));
  }
  refused(with_member("future", nested(70, '[', ']')), "70 arrays");
  refused(with_member("future", nested_objects(70)), "70 objects");
}

BOOST_FIXTURE_TEST_CASE(nesting_as_deep_as_a_body_can_hold_harms_nobody, one_mebibyte_stacks) {
  constexpr std::size_t room = 1024 * 1024 - 200;
  const strings bodies{std::string(room, '['),
                       std::string(room, '{'),
                       nested(room / 2, '[', ']'),
                       nested_objects(room / 6),
                       with_member("metadata", nested_objects(room / 6)),
                       with_member("metadata", nested(room / 2, '[', ']')),
                       with_member("metadata", R"({"a":)" + nested(room / 2, '[', ']') + "}"),
                       with_member("future", nested(room / 2, '[', ']')),
                       with_member("ip", nested(room / 2, '[', ']'))};
  for (const auto& body : bodies) {
    const auto start = monotonic_clock::now();
    refused(body, body.substr(0, 80));
    BOOST_TEST(seconds_since(start) < 1 * leniency);
  }
}

BOOST_FIXTURE_TEST_CASE(many_members_are_read_or_refused_quickly_and_delay_nobody, unmoved_fleet) {
  std::string distinct = "{";
  std::string equal = "{";
  std::string wrong = "{";
  for (int i = 0; i < 50000; ++i) {
    distinct += fmt::format("{}\"k{}\":\"\"", i == 0 ? "" : ",", i);
    equal += fmt::format("{}\"k\":\"\"", i == 0 ? "" : ",");
    wrong += fmt::format("{}\"k{}\":0", i == 0 ? "" : ",", i);
  }
  for (const auto& labels : {distinct + "}", equal + "}", wrong + "}"}) {
    const auto request = render_request("POST", "/instances", with_member("metadata", labels));
    std::vector<connection> senders;
    for (int i = 0; i < 10; ++i)
      senders.emplace_back(port());
    std::thread sending{[&] {
      for (auto& sender : senders)
        sender.try_send(request);
    }};
    const auto start = monotonic_clock::now();
    double slowest = 0;
    for (int i = 0; i < 20; ++i) {
      const auto asked = monotonic_clock::now();
      BOOST_TEST(heartbeat(api, "bystander").status == 200);
      slowest = std::max(slowest, seconds_since(asked));
    }
    sending.join();
    for (auto& sender : senders) {
      const auto reply = sender.read_response();
      BOOST_TEST((reply.status == 200 || reply.status == 422), reply);
      if (reply.status == 200)
        api.del(instance_path(reply.body_json()["instance_id"].text()));
    }
    BOOST_TEST(seconds_since(start) < 10 * leniency); // ten at once, of which each has a second
    BOOST_TEST(slowest < 1 * leniency);
  }
}

BOOST_FIXTURE_TEST_CASE(a_refusal_is_of_bounded_size_whatever_is_wrong, unmoved_fleet) {
  std::string labels = "{";
  for (int i = 0; i < 50000; ++i)
    labels += fmt::format("{}\"k{}\":0", i == 0 ? "" : ",", i);
  const auto many = refused(with_member("metadata", labels + "}"), "50,000 wrong labels");
  BOOST_TEST(many.body_json()["detail"].size() <= 101u);
  BOOST_TEST(many.body.size() < 200000u);
  const auto large =
      refused(with_member("http_port", "\"" + std::string(900000, 'x') + "\""), "a long text for a number");
  BOOST_TEST(large.body.size() < 10000u);
  BOOST_TEST(locations(large) == std::set<std::string>{"body.http_port"}, boost::test_tools::per_element());
  const auto missing =
      refused(R"({"http_port":1,"future":")" + std::string(900000, 'x') + "\"}", "a missing member of a long body");
  BOOST_TEST(missing.body.size() < 10000u);
}

BOOST_FIXTURE_TEST_CASE(odd_bodies_and_queries_elsewhere_are_no_errors_of_ours, unmoved_fleet) {
  for (const std::string body : {"{", "[[[[", "\xFF\xFE", "null"}) {
    BOOST_TEST(api.send("PUT", heartbeat_path("bystander"), body).status == 200);
    BOOST_TEST(api.send("DELETE", instance_path("stranger"), body).status == 204);
    BOOST_TEST(api.send("GET", "/healthz", body).status == 200);
  }
  for (const char* query :
       {"?", "?=", "?&&&", "?heartbeats", "?heartbeats=", "?heartbeats=1", "?heartbeats=perhaps", "?heartbeats=%zz",
        "?heartbeats=%FF", "?a=b=c", "?heartbeats=true&heartbeats=false", "?%00"})
    BOOST_TEST(api.get(std::string{"/instances"} + query).status < 500, query);
}

BOOST_AUTO_TEST_SUITE_END()
