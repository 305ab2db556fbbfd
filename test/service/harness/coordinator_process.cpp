#include "coordinator_process.hpp"

#include "connection.hpp"

#include <fmt/format.h>

#include <signal.h>

#include <algorithm>
#include <charconv>
#include <stdexcept>
#include <string_view>

namespace coordinator::service_test {

namespace {

bool is_given(const std::vector<std::string>& flags, std::string_view name) {
  return std::any_of(flags.begin(), flags.end(),
                     [&](const auto& flag) { return flag == name || flag.starts_with(std::string{name} + "="); });
}

/// The value of `port=` in the line of the event `server.listening`; 0 when there is none yet.
std::uint16_t announced_port(const std::string& log) {
  constexpr std::string_view event = "server.listening";
  constexpr std::string_view field = "port=";
  const auto at = log.find(event);
  if (at == std::string::npos)
    return 0;
  const auto line_end = log.find('\n', at);
  const auto value = log.find(field, at);
  if (line_end == std::string::npos || value == std::string::npos || value > line_end)
    return 0;
  std::uint16_t port = 0;
  std::from_chars(log.data() + value + field.size(), log.data() + line_end, port);
  return port;
}

/// The value of `--port`; 0 when it is absent or left to the system.
std::uint16_t given_port(const std::vector<std::string>& flags) {
  std::uint16_t port = 0;
  const auto at = std::find(flags.begin(), flags.end(), "--port");
  if (at != flags.end() && at + 1 != flags.end())
    std::from_chars((at + 1)->data(), (at + 1)->data() + (at + 1)->size(), port);
  return port;
}

} // namespace

launch_options coordinator_command(const coordinator_options& options) {
  launch_options result;
  result.command = {options.binary};
  result.command.insert(result.command.end(), options.flags.begin(), options.flags.end());
  if (options.adds_address && !is_given(options.flags, "--host"))
    result.command.insert(result.command.end(), {"--host", "127.0.0.1"});
  if (options.adds_address && !is_given(options.flags, "--port"))
    result.command.insert(result.command.end(), {"--port", "0"});
  result.environment = options.environment;
  result.working_directory = options.working_directory;
  result.output = options.output;
  result.descriptor_limit = options.descriptor_limit;
  result.stack_limit = options.stack_limit;
  return result;
}

coordinator_process::coordinator_process(const coordinator_options& options)
    : child_process{coordinator_command(options)} {
  const auto chosen = given_port(options.flags);
  eventually(20s, [&] {
    const bool over = !running();
    port_ = chosen == 0 ? announced_port(output()) : accepts_connections(chosen) ? chosen : std::uint16_t{0};
    return port_ != 0 || over;
  });
  if (port_ != 0)
    return;
  throw std::runtime_error{fmt::format("the coordinator does not listen; its output:\n{}", output())};
}

coordinator_process::coordinator_process(std::vector<std::string> flags)
    : coordinator_process{[&] {
        coordinator_options options;
        options.flags = std::move(flags);
        return options;
      }()} {}

std::optional<exit_status> coordinator_process::stop(deadline limit) {
  send_signal(SIGTERM);
  return wait_for_exit(limit);
}

finished_run run_to_end(const coordinator_options& options, deadline limit) {
  const auto start = monotonic_clock::now();
  child_process child{coordinator_command(options)};
  finished_run result;
  result.status = child.wait_for_exit(limit);
  result.seconds = seconds_since(start);
  result.output = child.output();
  return result;
}

} // namespace coordinator::service_test
