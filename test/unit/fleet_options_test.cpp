#include "apps/fleet/options.hpp"

#include <boost/test/unit_test.hpp>

#include <string>
#include <variant>
#include <vector>

using namespace coordinator::fleet;
using namespace std::chrono_literals;

namespace {

std::variant<options, early_exit> read(const std::vector<std::string>& flags) {
  std::vector<const char*> arguments{"mp-fleet"};
  for (const auto& flag : flags)
    arguments.push_back(flag.c_str());
  return read_options(static_cast<int>(arguments.size()), arguments.data());
}

options accepted(const std::vector<std::string>& flags) {
  auto result = read(flags);
  BOOST_TEST_REQUIRE(std::holds_alternative<options>(result));
  return std::get<options>(std::move(result));
}

early_exit ending(const std::vector<std::string>& flags) {
  auto result = read(flags);
  BOOST_TEST_REQUIRE(std::holds_alternative<early_exit>(result));
  return std::get<early_exit>(std::move(result));
}

} // namespace

BOOST_AUTO_TEST_SUITE(fleet_options_test)

BOOST_AUTO_TEST_CASE(a_profile_is_all_it_takes) {
  const auto read = accepted({"--profile", "steady"});
  BOOST_TEST(read.chosen->name == "steady");
  BOOST_TEST(read.servers == 100u);
  BOOST_TEST((read.heartbeat_interval == 5s));
  BOOST_TEST((read.instance_timeout == 30s));
  BOOST_TEST((read.health_check_interval == 10s));
  BOOST_TEST(!read.length.has_value());
  BOOST_TEST(!read.share.has_value());
  BOOST_TEST(!read.expected_guard.has_value());
  BOOST_TEST(read.coordinator_url == "");
  BOOST_TEST(read.coordinator_binary.ends_with("/mp-coordinator"));
  BOOST_TEST(read.coordinator_binary.starts_with("/"));
}

BOOST_AUTO_TEST_CASE(all_flags_are_heeded) {
  const auto read =
      accepted({"--profile=flapping", "--servers=7", "--duration=100", "--heartbeat-interval=0.5",
                "--instance-timeout=2", "--health-check-interval=0", "--slack=3", "--share=0.5", "--seed=42",
                "--connections=9", "--coordinator=/bin/false", "--coordinator-flag=--http-threads=2",
                "--coordinator-flag=--log-level=info", "--expect-guard=60", "--summary=out.json"});
  BOOST_TEST(read.servers == 7u);
  BOOST_TEST((read.length == 100s));
  BOOST_TEST((read.heartbeat_interval == 500ms));
  BOOST_TEST((read.instance_timeout == 2s));
  BOOST_TEST((read.health_check_interval == 0s));
  BOOST_TEST((read.slack == 3s));
  BOOST_TEST(*read.share == 0.5);
  BOOST_TEST(read.seed == 42u);
  BOOST_TEST(read.connections == 9u);
  BOOST_TEST(read.coordinator_binary == "/bin/false");
  BOOST_TEST(read.coordinator_flags == (std::vector<std::string>{"--http-threads=2", "--log-level=info"}),
             boost::test_tools::per_element());
  BOOST_TEST((read.expected_guard == 60s));
  BOOST_TEST(read.summary_file == "out.json");
}

BOOST_AUTO_TEST_CASE(a_slash_at_the_end_of_the_url_is_dropped) {
  BOOST_TEST(accepted({"--profile=steady", "--coordinator-url=http://localhost:9300/"}).coordinator_url
             == "http://localhost:9300");
}

BOOST_AUTO_TEST_CASE(what_makes_no_sense_ends_with_2_and_the_name_of_the_flag) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> wrong{
      {{}, "--profile"},
      {{"--profile=unsteady"}, "--profile: there is none of the name 'unsteady'"},
      {{"--profile=steady", "--servers=0"}, "--servers"},
      {{"--profile=steady", "--servers=many"}, "--servers"},
      {{"--profile=steady", "--servers=2000000"}, "--servers"},
      {{"--profile=steady", "--duration=0"}, "--duration: must be a number of seconds"},
      {{"--profile=steady", "--duration=nan"}, "--duration"},
      {{"--profile=steady", "--duration=5s"}, "--duration"},
      {{"--profile=steady", "--health-check-interval=-1"}, "--health-check-interval"},
      {{"--profile=steady", "--heartbeat-interval=16"}, "--heartbeat-interval: must be at most half"},
      {{"--profile=flapping", "--share=1.5"}, "--share"},
      {{"--profile=flapping", "--share=nan"}, "--share: must be a number from 0 to 1, not 'nan'"},
      {{"--profile=steady", "--seed=-1"}, "--seed"},
      {{"--profile=steady", "--connections=0"}, "--connections"},
      {{"--profile=steady", "--coordinator-url=localhost:9300"}, "--coordinator-url: must begin with http://"},
      {{"--profile=herd", "--coordinator-url=http://localhost:9300"}, "--coordinator-url: the profile herd"},
      {{"--profile=steady", "--coordinator-url=http://x", "--coordinator=/bin/false"}, "--coordinator"},
      {{"--profile=steady", "--coordinator-url=http://x", "--coordinator-flag=--port=1"}, "--coordinator-flag"},
      {{"--profile=steady", "--unknown=1"}, "--unknown"},
      {{"--profile=steady", "stray"}, "stray"},
  };
  for (const auto& [flags, expected] : wrong) {
    const auto how = ending(flags);
    BOOST_TEST_CONTEXT(how.text) {
      BOOST_TEST(how.status == 2);
      BOOST_TEST(how.text.find(expected) != std::string::npos);
    }
  }
}

BOOST_AUTO_TEST_CASE(help_version_and_the_list_of_profiles_end_with_0) {
  BOOST_TEST(ending({"--help"}).status == 0);
  BOOST_TEST(ending({"--help"}).text.find("--coordinator-url") != std::string::npos);
  BOOST_TEST(ending({"--version"}).text.starts_with("mp-fleet "));
  const auto list = ending({"--list-profiles"});
  BOOST_TEST(list.status == 0);
  for (const auto& profile : all_profiles())
    BOOST_TEST(list.text.find(profile.name) != std::string::npos);
}

BOOST_AUTO_TEST_CASE(servers_have_more_time_to_come_back_when_their_clocks_are_slow) {
  const auto right = accepted({"--profile=steady"});
  BOOST_TEST((right.back_within() == 17s)); // an interval, a third of the timeout, and the slack
  const auto slow = accepted({"--profile=clock-skewed", "--share=0.5"});
  BOOST_TEST((slow.back_within() == 22s));
}

BOOST_AUTO_TEST_CASE(a_guard_delays_evictions_by_its_bound) {
  BOOST_TEST((accepted({"--profile=crash-waves"}).gone_within() == 44s));
  BOOST_TEST((accepted({"--profile=crash-waves", "--expect-guard=60"}).gone_within() == 104s));
}

BOOST_AUTO_TEST_SUITE_END()
