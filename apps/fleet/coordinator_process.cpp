#include "apps/fleet/coordinator_process.hpp"

#include <fmt/format.h>

#include <fcntl.h>
#include <linux/close_range.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

// glibc 2.36's header lacks the linkage specification.
extern "C" {
#include <sys/pidfd.h>
}

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>
#include <random>
#include <sstream>
#include <utility>

namespace coordinator::fleet {

namespace {

constexpr std::size_t last_words_bytes = 2048;

/// Below those that the kernel hands out. A port of theirs could become the source of one of our own connections while
/// the coordinator is down, and then even be connected to itself.
std::uint16_t choose_port() {
  unsigned first_handed_out = 32768;
  std::ifstream{"/proc/sys/net/ipv4/ip_local_port_range"} >> first_handed_out;
  std::random_device random;
  const unsigned last = std::clamp(first_handed_out, 2048U, 65536U) - 1;
  std::uniform_int_distribution<unsigned> ports{std::min(10'000U, last / 2), last};
  for (int attempt = 0; attempt < 100; ++attempt) {
    const auto port = static_cast<std::uint16_t>(ports(random));
    const int probe = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(port);
    const bool is_free = ::bind(probe, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
    ::close(probe);
    if (is_free)
      return port;
  }
  return 0;
}

std::string contents(const std::string& path) {
  std::ifstream in{path, std::ios::binary};
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

} // namespace

coordinator_process::coordinator_process(coordinator_command command) : command_{std::move(command)} {}

coordinator_process::~coordinator_process() {
  kill();
  if (output_ >= 0)
    ::close(output_);
}

std::string coordinator_process::url() const {
  return fmt::format("http://127.0.0.1:{}", port_);
}

std::optional<std::string> coordinator_process::start() {
  port_ = choose_port();
  if (port_ == 0)
    return "no port is free";
  output_ = ::memfd_create("coordinator-output", MFD_CLOEXEC);
  if (output_ < 0)
    return fmt::format("memfd_create: {}", std::strerror(errno));
  return launch();
}

std::optional<std::string> coordinator_process::restart() {
  return launch();
}

std::optional<std::string> coordinator_process::launch() {
  std::vector<std::string> words{command_.binary, "--host", "127.0.0.1", "--port", std::to_string(port_)};
  const auto add = [&](const std::string& flag, std::string value) {
    const bool is_given = std::ranges::any_of(
        command_.flags, [&](const auto& given) { return given == flag || given.starts_with(flag + "="); });
    if (!is_given)
      words.insert(words.end(), {flag, std::move(value)});
  };
  add("--instance-timeout", fmt::format("{}", to_seconds(command_.instance_timeout)));
  add("--health-check-interval", fmt::format("{}", to_seconds(command_.health_check_interval)));
  add("--log-level", "warning"); // a line for each of thousands that join says nothing
  words.insert(words.end(), command_.flags.begin(), command_.flags.end());
  // All memory is allocated before the fork: a child of a process with threads may not.
  std::vector<char*> arguments;
  for (auto& word : words)
    arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const auto parent = ::getpid();

  const pid_t child = ::fork();
  if (child < 0)
    return fmt::format("fork: {}", std::strerror(errno));
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent)
      ::_exit(127);
    // Not of our group: a Ctrl-C is for us, who stop it in our own time.
    ::setpgid(0, 0);
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    const int nothing = ::open("/dev/null", O_RDONLY);
    ::dup2(nothing, 0);
    ::dup2(output_, 1);
    ::dup2(output_, 2);
    ::close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);
    ::execv(arguments[0], arguments.data());
    const char* const reason = std::strerror(errno);
    [[maybe_unused]] const auto written = ::write(2, reason, std::strlen(reason));
    ::_exit(127);
  }
  pid_ = child;
  process_ = ::pidfd_open(pid_, 0);
  if (process_ < 0) {
    const auto problem = fmt::format("pidfd_open: {}", std::strerror(errno));
    ::kill(pid_, SIGKILL);
    ::waitpid(std::exchange(pid_, -1), nullptr, 0);
    return problem;
  }
  return std::nullopt;
}

bool coordinator_process::reap(duration patience) {
  if (pid_ < 0)
    return true;
  pollfd entry{process_, POLLIN, 0};
  const auto limit = std::chrono::steady_clock::now() + patience;
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(limit - std::chrono::steady_clock::now());
    const auto wait = static_cast<int>(std::max<std::chrono::milliseconds::rep>(left.count(), 0));
    const int ready = ::poll(&entry, 1, wait);
    if (ready == 1)
      break;
    if (ready == 0 || errno != EINTR)
      return false;
  }
  rusage usage{};
  if (::wait4(pid_, &status_, 0, &usage) == pid_)
    earlier_processor_seconds_ += seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime);
  pid_ = -1;
  ::close(std::exchange(process_, -1));
  return true;
}

std::optional<std::string> coordinator_process::ended() {
  if (!reap(duration::zero()))
    return std::nullopt;
  const auto how = WIFSIGNALED(status_) ? fmt::format("signal {}", WTERMSIG(status_))
                                        : fmt::format("exit status {}", WEXITSTATUS(status_));
  const auto words = last_words();
  return words.empty() ? how : fmt::format("{}; it printed last: {}", how, words);
}

void coordinator_process::kill() {
  if (pid_ < 0)
    return;
  sample_memory();
  ::kill(pid_, SIGKILL); // not waited for yet, so the number is still its own
  reap(std::chrono::hours{1});
}

std::optional<std::string> coordinator_process::stop(duration patience) {
  if (pid_ < 0)
    return std::nullopt;
  sample_memory();
  ::kill(pid_, SIGTERM);
  if (!reap(patience)) {
    kill();
    return fmt::format("it had not ended {:.1f} seconds after SIGTERM", to_seconds(patience));
  }
  if (WIFEXITED(status_) && WEXITSTATUS(status_) == 0)
    return std::nullopt;
  return "it stopped with " + *ended();
}

std::string coordinator_process::last_words() const {
  struct stat about {};
  if (::fstat(output_, &about) != 0)
    return {};
  const auto size = static_cast<std::size_t>(about.st_size);
  std::string result(std::min(size, last_words_bytes), '\0');
  const auto got = ::pread(output_, result.data(), result.size(), static_cast<off_t>(size - result.size()));
  result.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  result.resize(result.find_last_not_of(" \n") + 1);
  return result;
}

double coordinator_process::processor_seconds() const {
  if (pid_ < 0)
    return earlier_processor_seconds_;
  const auto stat = contents(fmt::format("/proc/{}/stat", pid_));
  // The program's name comes second, in parentheses, and may hold anything.
  std::istringstream fields{stat.substr(std::min(stat.rfind(')') + 2, stat.size()))};
  std::string skipped;
  for (int field = 3; field < 14; ++field)
    fields >> skipped;
  double user = 0;
  double system = 0;
  fields >> user >> system;
  return earlier_processor_seconds_ + (user + system) / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

void coordinator_process::sample_memory() {
  if (pid_ < 0)
    return;
  std::istringstream status{contents(fmt::format("/proc/{}/status", pid_))};
  for (std::string name; status >> name;) {
    std::uint64_t kibibytes = 0;
    if (name == "VmRSS:" && status >> kibibytes)
      resident_bytes_ = kibibytes * 1024;
    else if (name == "VmHWM:" && status >> kibibytes)
      peak_resident_bytes_ = std::max(peak_resident_bytes_, kibibytes * 1024);
  }
}

} // namespace coordinator::fleet
