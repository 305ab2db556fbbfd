#include "harness/service.hpp"
#include "harness/violations.hpp"

#include <fmt/format.h>

#include <signal.h>

#include <cmath>
#include <ctime>
#include <memory>
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

} // namespace

// What members do after they have joined, and what others see of them.
BOOST_FIXTURE_TEST_SUITE(membership_api, service)

// ---- heartbeat

BOOST_AUTO_TEST_CASE(a_heartbeat_of_a_member_is_answered_with_its_id) {
  register_instance(api, "mp-host7");
  const auto reply = heartbeat(api, "mp-host7");
  BOOST_TEST(reply.status == 200);
  BOOST_TEST(reply.header_text("Content-Type") == "application/json");
  BOOST_TEST(reply.body == R"({"instance_id":"mp-host7"})");
}

BOOST_AUTO_TEST_CASE(a_heartbeat_needs_no_body_and_ignores_one) {
  register_instance(api, "a");
  BOOST_TEST(api.send("PUT", heartbeat_path("a"), "not json", {{"Content-Type", "text/plain"}}).status == 200);
  BOOST_TEST(api.send("PUT", heartbeat_path("a"), "{}").status == 200);
  connection raw{port()};
  raw.send("PUT /instances/a/heartbeat HTTP/1.1\r\nHost: x\r\n\r\n"); // not even a length
  BOOST_TEST(raw.read_response().status == 200);
}

BOOST_AUTO_TEST_CASE(a_heartbeat_of_a_stranger_tells_it_to_register) {
  const auto reply = heartbeat(api, "mp-host7");
  BOOST_TEST(reply.status == 404);
  BOOST_TEST(reply.header_text("Content-Type") == "application/json");
  BOOST_TEST(reply.body == R"({"error":"unknown instance mp-host7; re-register"})");
  BOOST_TEST(listed_ids(api).empty());
}

BOOST_AUTO_TEST_CASE(any_id_of_a_stranger_is_shown_as_valid_json) {
  for (const std::string id : {"a\"b", "a\\b", "<script>", "\u00fc\u4e2d\U0001f600"}) {
    const auto reply = heartbeat(api, id);
    BOOST_TEST(reply.status == 404);
    BOOST_TEST(reply.body_json()["error"].text() == "unknown instance " + id + "; re-register");
  }
}

