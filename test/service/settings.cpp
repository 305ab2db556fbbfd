#include "harness/service.hpp"
#include "harness/temporary_directory.hpp"

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using namespace coordinator::service_test;

namespace {

using strings = std::vector<std::string>;

/// `instance-timeout` as `LMCACHE_MP_COORDINATOR_INSTANCE_TIMEOUT`.
std::string environment_name(std::string_view setting) {
  std::string result = "LMCACHE_MP_COORDINATOR_";
  for (const char c : setting)
    result += c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return result;
}

coordinator_options with_flags(strings flags) {
  coordinator_options result;
  result.flags = std::move(flags);
  return result;
}

/// Checks that the service refused to start over that setting, at once and by name.
void check_refusal(const finished_run& run, std::string_view setting) {
  BOOST_TEST(run.status.has_value(), "it runs");
  if (run.status)
    BOOST_TEST(*run.status == (exit_status{2, 0, false}), run.output);
  BOOST_TEST(run.seconds < 1);
  const bool named =
      run.output.find(setting) != std::string::npos || run.output.find(environment_name(setting)) != std::string::npos;
  BOOST_TEST(named, setting << " is not named in: " << run.output);
}

/// The lease that a service with these settings grants: shows which source of the setting has won.
std::string lease(const coordinator_options& options) {
  service it{options};
  return register_instance(it.api, "a").header_text("Instance-Timeout");
}

struct bad_setting {
  const char* name;
  const char* value;
};

std::ostream& operator<<(std::ostream& out, const bad_setting& x) {
  return out << x.name << '=' << x.value;
}

const std::vector<bad_setting> bad_settings{
    {"port", "-1"},
    {"port", "65536"},
    {"port", "70000"},
    {"port", "abc"},
    {"port", "80.5"},
    {"port", "80x"},
    {"instance-timeout", "0"},
    {"instance-timeout", "-1"},
    {"instance-timeout", "abc"},
    {"instance-timeout", "nan"},
    {"instance-timeout", "inf"},
    {"instance-timeout", "1e12"},
    {"instance-timeout", "3s"},
    {"health-check-interval", "-1"},
    {"health-check-interval", "abc"},
    {"health-check-interval", "nan"},
    {"health-check-interval", "inf"},
    {"health-check-interval", "1e12"},
    {"timeout-keep-alive", "0"},
    {"timeout-keep-alive", "-1"},
    {"timeout-keep-alive", "abc"},
    {"timeout-keep-alive", "nan"},
    {"http-threads", "-1"},
    {"http-threads", "abc"},
    {"http-threads", "1000000"},
    {"shutdown-grace", "-1"},
    {"shutdown-grace", "abc"},
    {"shutdown-grace", "nan"},
    {"shutdown-grace", "1e12"},
    {"log-level", "loud"},
};

} // namespace

// Where settings come from, and what a wrong one gets.
BOOST_AUTO_TEST_SUITE(settings)

BOOST_DATA_TEST_CASE(a_bad_value_stops_the_start_and_is_named_whatever_its_source,
                     boost::unit_test::data::make(bad_settings)) {
  const std::string name = sample.name;
  BOOST_TEST_CONTEXT("as a flag")
  check_refusal(run_to_end(with_flags({fmt::format("--{}={}", name, sample.value)})), name);

  coordinator_options by_environment;
  by_environment.adds_address = false; // a flag would win
  by_environment.environment = {{environment_name(name), sample.value}};
  BOOST_TEST_CONTEXT("from the environment")
  check_refusal(run_to_end(by_environment), name);

  const temporary_directory directory;
  coordinator_options by_file;
  by_file.adds_address = false;
  by_file.flags = {"--config", directory.file("settings", fmt::format("{} = {}\n", name, sample.value))};
  BOOST_TEST_CONTEXT("from a file")
  check_refusal(run_to_end(by_file), name);
}

BOOST_AUTO_TEST_CASE(a_flag_beats_the_environment_which_beats_the_file_which_beats_the_default) {
  const temporary_directory directory;
  coordinator_options options;
  BOOST_TEST(lease(options) == "30");
  options.flags = {"--config", directory.file("settings", "instance-timeout = 33\n")};
  BOOST_TEST(lease(options) == "33");
  options.environment = {{"LMCACHE_MP_COORDINATOR_INSTANCE_TIMEOUT", "22"}};
  BOOST_TEST(lease(options) == "22");
  options.flags.insert(options.flags.end(), {"--instance-timeout", "11"});
  BOOST_TEST(lease(options) == "11");
}

BOOST_AUTO_TEST_CASE(a_flag_beats_the_file_directly) {
  const temporary_directory directory;
  const auto file = directory.file("settings", "instance-timeout = 33\n");
  BOOST_TEST(lease(with_flags({"--instance-timeout", "11", "--config", file})) == "11");
}

BOOST_AUTO_TEST_CASE(a_bad_value_that_is_beaten_by_a_good_one_is_not_passed_over) {
  coordinator_options options;
  options.flags = {"--instance-timeout", "11"};
  options.environment = {{"LMCACHE_MP_COORDINATOR_HEALTH_CHECK_INTERVAL", "abc"}};
  check_refusal(run_to_end(options), "health-check-interval");
}

