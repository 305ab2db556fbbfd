#include "service.hpp"

#include <boost/test/results_collector.hpp>

#include <algorithm>
#include <iostream>
#include <string_view>

namespace coordinator::service_test {

namespace {

void show_log_of_failure(child_process& process) {
  namespace unit_test = boost::unit_test;
  if (unit_test::results_collector.results(unit_test::framework::current_test_case_id()).passed())
    return;
  const auto lines = lines_of(process.output());
  constexpr std::size_t shown = 40;
  std::string text;
  for (auto i = lines.size() - std::min(shown, lines.size()); i < lines.size(); ++i)
    text += "\n  " + lines[i].substr(0, 500);
  // Not a message of the framework: at its usual level those are not shown, and a failure is when this is wanted.
  std::clog << "the end of the coordinator's log:" << text << std::endl;
}

void check_sanitizers(const std::string& output) {
  for (const std::string_view complaint :
       {"ERROR: AddressSanitizer", "ERROR: LeakSanitizer", "WARNING: ThreadSanitizer", "runtime error: "})
    BOOST_TEST(output.find(complaint) == std::string::npos, "a sanitizer complained: " << complaint << "\n" << output);
}

} // namespace

void check_clean_end(child_process& process, deadline limit) {
  const auto status = process.wait_for_exit(limit);
  BOOST_TEST(status.has_value(), "the coordinator does not end");
  if (status)
    BOOST_TEST(*status == clean_exit);
  check_sanitizers(process.output());
}

service::service(std::vector<std::string> flags) : process{std::move(flags)}, api{process.port()} {}

service::service(const coordinator_options& options) : process{options}, api{process.port()} {}

service::~service() {
  const bool running = process.running();
  BOOST_TEST(running, "the coordinator ended during the test");
  if (running)
    process.stop(0s);
  check_clean_end(process);
  show_log_of_failure(process);
}

} // namespace coordinator::service_test
