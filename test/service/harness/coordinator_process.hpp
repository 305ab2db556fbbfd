#pragma once

#include "child_process.hpp"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace coordinator::service_test {

struct coordinator_options {
  std::string binary = COORDINATOR_BINARY;
  /// On the command line. `--host 127.0.0.1` and `--port 0` are added unless given.
  std::vector<std::string> flags;
  std::vector<std::pair<std::string, std::string>> environment;
  std::string working_directory;
  output_sink output = output_sink::captured;
  std::uint64_t descriptor_limit = 0;
  std::uint64_t stack_limit = 0;
  /// False: the command line is `flags` and nothing else.
  bool adds_address = true;
};

/// The service under test, started and waited for by nobody yet.
launch_options coordinator_command(const coordinator_options& options);

/// The service under test, running and ready for connections. Its port is read from its output, or known and tried
/// until it answers.
class coordinator_process : public child_process {
public:
  /// Throws with the log when the service does not listen in time.
  explicit coordinator_process(const coordinator_options& options = {});
  explicit coordinator_process(std::vector<std::string> flags);

  std::uint16_t port() const noexcept { return port_; }

  /// Sends SIGTERM and waits. Empty when the service does not end in time.
  std::optional<exit_status> stop(deadline limit = 10s);

private:
  std::uint16_t port_ = 0;
};

/// What a run of the service did that ended by itself.
struct finished_run {
  std::optional<exit_status> status; ///< Empty: it had to be killed.
  std::string output;
  double seconds = 0;
};

finished_run run_to_end(const coordinator_options& options, deadline limit = 10s);

} // namespace coordinator::service_test
