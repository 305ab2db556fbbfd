#include "schema/instance.hpp"
#include "schema/service.hpp"
#include "schema/violation.hpp"

#include <boost/test/unit_test.hpp>

#include <string>

using namespace coordinator::schema;
using namespace std::string_literals;

namespace {

const instance host7{"mp-host7", "192.0.2.17", 8081, 1790000000.25, {{"zone", "a"}}, "192.0.2.17:7700", 5600};
const std::string host7_json =
    R"({"instance_id":"mp-host7","ip":"192.0.2.17","http_port":8081,"registration_time":1790000000.25,)"
    R"("metadata":{"zone":"a"},"p2p_advertised_url":"192.0.2.17:7700","mq_port":5600})";

} // namespace

BOOST_AUTO_TEST_SUITE(schema_replies_test)

BOOST_AUTO_TEST_CASE(replies_are_the_bytes_that_existing_servers_compare) {
  BOOST_TEST(to_json(register_reply{"x", false}) == R"({"instance_id":"x","re_registered":false})");
  BOOST_TEST(to_json(register_reply{"x", true}) == R"({"instance_id":"x","re_registered":true})");
  BOOST_TEST(to_json(heartbeat_reply{"mp-host7"}) == R"({"instance_id":"mp-host7"})");
  BOOST_TEST(to_json(unknown_instance_body{"unknown instance mp-host7; re-register"})
             == R"({"error":"unknown instance mp-host7; re-register"})");
  BOOST_TEST(to_json(problem_body{"Not Found"}) == R"({"detail":"Not Found"})");
  BOOST_TEST(to_json(health_reply{}) == R"({"status":"healthy"})");
}

BOOST_AUTO_TEST_CASE(an_instance_shows_its_heartbeat_only_when_asked) {
  BOOST_TEST(to_json(host7) == host7_json);
  auto asked = host7;
  asked.seconds_since_heartbeat = 1.5;
  BOOST_TEST(to_json(asked) == host7_json.substr(0, host7_json.size() - 1) + R"(,"seconds_since_heartbeat":1.5})");
  asked.seconds_since_heartbeat = 0;
  BOOST_TEST(to_json(asked).ends_with(R"(,"seconds_since_heartbeat":0.0})"));
}

BOOST_AUTO_TEST_CASE(an_instance_shows_its_state_only_when_it_is_out_of_the_ordinary) {
  auto drained = host7;
  drained.state = instance_state::draining;
  BOOST_TEST(to_json(drained) == host7_json.substr(0, host7_json.size() - 1) + R"(,"state":"draining"})");
}

BOOST_AUTO_TEST_CASE(readiness_shows_the_guard_only_while_it_is_at_work) {
  readiness_reply reply{"ready", {}};
  BOOST_TEST(to_json(reply) == R"({"status":"ready","late":[]})");
  reply.guard = guard_reply{8, 2, 1, 12.5, "how"};
  BOOST_TEST(
      to_json(reply)
      == R"({"status":"ready","late":[],"guard":{"held_back":8,"alive":2,"evicted":1,"ends_within_seconds":12.5,"how":"how"}})");
}

BOOST_AUTO_TEST_CASE(a_time_of_whole_seconds_is_still_a_fraction) {
  auto at_a_second = host7;
  at_a_second.registration_time = 1790000000;
  BOOST_TEST(to_json(at_a_second).find(R"("registration_time":1790000000.0,)") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(lists_of_replies_are_written_item_by_item) {
  BOOST_TEST(to_json(instance_list{}) == R"({"instances":[],"version":""})");
  BOOST_TEST(to_json(instance_list{{host7}}) == R"({"instances":[)" + host7_json + R"(],"version":""})");
  BOOST_TEST(to_json(instance_list{{host7, host7}, "run-v2", "run-p7"})
             == R"({"instances":[)" + host7_json + "," + host7_json + R"(],"version":"run-v2","next":"run-p7"})");
  BOOST_TEST(to_json(readiness_reply{"ready", {}}) == R"({"status":"ready","late":[]})");
  BOOST_TEST(
      to_json(readiness_reply{"late", {{"registry", 12.5, 5}, {"sweep", 61, 30}}})
      == R"({"status":"late","late":[{"name":"registry","seconds_since_progress":12.5,"limit_seconds":5.0},{"name":"sweep","seconds_since_progress":61.0,"limit_seconds":30.0}]})");
}

BOOST_AUTO_TEST_CASE(appending_leaves_what_is_there_already) {
  std::string out = R"({"instances":[)";
  append_json(out, host7);
  out += ',';
  append_json(out, host7);
  out += R"(],"version":""})";
  BOOST_TEST(out == to_json(instance_list{{host7, host7}}));
}

BOOST_AUTO_TEST_CASE(texts_of_any_kind_leave_a_reply_valid) {
  auto odd = host7;
  odd.instance_id = "a\"b\\c\n\x01ä";
  odd.labels = {{"", "\t"}, {"\"", "\xFF"}};
  BOOST_TEST(to_json(odd).starts_with(R"({"instance_id":"a\"b\\c\n\u0001ä",)"));
  BOOST_TEST(to_json(odd).find("\"metadata\":{\"\":\"\\t\",\"\\\"\":\"\xEF\xBF\xBD\"},") != std::string::npos);
  BOOST_TEST(to_json(problem_body{"no \"such\" \xC3 thing\0"s})
             == "{\"detail\":\"no \\\"such\\\" \xEF\xBF\xBD thing\\u0000\"}");
}

BOOST_AUTO_TEST_CASE(violations_are_written_with_names_and_indexes) {
  BOOST_TEST(to_json(violations{}) == R"({"detail":[]})");
  const violations found = {{"missing", {"query"s, "limit"s}, "Field required", "null", {}},
                            {"enum",
                             {"body"s, "batches"s, std::size_t{0}, "tier"s},
                             "Input should be 'l1' or 'l2'",
                             R"("l\"3")",
                             R"({"expected":"'l1' or 'l2'"})"}};
  BOOST_TEST(
      to_json(found)
      == R"({"detail":[{"type":"missing","loc":["query","limit"],"msg":"Field required","input":null},)"
         R"({"type":"enum","loc":["body","batches",0,"tier"],"msg":"Input should be 'l1' or 'l2'","input":"l\"3","ctx":{"expected":"'l1' or 'l2'"}}]})");
}

BOOST_AUTO_TEST_SUITE_END()