BOOST_AUTO_TEST_CASE(the_file_may_be_named_in_the_environment) {
  const temporary_directory directory;
  coordinator_options options;
  options.environment = {{"LMCACHE_MP_COORDINATOR_CONFIG", directory.file("settings", "instance-timeout = 33\n")}};
  BOOST_TEST(lease(options) == "33");
}

BOOST_AUTO_TEST_CASE(a_file_may_hold_comments_and_every_setting) {
  const temporary_directory directory;
  const auto log = directory.path() + "/log";
  const auto file = directory.file("settings", fmt::format("# a fleet of its own\n"
                                                           "host = \"127.0.0.1\"\n"
                                                           "port = {}\n"
                                                           "instance-timeout = 4.5\n"
                                                           "health-check-interval = 0.5\n"
                                                           "timeout-keep-alive = 20\n"
                                                           "http-threads = 2\n"
                                                           "shutdown-grace = 3\n"
                                                           "log-level = \"debug\"\n",
                                                           free_port()));
  coordinator_options options;
  options.adds_address = false;
  options.flags = {"--config", file};
  BOOST_TEST(lease(options) == "4.5");
}

BOOST_AUTO_TEST_CASE(an_empty_environment_variable_counts_as_unset) {
  coordinator_options options;
  options.environment = {{"LMCACHE_MP_COORDINATOR_INSTANCE_TIMEOUT", ""}};
  BOOST_TEST(lease(options) == "30");
}

BOOST_AUTO_TEST_CASE(all_problems_of_all_sources_are_told_together) {
  const temporary_directory directory;
  coordinator_options options;
  options.flags = {"--instance-timeout", "0", "--config", directory.file("settings", "shutdown-grace = -1\n")};
  options.environment = {{"LMCACHE_MP_COORDINATOR_HTTP_THREADS", "none"}};
  const auto run = run_to_end(options);
  check_refusal(run, "instance-timeout");
  check_refusal(run, "http-threads");
  check_refusal(run, "shutdown-grace");
}

BOOST_AUTO_TEST_CASE(a_file_that_can_not_be_read_stops_the_start) {
  check_refusal(run_to_end(with_flags({"--config", "/nonexistent/settings"})), "config");
}

BOOST_AUTO_TEST_CASE(an_unknown_setting_in_the_file_stops_the_start_and_is_named) {
  const temporary_directory directory;
  const auto run = run_to_end(with_flags({"--config", directory.file("settings", "instance-timout = 3\n")}));
  BOOST_TEST_REQUIRE(run.status.has_value());
  BOOST_TEST(run.status->code == 2);
  BOOST_TEST(run.output.find("instance-timout") != std::string::npos, run.output);
}

BOOST_AUTO_TEST_CASE(an_unknown_flag_stops_the_start_and_is_named) {
  for (const char* flag : {"--no-such-flag", "--instance-timout=3", "stray"}) {
    const auto run = run_to_end(with_flags({flag}));
    BOOST_TEST_REQUIRE(run.status.has_value());
    BOOST_TEST(run.status->code == 2);
    BOOST_TEST(run.seconds < 1);
    BOOST_TEST(run.output.find(std::string{flag}.substr(0, 12).substr(std::string_view{flag}.starts_with("--") ? 2 : 0))
                   != std::string::npos,
               run.output);
  }
}

BOOST_AUTO_TEST_CASE(a_flag_without_its_value_stops_the_start_and_is_named) {
  coordinator_options options;
  options.adds_address = false;
  options.flags = {"--port", "0", "--instance-timeout"};
  check_refusal(run_to_end(options), "instance-timeout");
}

BOOST_AUTO_TEST_CASE(a_port_in_use_ends_the_start_with_one_clear_line) {
  service first;
  const auto run = run_to_end(with_flags({"--port", std::to_string(first.port())}));
  BOOST_TEST_REQUIRE(run.status.has_value());
  BOOST_TEST(*run.status == (exit_status{1, 0, false}), run.output);
  BOOST_TEST(run.seconds < 1);
  const auto lines = lines_of(run.output);
  const auto clear = std::count_if(lines.begin(), lines.end(), [&](const std::string& line) {
    return line.find(std::to_string(first.port())) != std::string::npos && line.find("in use") != std::string::npos;
  });
  BOOST_TEST(clear == 1, run.output);
  BOOST_TEST(run.output.find("terminate") == std::string::npos);
  BOOST_TEST(is_alive(first.port()));
}

BOOST_AUTO_TEST_CASE(an_address_that_is_not_ours_ends_the_start_with_one_clear_line) {
  const auto run = run_to_end(with_flags({"--host", "192.0.2.1"}));
  BOOST_TEST_REQUIRE(run.status.has_value());
  BOOST_TEST(run.status->code != 0);
  BOOST_TEST(run.status->signal == 0);
  BOOST_TEST(run.seconds < 1);
  BOOST_TEST(run.output.find("192.0.2.1") != std::string::npos, run.output);
}

