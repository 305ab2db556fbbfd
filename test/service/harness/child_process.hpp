#pragma once

#include "deadline.hpp"

#include <sys/types.h>

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace coordinator::service_test {

/// How a process ended.
struct exit_status {
  int code = -1;  ///< Of exit(2); -1 when a signal ended it.
  int signal = 0; ///< Which ended it; 0 when none did.
  bool core_dumped = false;

  bool operator==(const exit_status&) const = default;
};

inline constexpr exit_status clean_exit{0, 0, false};

std::ostream& operator<<(std::ostream& out, const exit_status& status);

/// Where standard output and standard error of a child go.
enum class output_sink {
  captured, ///< Into memory, without bounds: the child never waits.
  pipe, ///< Into a pipe that is emptied by `output` and `wait_for_output` alone, so that it fills up when neither is
        ///< called.
};

struct launch_options {
  std::vector<std::string> command;                             ///< Path of the program and its arguments.
  std::vector<std::pair<std::string, std::string>> environment; ///< On top of a minimal one.
  std::string working_directory;                                ///< Empty: that of the test.
  output_sink output = output_sink::captured;
  std::uint64_t descriptor_limit = 0; ///< 0: as the test has it.
  std::uint64_t stack_limit = 0;      ///< Bytes; 0: as the test has it.
};

/// A child that can't outlive the test: it is killed by the destructor, and by the kernel should the test die. Start it
/// on a thread that lives as long as it is needed, since the kernel's guard is tied to that thread.
class child_process {
public:
  explicit child_process(const launch_options& options);
  child_process(const child_process&) = delete;
  child_process& operator=(const child_process&) = delete;
  ~child_process();

  pid_t pid() const noexcept { return pid_; }

  /// Does nothing once the end of the child has been seen.
  void send_signal(int signal) const;

  /// Sends SIGSTOP and waits until all threads of the child stand still, which the signal alone does not promise. Does
  /// nothing more when that takes too long. To be ended with SIGCONT.
  void halt(deadline limit = 5s) const;

  /// Empty when the child has not ended in time. After that it may be asked again.
  std::optional<exit_status> wait_for_exit(deadline limit);

  bool running() { return !wait_for_exit(0s); }

  /// What the child has printed so far.
  std::string output();

  /// Waits until the output holds `text`. Stops early when the child has ended.
  bool wait_for_output(std::string_view text, deadline limit);

  std::uint64_t resident_bytes() const;
  std::size_t open_descriptors() const;
  std::size_t threads() const;
  /// User and system time used so far, in seconds.
  double processor_seconds() const;

private:
  void empty_pipe();

  pid_t pid_ = -1;
  int process_ = -1; // pidfd
  int output_ = -1;
  output_sink sink_;
  std::string piped_;
  std::optional<exit_status> ended_;
};

} // namespace coordinator::service_test
