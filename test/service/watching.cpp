#include "harness/deadline.hpp"
#include "harness/service.hpp"

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>

#include <csignal>
#include <functional>
#include <string>
#include <utility>
#include <vector>

// Following the fleet by waiting lists, and reading parts of it.

using namespace coordinator::service_test;

namespace {

using strings = std::vector<std::string>;

struct watching_fixture : service {
  std::string version() { return api.get("/instances").header_text("Instances-Version"); }

  /// A connection on which a waiting list was asked for, and has not been answered so far.
  connection wait(const std::string& query) {
    connection waiting{port()};
    waiting.send(render_request("GET", "/instances?" + query));
    BOOST_TEST(waiting.delivered());
    BOOST_TEST(waiting.stays_silent(200ms));
    return waiting;
  }

  response list(const std::string& query) { return api.get("/instances?" + query); }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(watching, watching_fixture)

// ---- waiting

BOOST_AUTO_TEST_CASE(the_version_is_in_every_list_as_header_and_field) {
  register_instance(api, "a");
  for (const auto* query : {"", "heartbeats=true", "label=zone=a", "limit=1", "wait=0"}) {
    const auto reply = list(query);
    BOOST_TEST(reply.body_json()["version"].text() == version(), query);
    BOOST_TEST(reply.header_text("Instances-Version") == version(), query);
  }
  const auto before = version();
  heartbeat(api, "a");
  BOOST_TEST(version() == before);
  register_instance(api, "a");
  BOOST_TEST(version() != before);
}

BOOST_AUTO_TEST_CASE(a_waiting_list_comes_when_somebody_joins_leaves_or_is_drained) {
  register_instance(api, "a");
  const auto changes = std::vector<std::function<void()>>{
      [&] { register_instance(api, "b"); }, [&] { register_instance(api, "b"); },
      [&] { api.put("/instances/a/drain"); }, [&] { api.del("/instances/a/drain"); }, [&] { api.del("/instances/b"); }};
  for (const auto& change : changes) {
    const auto known = version();
    auto waiting = wait("wait=60&since=" + known);
    change();
    const auto reply = waiting.read_response(reply_body::expected, 5s);
    BOOST_TEST(reply.status == 200);
    BOOST_TEST(reply.body_json()["version"].text() == version());
    BOOST_TEST(reply.body_json()["version"].text() != known);
  }
}

BOOST_AUTO_TEST_CASE(a_lapse_ends_the_wait_too) {
  service quick{{"--instance-timeout", "0.5", "--health-check-interval", "0.2"}};
  register_instance(quick.api, "a");
  connection waiting{quick.port()};
  waiting.send(render_request("GET", "/instances?wait=60"));
  BOOST_TEST(ids_in(waiting.read_response(reply_body::expected, 10s)).empty());
}

BOOST_AUTO_TEST_CASE(heartbeats_do_not_end_a_wait) {
  register_instance(api, "a");
  auto waiting = wait("wait=60&since=" + version());
  heartbeat(api, "a");
  BOOST_TEST(waiting.stays_silent(300ms));
}

BOOST_AUTO_TEST_CASE(without_since_the_wait_is_for_the_next_change) {
  register_instance(api, "a");
  auto waiting = wait("wait=60");
  register_instance(api, "b");
  BOOST_TEST(ids_in(waiting.read_response(reply_body::expected, 5s)) == (strings{"a", "b"}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(who_knows_another_version_is_answered_at_once) {
  const auto before = version();
  register_instance(api, "a");
  for (const auto& since : {before, std::string{"of-another-coordinator-v7"}, std::string{}}) {
    const auto start = monotonic_clock::now();
    BOOST_TEST(ids_in(list("wait=60&since=" + since)) == strings{"a"}, boost::test_tools::per_element());
    BOOST_TEST(seconds_since(start) < 10 * leniency);
  }
}

BOOST_AUTO_TEST_CASE(when_the_time_is_over_the_list_is_as_it_was) {
  register_instance(api, "a");
  const auto known = version();
  const auto start = monotonic_clock::now();
  const auto reply = list("wait=0.6&since=" + known);
  BOOST_TEST(seconds_since(start) >= 0.6);
  BOOST_TEST(reply.status == 200);
  BOOST_TEST(reply.body_json()["version"].text() == known);
  BOOST_TEST(api.get("/instances?wait=0.1&since=" + known, {{"If-None-Match", reply.header_text("ETag")}}).status
             == 304);
}

BOOST_AUTO_TEST_CASE(waiting_costs_no_thread_and_holds_nobody_up) {
  register_instance(api, "a");
  const auto known = version();
  const auto threads = process.threads();
  std::vector<connection> waiting;
  for (int i = 0; i < 500; ++i) {
    waiting.emplace_back(port());
    waiting.back().send(render_request("GET", "/instances?wait=60&since=" + known));
  }
  BOOST_TEST(waiting.back().stays_silent(300ms));
  BOOST_TEST(process.threads() == threads);
  BOOST_TEST(is_alive(port())); // which also is a change
  for (auto& one : waiting)
    BOOST_TEST(one.read_response(reply_body::expected, 10s).body_json()["version"].text() != known);
}

BOOST_AUTO_TEST_CASE(a_wait_that_its_client_gave_up_is_forgotten) {
  register_instance(api, "a");
  const auto before = process.open_descriptors();
  for (int i = 0; i < 100; ++i) {
    connection waiting{port()};
    waiting.send(render_request("GET", "/instances?wait=300"));
    BOOST_TEST(waiting.delivered());
    if (i % 2 == 0)
      waiting.reset();
    else
      waiting.close();
  }
  BOOST_TEST(eventually(10s, [&] { return process.open_descriptors() <= before; }));
}

BOOST_AUTO_TEST_CASE(who_waits_is_answered_when_the_service_stops) {
  coordinator_process stopped;
  connection waiting{stopped.port()};
  waiting.send(render_request("GET", "/instances?wait=300"));
  BOOST_TEST(waiting.stays_silent(200ms));
  stopped.send_signal(SIGTERM);
  const auto reply = waiting.read_response(reply_body::expected, 5s);
  BOOST_TEST(reply.status == 200);
  BOOST_TEST(reply.closes());
  check_clean_end(stopped);
}

// ---- selecting

BOOST_AUTO_TEST_CASE(labels_select_by_metadata) {
  register_instance(api, {.instance_id = "a", .metadata = {{"zone", "x"}, {"rack", "1"}}});
  register_instance(api, {.instance_id = "b", .metadata = {{"zone", "x"}, {"rack", "2"}}});
  register_instance(api, {.instance_id = "c", .metadata = {{"zone", "y=z"}}});
  register_instance(api, "d");
  const auto selected = [&](const std::string& query) { return ids_in(list(query)); };
  BOOST_TEST(selected("label=zone=x") == (strings{"a", "b"}), boost::test_tools::per_element());
  BOOST_TEST(selected("label=zone%3Dx&label=rack=2") == (strings{"b"}), boost::test_tools::per_element());
  BOOST_TEST(selected("label=zone=y=z") == (strings{"c"}), boost::test_tools::per_element());
  BOOST_TEST(selected("label=zone=").empty());
  BOOST_TEST(selected("label=zone=x&heartbeats=true").size() == 2u);
  BOOST_TEST(selected("label=rack=1&label=rack=2").empty());
}

BOOST_AUTO_TEST_CASE(pages_lead_through_the_whole_fleet) {
  register_all(port(), numbered_registrations("mp", 25));
  strings ids;
  std::string query = "limit=10";
  int pages = 0;
  for (;;) {
    const auto page = list(query);
    BOOST_TEST_REQUIRE(page.status == 200, page);
    const auto rows = ids_in(page);
    BOOST_TEST(rows.size() <= 10u);
    ids.insert(ids.end(), rows.begin(), rows.end());
    ++pages;
    if (!page.body_json().has("next"))
      break;
    query = "limit=10&after=" + page.body_json()["next"].text();
  }
  BOOST_TEST(pages == 3);
  BOOST_TEST(ids == listed_ids(api), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_page_goes_on_where_the_last_ended_though_its_last_row_has_left) {
  register_all(port(), numbered_registrations("mp", 6));
  const auto first = list("limit=3");
  api.del("/instances/mp-2");
  api.del("/instances/mp-3");
  register_instance(api, "late");
  const auto rest = list("limit=10&after=" + first.body_json()["next"].text());
  BOOST_TEST(ids_in(rest) == (strings{"mp-4", "mp-5", "late"}), boost::test_tools::per_element());
  BOOST_TEST(!rest.body_json().has("next"));
}

BOOST_AUTO_TEST_CASE(a_page_may_start_after_an_id) {
  register_all(port(), numbered_registrations("mp", 4));
  BOOST_TEST(ids_in(list("after=mp-1")) == (strings{"mp-2", "mp-3"}), boost::test_tools::per_element());
  BOOST_TEST(ids_in(list("after=mp-3")).empty());
}

BOOST_AUTO_TEST_CASE(a_page_of_a_selection_counts_what_is_selected) {
  for (int i = 0; i < 10; ++i)
    register_instance(api, {.instance_id = fmt::format("mp-{}", i), .metadata = {{"even", i % 2 == 0 ? "y" : "n"}}});
  const auto page = list("label=even=y&limit=3");
  BOOST_TEST(ids_in(page) == (strings{"mp-0", "mp-2", "mp-4"}), boost::test_tools::per_element());
  const auto rest = list("label=even=y&limit=3&after=" + page.body_json()["next"].text());
  BOOST_TEST(ids_in(rest) == (strings{"mp-6", "mp-8"}), boost::test_tools::per_element());
  BOOST_TEST(!rest.body_json().has("next"));
}

BOOST_AUTO_TEST_CASE(a_place_of_an_earlier_coordinator_is_refused_and_not_misread) {
  register_all(port(), numbered_registrations("mp", 4));
  const auto place = list("limit=2").body_json()["next"].text();
  service other;
  register_all(other.port(), numbered_registrations("mp", 4));
  BOOST_TEST(other.api.get("/instances?limit=2&after=" + place).status == 422);
}

BOOST_AUTO_TEST_CASE(a_wrong_parameter_is_named) {
  const std::vector<std::pair<std::string, std::string>> wrong{
      {"limit", "0"},  {"limit", "-1"},     {"limit", "x"},  {"limit", "1.5"},   {"limit", ""},     {"wait", "-1"},
      {"wait", "301"}, {"wait", "nan"},     {"wait", "inf"}, {"wait", "soon"},   {"label", "zone"}, {"label", "=a"},
      {"label", ""},   {"after", "nobody"}, {"after", ""},   {"heartbeats", "2"}};
  for (const auto& [name, value] : wrong) {
    const auto reply = list(name + "=" + value);
    BOOST_TEST(reply.status == 422, name << "=" << value);
    const auto problem = reply.body_json()["detail"][0];
    BOOST_TEST(problem["loc"] == json::parse(fmt::format(R"(["query","{}"])", name)));
  }
}

// ---- draining

BOOST_AUTO_TEST_CASE(a_drained_instance_stays_and_says_so) {
  register_instance(api, "a");
  register_instance(api, "b");
  const auto drained = api.put("/instances/a/drain");
  BOOST_TEST(drained.status == 200);
  BOOST_TEST(drained.body_json()["state"].text() == "draining");
  BOOST_TEST(listed_row(api, "a")["state"].text() == "draining");
  BOOST_TEST(!listed_row(api, "b").has("state"));
  BOOST_TEST(api.get("/instances/a").body_json()["state"].text() == "draining");
  BOOST_TEST(heartbeat(api, "a").status == 200);
  BOOST_TEST(api.put("/instances/a/drain").status == 200);
  BOOST_TEST(api.del("/instances/a/drain").status == 204);
  BOOST_TEST(api.del("/instances/a/drain").status == 204);
  BOOST_TEST(!listed_row(api, "a").has("state"));
}

BOOST_AUTO_TEST_CASE(draining_keeps_the_registration_and_its_tag) {
  const auto tag = register_instance(api, "a").header_text("ETag");
  BOOST_TEST(api.put("/instances/a/drain").header_text("ETag") == tag);
  BOOST_TEST(heartbeat(api, "a", {{"If-Match", tag}}).status == 200);
}

BOOST_AUTO_TEST_CASE(draining_outlasts_everything_the_instance_does) {
  register_instance(api, "a");
  api.put("/instances/a/drain");
  const auto again = register_instance(api, "a");
  BOOST_TEST(again.body == R"({"instance_id":"a","re_registered":true})"); // no word of it to the server
  BOOST_TEST(listed_row(api, "a")["state"].text() == "draining");
  api.del("/instances/a");
  register_instance(api, "a");
  BOOST_TEST(listed_row(api, "a")["state"].text() == "draining");
  api.del("/instances/a");
  BOOST_TEST(api.put("/instances/a/drain").status == 404);
  BOOST_TEST(api.del("/instances/a/drain").status == 204);
  register_instance(api, "a");
  BOOST_TEST(!listed_row(api, "a").has("state"));
}

BOOST_AUTO_TEST_CASE(only_a_known_instance_can_be_drained_or_resumed) {
  for (const auto* id : {"nobody", "%20", "a%2Fb"}) {
    BOOST_TEST(api.put(fmt::format("/instances/{}/drain", id)).status == 404);
    BOOST_TEST(api.del(fmt::format("/instances/{}/drain", id)).status == 404);
  }
  register_instance(api, "a/b");
  BOOST_TEST(api.put("/instances/a%2Fb/drain").status == 200);
}

BOOST_AUTO_TEST_SUITE_END()