BOOST_AUTO_TEST_CASE(an_id_in_the_path_that_nobody_can_have_is_refused_by_name) {
  for (const char* target : {"/instances/a%0Ab/heartbeat", "/instances/%FF%FE/heartbeat", "/instances/%00/heartbeat"}) {
    const auto reply = api.put(target);
    BOOST_TEST(reply.status == 422, target << " got " << reply);
    BOOST_TEST(locations(reply) == std::set<std::string>{"path.instance_id"}, boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE(a_heartbeat_without_an_identity_renews_and_creates_nothing) {
  register_instance(api, "a");
  const auto before = api.get("/instances").body;
  for (const char* target :
       {"/instances//heartbeat", "/instances/%20/heartbeat", "/instances/heartbeat", "//heartbeat"}) {
    const auto reply = api.put(target);
    BOOST_TEST((reply.status == 404 || reply.status == 405), target << " got " << reply);
    BOOST_TEST(reply.body_json().is_object());
  }
  BOOST_TEST(api.get("/instances").body == before);
}

// ---- leaving

BOOST_AUTO_TEST_CASE(a_delete_is_answered_alike_whether_or_not_there_was_anything_to_delete) {
  register_instance(api, "a");
  for (int round = 0; round < 2; ++round) {
    const auto reply = api.del(instance_path("a"));
    BOOST_TEST(reply.status == 204);
    BOOST_TEST(!reply.header("Content-Length").has_value());
    BOOST_TEST(!reply.header("Content-Type").has_value());
    BOOST_TEST(!reply.closes());
    BOOST_TEST(!is_listed(api, "a"));
  }
  BOOST_TEST(api.del(instance_path("never-seen")).status == 204);
  BOOST_TEST(heartbeat(api, "a").status == 404);
}

BOOST_AUTO_TEST_CASE(a_late_delete_of_an_earlier_life_changes_nothing) {
  const auto earlier = register_instance(api, {.instance_id = "s", .ip = "192.0.2.1"}).header_text("ETag");
  const auto present = register_instance(api, {.instance_id = "s", .ip = "192.0.2.2"}).header_text("ETag");
  const auto before = api.get("/instances").body;
  const auto late = api.del(instance_path("s"), {{"If-Match", earlier}});
  BOOST_TEST(late.status == 412);
  BOOST_TEST(!late.body_json()["detail"].text().empty());
  BOOST_TEST(api.get("/instances").body == before);
  BOOST_TEST(heartbeat(api, "s").status == 200);
  BOOST_TEST(api.del(instance_path("s"), {{"If-Match", present}}).status == 204);
  BOOST_TEST(!is_listed(api, "s"));
}

BOOST_AUTO_TEST_CASE(a_late_heartbeat_of_an_earlier_life_renews_nothing) {
  const auto earlier = register_instance(api, "s").header_text("ETag");
  const auto present = register_instance(api, "s").header_text("ETag");
  const auto age = [&] { return api.get(instance_path("s")).body_json()["seconds_since_heartbeat"].number(); };
  BOOST_TEST_REQUIRE(eventually(5s, [&] { return age() > 0.2; }));
  BOOST_TEST(heartbeat(api, "s", {{"If-Match", earlier}}).status == 412);
  BOOST_TEST(age() > 0.2);
  BOOST_TEST(heartbeat(api, "s", {{"If-Match", present}}).status == 200);
  BOOST_TEST(age() < 0.2);
}

BOOST_AUTO_TEST_CASE(conditions_follow_the_rules_of_entity_tags) {
  const auto tag = register_instance(api, "s").header_text("ETag");
  BOOST_TEST(heartbeat(api, "s", {{"If-Match", "*"}}).status == 200);
  BOOST_TEST(heartbeat(api, "s", {{"If-Match", "\"other\", " + tag}}).status == 200);
  BOOST_TEST(heartbeat(api, "s", {{"If-Match", "\"other\""}, {"If-Match", tag}}).status == 200);
  BOOST_TEST(heartbeat(api, "s", {{"If-Match", "W/" + tag}}).status == 412); // a weak tag never matches strongly
  BOOST_TEST(heartbeat(api, "s", {{"If-Match", "\"other\", \"more\""}}).status == 412);
  BOOST_TEST(api.del(instance_path("s"), {{"If-Match", "W/" + tag}}).status == 412);
  BOOST_TEST(api.del(instance_path("s"), {{"If-Match", "*"}}).status == 204);
}

BOOST_AUTO_TEST_CASE(a_condition_on_a_stranger_is_answered_as_without_it) {
  BOOST_TEST(heartbeat(api, "s", {{"If-Match", "\"x\""}}).status == 404);
  BOOST_TEST(api.del(instance_path("s"), {{"If-Match", "\"x\""}}).status == 204);
}

BOOST_AUTO_TEST_CASE(a_tag_of_a_life_that_ended_does_not_name_the_next_one) {
  const auto earlier = register_instance(api, "s").header_text("ETag");
  api.del(instance_path("s"));
  register_instance(api, "s");
  BOOST_TEST(api.del(instance_path("s"), {{"If-Match", earlier}}).status == 412);
  BOOST_TEST(is_listed(api, "s"));
}

// ---- the list

BOOST_AUTO_TEST_CASE(an_empty_fleet_is_an_empty_list) {
  const auto reply = api.get("/instances");
  BOOST_TEST(reply.status == 200);
  BOOST_TEST(reply.header_text("Content-Type") == "application/json");
  BOOST_TEST(rows_in(reply) == R"({"instances":[])");
}

BOOST_AUTO_TEST_CASE(a_row_has_exactly_the_members_of_the_contract) {
  const auto reply =
      api.post("/instances", R"({"instance_id":"mp-host7","ip":"192.0.2.17","http_port":8081,"metadata":{"zone":"a"},)"
                             R"("p2p_advertised_url":"192.0.2.17:7700","mq_port":5600})");
  BOOST_TEST_REQUIRE(reply.status == 200, reply);
  const auto row = listed_row(api, "mp-host7");
  const std::set<std::string> contract{"instance_id",        "ip",     "http_port", "registration_time", "metadata",
                                       "p2p_advertised_url", "mq_port"};
  BOOST_TEST(as_set(row.names()) == contract, boost::test_tools::per_element());
  BOOST_TEST(row["ip"].text() == "192.0.2.17");
  BOOST_TEST(row["http_port"].integer() == 8081);
  BOOST_TEST(row["metadata"] == json::parse(R"({"zone":"a"})"));
  BOOST_TEST(row["p2p_advertised_url"].text() == "192.0.2.17:7700");
  BOOST_TEST(row["mq_port"].integer() == 5600);
  BOOST_TEST(std::abs(row["registration_time"].number() - static_cast<double>(std::time(nullptr))) < 5);
}

BOOST_AUTO_TEST_CASE(a_row_of_a_minimal_registration_has_the_defaults) {
  api.post("/instances", R"({"instance_id":"a","ip":"192.0.2.1","http_port":80})");
  const auto row = listed_row(api, "a");
  BOOST_TEST(row["metadata"] == json::parse("{}"));
  BOOST_TEST(row["p2p_advertised_url"].text().empty());
  BOOST_TEST(row["mq_port"].integer() == 0);
}

BOOST_AUTO_TEST_CASE(texts_come_back_as_they_were_sent) {
  const std::vector<std::pair<std::string, std::string>> labels{{"quote \" and \\", "line\nfeed\ttab"},
                                                                {"\u00fc\u4e2d\U0001f600", "\U0001f600"},
                                                                {"", "empty name"},
                                                                {"empty value", ""},
                                                                {"nul", std::string{"a\0b", 3}}};
  register_instance(api, {.instance_id = "a", .metadata = labels});
  const auto metadata = listed_row(api, "a")["metadata"];
  BOOST_TEST(metadata.size() == labels.size());
  for (const auto& [name, value] : labels)
    BOOST_TEST(metadata[name].text() == value);
}

BOOST_AUTO_TEST_CASE(the_list_is_in_the_order_of_registration) {
  strings ids;
  for (int i = 20; i > 0; --i)
    ids.push_back(fmt::format("n{}", i * 7 % 23));
  for (const auto& id : ids)
    register_instance(api, id);
  BOOST_TEST(listed_ids(api) == ids, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(an_unchanged_fleet_is_the_same_bytes_and_the_same_tag) {
  register_instance(api, "a");
  register_instance(api, "b");
  const auto before = api.get("/instances");
  BOOST_TEST(!before.header_text("ETag").empty());
  heartbeat(api, "a");
  api.del(instance_path("stranger"));
  const auto after = api.get("/instances");
  BOOST_TEST(after.body == before.body);
  BOOST_TEST(after.header_text("ETag") == before.header_text("ETag"));
}

BOOST_AUTO_TEST_CASE(every_change_of_the_fleet_gives_the_list_another_tag) {
  std::set<std::string> tags;
  const auto note_tag = [&] { tags.insert(api.get("/instances").header_text("ETag")); };
  note_tag();
  register_instance(api, "a");
  note_tag();
  register_instance(api, "a");
  note_tag();
  register_instance(api, "b");
  note_tag();
  api.del(instance_path("a"));
  note_tag();
  BOOST_TEST(tags.size() == 5u);
}

BOOST_AUTO_TEST_CASE(a_list_that_the_client_knows_is_not_sent_again) {
  register_instance(api, "a");
  const auto tag = api.get("/instances").header_text("ETag");
  for (const auto& condition : strings{tag, "\"other\", " + tag, "W/" + tag, "*"}) {
    const auto reply = api.get("/instances", {{"If-None-Match", condition}});
    BOOST_TEST(reply.status == 304, condition << " got " << reply);
    BOOST_TEST(reply.header_text("ETag") == tag);
    BOOST_TEST(!reply.closes());
  }
  BOOST_TEST(api.get("/instances", {{"If-None-Match", "\"other\""}}).status == 200);
  register_instance(api, "b");
  const auto changed = api.get("/instances", {{"If-None-Match", tag}});
  BOOST_TEST(changed.status == 200);
  BOOST_TEST(ids_in(changed) == (strings{"a", "b"}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(ages_of_heartbeats_are_shown_when_asked_for) {
  register_instance(api, "a");
  register_instance(api, "b");
  const auto ages = [&] {
    std::vector<double> result;
    for (const auto& row : api.get("/instances?heartbeats=true").body_json()["instances"].items()) {
      BOOST_TEST(row.size() == 8u);
      result.push_back(row["seconds_since_heartbeat"].number());
    }
    return result;
  };
  BOOST_TEST_REQUIRE(ages().size() == 2u);
  BOOST_TEST_REQUIRE(eventually(5s, [&] { return ages()[0] > 0.2; }));
  heartbeat(api, "a");
  const auto now = ages();
  BOOST_TEST(now[0] >= 0);
  BOOST_TEST(now[0] < 0.2);
  BOOST_TEST(now[1] > 0.2);
  BOOST_TEST(!api.get("/instances?heartbeats=false").body_json()["instances"][0].has("seconds_since_heartbeat"));
  BOOST_TEST(!api.get("/instances?unknown=1").body_json()["instances"][0].has("seconds_since_heartbeat"));
}

// ---- one instance

BOOST_AUTO_TEST_CASE(a_single_instance_is_its_row_with_the_age_of_its_heartbeat) {
  register_instance(api, {.instance_id = "a", .metadata = {{"zone", "x"}}, .mq_port = 7});
  const auto reply = api.get("/instances/a");
  BOOST_TEST(reply.status == 200);
  const auto row = reply.body_json();
  const auto listed = listed_row(api, "a");
  BOOST_TEST(row.size() == listed.size() + 1);
  for (const auto& name : listed.names())
    BOOST_TEST(row[name] == listed[name]);
  const auto age = row["seconds_since_heartbeat"].number();
  BOOST_TEST(age >= 0);
  BOOST_TEST(age < 5);
}

BOOST_AUTO_TEST_CASE(a_single_instance_carries_the_tag_of_its_registration) {
  const auto tag = register_instance(api, "a").header_text("ETag");
  BOOST_TEST(api.get("/instances/a").header_text("ETag") == tag);
}

BOOST_AUTO_TEST_CASE(a_single_stranger_is_not_found) {
  const auto reply = api.get("/instances/nobody");
  BOOST_TEST(reply.status == 404);
  BOOST_TEST(!reply.body_json()["detail"].text().empty());
}

// ---- memory

BOOST_AUTO_TEST_CASE(a_killed_coordinator_comes_back_empty_and_relearns_its_fleet) {
  auto first = std::make_unique<coordinator_process>(strings{});
  const auto port_flag = std::to_string(first->port());
  {
    client before{first->port()};
    register_instance(before, "a");
    BOOST_TEST(heartbeat(before, "a").status == 200);
  }
  first->send_signal(SIGKILL);
  BOOST_TEST_REQUIRE(first->wait_for_exit(5s).has_value());
  service second{{"--port", port_flag}};
  const auto beat = heartbeat(second.api, "a");
  BOOST_TEST(beat.status == 404);
  BOOST_TEST(beat.body == R"({"error":"unknown instance a; re-register"})");
  BOOST_TEST(register_instance(second.api, "a").body_json()["re_registered"].boolean() == false);
  BOOST_TEST(heartbeat(second.api, "a").status == 200);
}

BOOST_AUTO_TEST_SUITE_END()