BOOST_AUTO_TEST_CASE(the_service_listens_on_the_host_that_was_given) {
  service it{{"--host", "localhost"}};
  BOOST_TEST(is_alive(it.port()));
}

BOOST_AUTO_TEST_CASE(help_names_every_flag_and_exits_cleanly) {
  coordinator_options options;
  options.adds_address = false;
  options.flags = {"--help"};
  const auto run = run_to_end(options);
  BOOST_TEST_REQUIRE(run.status.has_value());
  BOOST_TEST(*run.status == clean_exit);
  for (const char* flag :
       {"--host", "--port", "--instance-timeout", "--health-check-interval", "--timeout-keep-alive", "--http-threads",
        "--shutdown-grace", "--log-level", "--log-file", "--log-components", "--config", "--version", "--help"})
    BOOST_TEST(run.output.find(flag) != std::string::npos, flag << " is not in the help");
  BOOST_TEST(run.output.find("LMCACHE_MP_COORDINATOR_INSTANCE_TIMEOUT") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(the_version_is_printed_and_nothing_started) {
  coordinator_options options;
  options.adds_address = false;
  options.flags = {"--version"};
  const auto run = run_to_end(options);
  BOOST_TEST_REQUIRE(run.status.has_value());
  BOOST_TEST(*run.status == clean_exit);
  BOOST_TEST(lines_of(run.output).size() == 1u);
  BOOST_TEST(std::any_of(run.output.begin(), run.output.end(), [](unsigned char c) { return std::isdigit(c) != 0; }));
}

BOOST_AUTO_TEST_CASE(the_settings_in_force_are_logged_at_the_start) {
  coordinator_options options;
  options.flags = {"--instance-timeout", "7.25", "--health-check-interval", "0"};
  options.environment = {{"LMCACHE_MP_COORDINATOR_TIMEOUT_KEEP_ALIVE", "41"}};
  service it{options};
  const auto log = it.process.output();
  for (const char* setting : {"instance-timeout=7.25", "health-check-interval=0", "timeout-keep-alive=41",
                              "http-threads=", "shutdown-grace=", "log-level=info"})
    BOOST_TEST(log.find(setting) != std::string::npos, setting << " is not in: " << log);
}

BOOST_AUTO_TEST_CASE(an_interval_of_zero_is_logged_as_no_eviction) {
  service it{{"--health-check-interval", "0"}};
  const auto lines = lines_of(it.process.output());
  BOOST_TEST(std::any_of(lines.begin(), lines.end(),
                         [](const std::string& line) { return line.find("evict") != std::string::npos; }),
             it.process.output());
}

// ---- what a start leaves behind

BOOST_AUTO_TEST_CASE(no_stray_file_is_left_in_the_working_directory) {
  const temporary_directory directory;
  coordinator_options options;
  options.working_directory = directory.path();
  options.flags = {"--log-level", "trace"};
  {
    service it{options};
    BOOST_TEST(is_alive(it.port()));
    BOOST_TEST(std::filesystem::is_empty(directory.path()));
  }
  BOOST_TEST(std::filesystem::is_empty(directory.path()));
}

BOOST_AUTO_TEST_CASE(a_working_directory_that_can_not_be_written_does_not_matter) {
  coordinator_options options;
  options.working_directory = "/proc"; // read-only even for root
  service it{options};
  BOOST_TEST(is_alive(it.port()));
}

BOOST_AUTO_TEST_CASE(files_in_the_working_directory_are_not_read_as_settings) {
  const temporary_directory directory;
  for (const char* name : {"caf-application.ini", "config.ini", "mp-coordinator.ini", "config.toml"})
    directory.file(name, "[scheduler]\nmax-threads = broken {\ninstance-timeout = 1\n");
  coordinator_options options;
  options.working_directory = directory.path();
  BOOST_TEST(lease(options) == "30");
}

BOOST_AUTO_TEST_CASE(a_relative_log_file_is_written_where_it_was_named) {
  const temporary_directory directory;
  coordinator_options options;
  options.working_directory = directory.path();
  options.flags = {"--port", std::to_string(free_port()), "--log-file", "log"};
  service it{options};
  register_instance(it.api, "somebody");
  std::error_code absent;
  BOOST_TEST(
      eventually(2s, [&] { return std::filesystem::file_size(directory.path() + "/log", absent) > 0 && !absent; }));
  BOOST_TEST(it.process.output().empty(), it.process.output());
}

BOOST_AUTO_TEST_CASE(an_unknown_component_or_a_settings_file_that_is_none_is_refused_by_name) {
  for (const auto& flags : {std::vector<std::string>{"--log-components", "registry,nope"},
                            {"--config", "/tmp"},
                            {"--config", "/dev/zero"},
                            {"--health-check-interval", "1e-9"}}) {
    coordinator_options options;
    options.flags = flags;
    const auto run = run_to_end(options);
    BOOST_TEST((run.status == exit_status{2, 0, false}), flags.back());
    BOOST_TEST(run.output.find(flags.front()) != std::string::npos, run.output);
  }
}

BOOST_AUTO_TEST_SUITE_END()
