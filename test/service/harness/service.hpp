#pragma once

#include "client.hpp"
#include "coordinator_process.hpp"
#include "fleet.hpp"

#include <boost/test/unit_test.hpp>

#include <string>
#include <vector>

namespace coordinator::service_test {

/// A running coordinator and one client of it: the fixture of most suites. Its destructor checks what every test relies
/// on: the service outlived the test, ends cleanly when told to, and no sanitizer has complained. The log of a failed
/// test is shown.
struct service {
  explicit service(std::vector<std::string> flags = {});
  explicit service(const coordinator_options& options);
  ~service();

  std::uint16_t port() const noexcept { return process.port(); }

  coordinator_process process;
  client api;
};

/// Checks that a process that was told to stop has done so cleanly.
void check_clean_end(child_process& process, deadline limit = 10s);

} // namespace coordinator::service_test
