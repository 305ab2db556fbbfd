#pragma once

#include "apps/fleet/clock.hpp"

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace coordinator::fleet {

struct coordinator_command {
  std::string binary;
  duration instance_timeout{};
  duration health_check_interval{};
  std::vector<std::string> flags; ///< Further ones; they beat the settings above.
};

/// A coordinator that the simulator started: on this machine, always on the same port, and dead by the time that the
/// simulator is. To be used on one thread that lives as long as it does: the kernel's guard is tied to that.
class coordinator_process {
public:
  explicit coordinator_process(coordinator_command command);
  ~coordinator_process();
  coordinator_process(const coordinator_process&) = delete;
  coordinator_process& operator=(const coordinator_process&) = delete;

  /// Chooses a port that is free. Why there is no process now, if there is none.
  std::optional<std::string> start();
  /// Again, on the same port.
  std::optional<std::string> restart();

  std::string url() const;
  /// How it ended, if it did: `exit status 1`, `signal 11`. Then also what it printed last.
  std::optional<std::string> ended();
  /// SIGKILL; returns once it is dead.
  void kill();
  /// SIGTERM. What was wrong with how it stopped, if anything.
  std::optional<std::string> stop(duration patience);

  /// Of all its lives.
  double processor_seconds() const;
  /// Looks at its memory, for the next two. Done by itself before its end.
  void sample_memory();
  std::uint64_t resident_bytes() const noexcept { return resident_bytes_; }
  /// The most that any of its lives had.
  std::uint64_t peak_resident_bytes() const noexcept { return peak_resident_bytes_; }

private:
  std::optional<std::string> launch();
  bool reap(duration patience);
  std::string last_words() const;

  coordinator_command command_;
  std::uint16_t port_ = 0;
  pid_t pid_ = -1;   ///< -1: none runs.
  int process_ = -1; ///< pidfd
  int output_ = -1;
  int status_ = 0; ///< As waitpid told it.
  double earlier_processor_seconds_ = 0;
  std::uint64_t resident_bytes_ = 0;
  std::uint64_t peak_resident_bytes_ = 0;
};

} // namespace coordinator::fleet
