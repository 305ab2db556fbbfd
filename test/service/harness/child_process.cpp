#include "child_process.hpp"

#include <fmt/format.h>

#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

// glibc 2.36's header lacks the linkage specification.
extern "C" {
#include <sys/pidfd.h>
}

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <ostream>
#include <sstream>
#include <stdexcept>

namespace coordinator::service_test {

namespace {

[[noreturn]] void fail(const char* what) {
  throw std::runtime_error{fmt::format("{}: {}", what, std::strerror(errno))};
}

std::vector<std::string> whole_environment(const launch_options& options) {
  std::vector<std::string> result;
  // What sanitizers and the dynamic linker need; nothing that configures the service by accident.
  for (const char* name :
       {"PATH", "HOME", "LD_LIBRARY_PATH", "ASAN_OPTIONS", "LSAN_OPTIONS", "TSAN_OPTIONS", "UBSAN_OPTIONS"})
    if (const char* value = std::getenv(name))
      result.push_back(fmt::format("{}={}", name, value));
  for (const auto& [name, value] : options.environment)
    result.push_back(fmt::format("{}={}", name, value));
  return result;
}

std::vector<char*> as_c_array(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (auto& text : texts)
    result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

void limit_resource(__rlimit_resource_t resource, std::uint64_t value) {
  if (value != 0) {
    const rlimit limit{value, value};
    ::setrlimit(resource, &limit);
  }
}

std::size_t entries_in(const std::string& folder) {
  std::size_t result = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator{folder})
    ++result;
  return result;
}

std::string contents(const std::string& path) {
  std::ifstream in{path, std::ios::binary};
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

} // namespace

std::ostream& operator<<(std::ostream& out, const exit_status& status) {
  if (status.signal != 0)
    return out << "ended by signal " << status.signal << (status.core_dumped ? " with a core file" : "");
  return out << "exit code " << status.code;
}

child_process::child_process(const launch_options& options) : sink_{options.output} {
  int child_output = -1;
  if (sink_ == output_sink::captured) {
    output_ = ::memfd_create("output", MFD_CLOEXEC);
    child_output = output_;
  } else {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0)
      fail("pipe2");
    output_ = ends[0];
    child_output = ends[1];
    // Only our end: the flag belongs to an end, and the child must meet a pipe that blocks.
    ::fcntl(output_, F_SETFL, O_NONBLOCK);
  }
  if (output_ < 0)
    fail("memfd_create");

  // All memory is allocated before the fork: a child of a process with threads may not.
  auto command = options.command;
  auto environment = whole_environment(options);
  const auto argv = as_c_array(command);
  const auto envp = as_c_array(environment);
  const auto parent = ::getpid();

  pid_ = ::fork();
  if (pid_ < 0)
    fail("fork");
  if (pid_ == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent)
      ::_exit(127);
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    const int nothing = ::open("/dev/null", O_RDONLY);
    ::dup2(nothing, 0);
    ::dup2(child_output, 1);
    ::dup2(child_output, 2);
    ::close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);
    limit_resource(RLIMIT_NOFILE, options.descriptor_limit);
    limit_resource(RLIMIT_STACK, options.stack_limit);
    if (options.working_directory.empty() || ::chdir(options.working_directory.c_str()) == 0)
      ::execve(argv[0], argv.data(), envp.data());
    ::_exit(127);
  }
  if (sink_ == output_sink::pipe)
    ::close(child_output);
  process_ = ::pidfd_open(pid_, 0);
  if (process_ < 0)
    fail("pidfd_open");
}

child_process::~child_process() {
  if (!ended_) {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  ::close(process_);
  ::close(output_);
}

void child_process::send_signal(int signal) const {
  // Not by number: after the end it may belong to somebody else.
  if (!ended_)
    ::pidfd_send_signal(process_, signal, nullptr, 0);
}

void child_process::halt(deadline limit) const {
  send_signal(SIGSTOP);
  eventually(limit, [&] {
    siginfo_t found{};
    return ::waitid(P_PIDFD, static_cast<id_t>(process_), &found, WSTOPPED | WNOHANG) != 0 || found.si_pid == pid_;
  });
}

std::optional<exit_status> child_process::wait_for_exit(deadline limit) {
  if (ended_)
    return ended_;
  pollfd entry{process_, POLLIN, 0};
  int ready = -1;
  do
    ready = ::poll(&entry, 1, limit.poll_timeout());
  while (ready < 0 && errno == EINTR);
  int status = 0;
  if (ready <= 0 || ::waitpid(pid_, &status, WNOHANG) != pid_)
    return std::nullopt;
  if (WIFSIGNALED(status))
    ended_ = exit_status{-1, WTERMSIG(status), WCOREDUMP(status)};
  else
    ended_ = exit_status{WEXITSTATUS(status), 0, false};
  return ended_;
}

std::string child_process::output() {
  if (sink_ == output_sink::pipe) {
    empty_pipe();
    return piped_;
  }
  struct stat about {};
  ::fstat(output_, &about);
  std::string result(static_cast<std::size_t>(about.st_size), '\0');
  const auto got = ::pread(output_, result.data(), result.size(), 0);
  result.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return result;
}

bool child_process::wait_for_output(std::string_view text, deadline limit) {
  bool found = false;
  eventually(limit, [&] {
    const bool over = !running(); // asked first: what it printed before its end counts
    found = output().find(text) != std::string::npos;
    return found || over;
  });
  return found;
}

void child_process::empty_pipe() {
  char buffer[16 * 1024];
  for (;;) {
    const auto got = ::read(output_, buffer, sizeof buffer);
    if (got <= 0)
      return;
    piped_.append(buffer, static_cast<std::size_t>(got));
  }
}

std::uint64_t child_process::resident_bytes() const {
  std::istringstream numbers{contents(fmt::format("/proc/{}/statm", pid_))};
  std::uint64_t total = 0;
  std::uint64_t resident = 0;
  numbers >> total >> resident;
  return resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

std::size_t child_process::open_descriptors() const {
  return entries_in(fmt::format("/proc/{}/fd", pid_));
}

std::size_t child_process::threads() const {
  return entries_in(fmt::format("/proc/{}/task", pid_));
}

double child_process::processor_seconds() const {
  const auto stat = contents(fmt::format("/proc/{}/stat", pid_));
  // The program's name comes second, in parentheses, and may hold anything.
  std::istringstream fields{stat.substr(stat.rfind(')') + 2)};
  std::string skipped;
  for (int field = 3; field < 14; ++field)
    fields >> skipped;
  double user = 0;
  double system = 0;
  fields >> user >> system;
  return (user + system) / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

} // namespace coordinator::service_test
