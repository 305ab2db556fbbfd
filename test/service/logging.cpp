#include "harness/service.hpp"
#include "harness/temporary_directory.hpp"

#include <signal.h>
#include <sys/stat.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <regex>
#include <string>
#include <vector>

using namespace coordinator::service_test;

namespace {

std::vector<std::string> lines_with(const std::string& log, std::string_view text) {
  auto lines = lines_of(log);
  std::erase_if(lines, [&](const std::string& line) { return line.find(text) == std::string::npos; });
  return lines;
}

std::string content_of(const std::string& path) {
  std::ifstream file{path, std::ios::binary};
  return {std::istreambuf_iterator<char>{file}, {}};
}

const std::regex log_line{
    R"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z (error|warning|info|debug|trace) [a-z-]+(#\d+)? [a-z_.]+( [a-z0-9_.-]+=(\S+|"[^"\\]*(\\.[^"\\]*)*"))*)"};

} // namespace

// What an operator reads, and that reading it, or failing to, never holds the service up.
BOOST_AUTO_TEST_SUITE(logging)

BOOST_AUTO_TEST_CASE(at_info_a_healthy_fleet_tells_of_joins_and_departures_only) {
  service it{{"--instance-timeout", "1", "--health-check-interval", "0.2"}};
  BOOST_REQUIRE(it.process.wait_for_output("server.listening", 5s));
  const auto before = lines_of(it.process.output()).size();
  register_instance(it.api, {.instance_id = "leaves", .ip = "192.0.2.2"});
  register_instance(it.api, {.instance_id = "lapses", .ip = "192.0.2.1"});
  for (int i = 0; i < 50; ++i)
    heartbeat(it.api, "leaves");
  it.api.get("/instances");
  it.api.del(instance_path("leaves"));
  BOOST_REQUIRE(it.process.wait_for_output("registry.lapse", 5s));
  const auto lines = lines_of(it.process.output());
  BOOST_TEST(lines.size() == before + 4);
  const std::regex lapse{
      R"(.* info registry#\d+ registry\.lapse instance_id=lapses ip=192\.0\.2\.1 http_port=8080 age=1\.\d+s)"};
  BOOST_TEST(std::regex_match(lines.back(), lapse), lines.back());
  BOOST_TEST(lines_with(it.process.output(), "registry.join").size() == 2u);
  BOOST_TEST(lines_with(it.process.output(), "registry.leave instance_id=leaves").size() == 1u);
}

BOOST_AUTO_TEST_CASE(every_line_has_time_level_actor_event_and_fields_whatever_clients_send) {
  coordinator_process it{{"--log-level", "trace"}};
  client api{it.port()};
  for (const std::string id :
       {"plain", "with blank", "quo\"te", "back\\slash", "equals=sign", "ümläut", "#7 error forged"}) {
    BOOST_TEST(register_instance(api, id).status == 200);
    BOOST_TEST(heartbeat(api, id).status == 200);
  }
  api.put("/instances/line%0Abreak/heartbeat");
  BOOST_TEST((it.stop() == clean_exit));
  const auto lines = lines_of(it.output());
  BOOST_TEST(lines.size() > 20u);
  for (const auto& line : lines)
    BOOST_TEST(std::regex_match(line, log_line), line);
}

BOOST_AUTO_TEST_CASE(debug_tells_of_the_life_of_each_actor_and_of_its_ticks) {
  coordinator_process it{{"--log-level", "debug", "--health-check-interval", "0.1"}};
  BOOST_TEST(it.wait_for_output("health.sweep lapsed=0 remaining=0", 5s));
  BOOST_TEST(it.wait_for_output("supervisor.tick actor=health", 5s));
  BOOST_TEST((it.stop() == clean_exit));
  const auto log = it.output();
  for (const std::string actor : {"supervisor", "registry", "health", "gateway"}) {
    BOOST_TEST(std::regex_search(log, std::regex{"debug " + actor + R"(#\d+ actor\.spawned)"}), actor);
    BOOST_TEST(std::regex_search(log, std::regex{"debug " + actor + R"(#\d+ actor\.stopped reason=)"}), actor);
  }
  BOOST_TEST(log.find("actor.handled") == std::string::npos);
}

BOOST_AUTO_TEST_CASE(trace_tells_of_each_message) {
  service it{{"--log-level", "trace"}};
  register_instance(it.api, "a");
  heartbeat(it.api, "a");
  BOOST_TEST(it.process.wait_for_output("(heartbeat, ", 5s));
  const auto handled = lines_with(it.process.output(), "actor.handled");
  BOOST_TEST(std::ranges::any_of(handled, [](const std::string& line) {
    return line.find(" trace registry#") != std::string::npos && line.find("heartbeat") != std::string::npos
           && line.find("\\\"a\\\"") != std::string::npos;
  }));
}

