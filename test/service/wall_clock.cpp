#include "harness/service.hpp"
#include "harness/temporary_directory.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <string>

using namespace coordinator::service_test;

namespace {

double seconds_since_epoch() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

coordinator_options with_shim(const std::string& offset_file) {
  coordinator_options options;
  options.flags = {"--instance-timeout", "1", "--health-check-interval", "0.2"};
  options.environment = {{"LD_PRELOAD", WALL_CLOCK_SHIM}, {"WALL_CLOCK_OFFSET_FILE", offset_file}};
  return options;
}

} // namespace

// Leases run on the monotonic clock: setting the wall clock evicts nobody and keeps nobody.
BOOST_AUTO_TEST_SUITE(wall_clock)

BOOST_AUTO_TEST_CASE(a_jump_of_the_wall_clock_in_either_direction_changes_only_what_is_shown) {
  const temporary_directory directory;
  const auto offset_file = directory.file("offset", "0");
  service it{with_shim(offset_file)};
  const auto living = numbered_registrations("living", 10);
  register_all(it.port(), living);
  for (const int offset : {3600, -3600}) {
    directory.file("offset", std::to_string(offset));
    const auto dead = fmt::format("dead-{}", offset);
    const auto start = monotonic_clock::now();
    register_instance(it.api, dead);
    // The shim works: the time of the registration is that of the shifted clock, in seconds since the epoch.
    BOOST_TEST(std::abs(listed_row(it.api, dead)["registration_time"].number() - seconds_since_epoch() - offset) < 60);
    bool all_known = true;
    BOOST_TEST(eventually(5s, [&] {
      for (const auto& x : living)
        all_known = all_known && heartbeat(it.api, x.instance_id).status == 200;
      return !is_listed(it.api, dead);
    }));
    BOOST_TEST(seconds_since(start) >= 1.0);
    BOOST_TEST(all_known);
    BOOST_TEST(listed_ids(it.api).size() == living.size());
  }
}

BOOST_AUTO_TEST_SUITE_END()
