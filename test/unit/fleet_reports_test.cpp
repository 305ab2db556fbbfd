#include "apps/fleet/ledger.hpp"
#include "apps/fleet/live_view.hpp"
#include "apps/fleet/summary.hpp"
#include "schema/json.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <string>

using namespace coordinator::fleet;
using namespace std::chrono_literals;
namespace schema = coordinator::schema;

namespace {

struct fixture {
  options asked;
  outcome result;

  fixture() {
    asked.chosen = find_profile("partition");
    asked.seed = 42;
    result.last.elapsed = 10s;
    result.last.phase = "cut off";
    result.last.servers = 50;
    result.last.cut_off = 40;
    auto& heartbeats = result.last.requests[static_cast<std::size_t>(request_kind::heartbeat)];
    heartbeats.sent = 101;
    heartbeats.answered = 100;
    heartbeats.failed = 1;
    for (int i = 0; i < 100; ++i)
      heartbeats.took.record(2ms);
  }

  void plant_violation() {
    result.last.violations.add(violation_kind::lost, {3500ms, "fleet-\"7\"", "running since 1 s"});
  }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(fleet_reports_test, fixture)

BOOST_AUTO_TEST_CASE(the_summary_is_one_json_object_on_one_line) {
  plant_violation();
  result.coordinator = {1.5, 1000, 2000};
  const auto text = summary_json(asked, result);
  BOOST_TEST(std::ranges::count(text, '\n') == 1);
  schema::json_document document;
  BOOST_TEST_REQUIRE(!document.read(text).has_value());
  const auto& root = document.root();
  BOOST_TEST(root["profile"].GetString() == "partition");
  BOOST_TEST(root["servers"].GetUint64() == 50u);
  BOOST_TEST(root["seconds"].GetDouble() == 10.0);
  BOOST_TEST(root["seed"].GetUint64() == 42u);
  BOOST_TEST(!root["interrupted"].GetBool());
  const auto& heartbeats = root["requests"]["heartbeat"];
  BOOST_TEST(heartbeats["sent"].GetUint64() == 101u);
  BOOST_TEST(heartbeats["answered"].GetUint64() == 100u);
  BOOST_TEST(heartbeats["failed"].GetUint64() == 1u);
  BOOST_TEST(heartbeats["latency_ms"]["p99"].GetDouble() == 2.0);
  BOOST_TEST(root["violations"]["total"].GetUint64() == 1u);
  const auto& lost = root["violations"]["lost"];
  BOOST_TEST(lost["count"].GetUint64() == 1u);
  BOOST_TEST(lost["examples"][0]["at"].GetDouble() == 3.5);
  BOOST_TEST(lost["examples"][0]["instance_id"].GetString() == "fleet-\"7\"");
  BOOST_TEST(root["violations"]["duplicate"]["examples"].Empty());
  BOOST_TEST(root["coordinator"]["cpu_seconds"].GetDouble() == 1.5);
  BOOST_TEST(root["coordinator"]["peak_rss_bytes"].GetUint64() == 2000u);
}

BOOST_AUTO_TEST_CASE(of_a_coordinator_that_was_not_started_nothing_is_told) {
  const auto text = summary_json(asked, result);
  schema::json_document document;
  BOOST_TEST_REQUIRE(!document.read(text).has_value());
  BOOST_TEST(!document.root().HasMember("coordinator"));
  BOOST_TEST(document.root()["violations"]["total"].GetUint64() == 0u);
}

BOOST_AUTO_TEST_CASE(the_screen_replaces_what_it_showed_before) {
  live_view view{asked};
  const auto first = view.screen(result.last, 60s);
  BOOST_TEST(first.starts_with("partition: cut off   10 s of 60 s   seed 42\n"));
  BOOST_TEST(first.find('\x1b') == std::string::npos);
  BOOST_TEST(first.find("cut off 40") != std::string::npos);
  plant_violation();
  const auto second = view.screen(result.last, 60s);
  const auto lines = std::ranges::count(first, '\n');
  BOOST_TEST(second.starts_with("\x1b[" + std::to_string(lines) + "F\x1b[Jpartition"));
  BOOST_TEST(second.find("1 lost, the first: fleet-\"7\" running since 1 s\n") != std::string::npos);
  const auto third = view.screen(result.last, 60s);
  BOOST_TEST(third.starts_with("\x1b[" + std::to_string(lines + 1) + "F\x1b[J"));
}

BOOST_AUTO_TEST_CASE(rates_are_of_the_time_since_the_last_look) {
  live_view view{asked};
  BOOST_TEST(view.line(result.last, 60s).find(" 10 requests a second") != std::string::npos);
  result.last.elapsed = 12s;
  result.last.requests[0].answered = 60;
  BOOST_TEST(view.line(result.last, 60s).find(" 30 requests a second") != std::string::npos);
  BOOST_TEST(view.line(result.last, 60s).find(" 0 requests a second") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