BOOST_AUTO_TEST_CASE(components_filter_all_but_warnings) {
  service it{{"--log-level", "debug", "--log-components", "health", "--health-check-interval", "0.1"}};
  register_instance(it.api, "a");
  register_instance(it.api, "b"); // at the same address: a warning
  BOOST_TEST(it.process.wait_for_output("health.sweep", 5s));
  BOOST_TEST(it.process.wait_for_output("warning registry#", 5s));
  const auto log = it.process.output();
  BOOST_TEST(log.find("registry.same_address instance_id=b other_instance_id=a") != std::string::npos);
  BOOST_TEST(log.find("registry.join") == std::string::npos);
  BOOST_TEST(log.find("supervisor.tick") == std::string::npos);
}

BOOST_AUTO_TEST_CASE(the_log_file_is_appended_to) {
  const temporary_directory directory;
  const auto path = directory.file("log", "earlier\n");
  coordinator_options options;
  const auto port = free_port();
  options.flags = {"--log-file", path, "--port", std::to_string(port)};
  {
    service it{options};
    register_instance(it.api, "a");
  }
  const auto log = content_of(path);
  BOOST_TEST(log.starts_with("earlier\n"));
  BOOST_TEST(lines_with(log, "registry.join instance_id=a").size() == 1u);
}

BOOST_AUTO_TEST_CASE(a_full_disk_does_not_stop_the_service) {
  coordinator_options options;
  options.flags = {"--log-file", "/dev/full", "--log-level", "trace", "--port", std::to_string(free_port())};
  service it{options};
  for (int i = 0; i < 500; ++i)
    BOOST_REQUIRE(register_instance(it.api, "a").status == 200);
  BOOST_TEST(is_alive(it.port()));
}

BOOST_AUTO_TEST_CASE(a_log_that_nobody_reads_holds_up_neither_heartbeats_nor_the_end) {
  coordinator_options options;
  options.output = output_sink::pipe;
  options.flags = {"--log-level", "trace", "--port", std::to_string(free_port())};
  coordinator_process it{options};
  client api{it.port()};
  register_instance(api, "a");
  for (int i = 0; i < 5000; ++i) // several lines each: far more than a pipe holds
    BOOST_REQUIRE(heartbeat(api, "a").status == 200);
  BOOST_TEST(is_alive(it.port()));
  BOOST_TEST((it.stop(5s) == clean_exit));
}

BOOST_AUTO_TEST_CASE(a_log_whose_reader_went_away_holds_up_nothing) {
  const auto port = free_port();
  coordinator_options options;
  options.flags = {"--log-level", "trace", "--port", std::to_string(port)};
  auto launch = coordinator_command(options);
  // The shell becomes the service, with its standard error into a reader that leaves after one line.
  launch.command.insert(launch.command.begin(), {"/bin/bash", "-c", "exec \"$0\" \"$@\" 2> >(head -n 1 >/dev/null)"});
  child_process it{launch};
  BOOST_REQUIRE(eventually(5s, [&] { return accepts_connections(port); }));
  client api{port};
  for (int i = 0; i < 200; ++i)
    BOOST_REQUIRE(register_instance(api, "a").status == 200);
  BOOST_TEST(is_alive(port));
  it.send_signal(SIGTERM);
  check_clean_end(it);
}

BOOST_AUTO_TEST_CASE(a_pipe_that_nobody_reads_is_refused_as_log_file_instead_of_waited_for) {
  const temporary_directory directory;
  const auto path = directory.path() + "/fifo";
  BOOST_REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  coordinator_options options;
  options.flags = {"--log-file", path};
  const auto run = run_to_end(options);
  BOOST_TEST((run.status == exit_status{2, 0, false}));
  BOOST_TEST(run.output.find("--log-file") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_log_file_at_the_size_limit_of_the_process_does_not_stop_the_service) {
  const temporary_directory directory;
  const auto port = free_port();
  coordinator_options options;
  options.flags = {"--log-level", "trace", "--port", std::to_string(port), "--log-file", directory.path() + "/log"};
  auto launch = coordinator_command(options);
  launch.command.insert(launch.command.begin(), {"/bin/bash", "-c", "ulimit -f 8; exec \"$0\" \"$@\""});
  child_process it{launch};
  BOOST_REQUIRE(eventually(5s, [&] { return accepts_connections(port); }));
  client api{port};
  for (int i = 0; i < 300; ++i)
    BOOST_REQUIRE(register_instance(api, "a").status == 200);
  BOOST_TEST(is_alive(port));
  it.send_signal(SIGHUP); // which is a way of asking it to stop, too
  check_clean_end(it);
}

BOOST_AUTO_TEST_SUITE_END()
