#include "mp_server_process.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <signal.h>

#include <algorithm>
#include <charconv>
#include <stdexcept>

namespace coordinator::service_test {

namespace {

/// The port at the end of the line that starts with `start`; 0 when there is no such line yet.
std::uint16_t announced_port(const std::string& output, std::string_view start) {
  const auto at = output.find(start);
  if (at == std::string::npos)
    return 0;
  const auto line_end = output.find('\n', at);
  if (line_end == std::string::npos)
    return 0;
  std::uint16_t port = 0;
  const auto colon = output.rfind(':', line_end);
  std::from_chars(output.data() + colon + 1, output.data() + line_end, port);
  return port;
}

} // namespace

std::vector<std::string> joining(std::uint16_t coordinator_port, std::string_view instance_id) {
  return {"--coordinator-url",
          fmt::format("http://127.0.0.1:{}", coordinator_port),
          "--instance-id",
          std::string{instance_id},
          "--coordinator-heartbeat-interval",
          "0.2"};
}

launch_options mp_server_command(const mp_server_options& options) {
  launch_options result;
  result.command = {MP_SERVER_BINARY};
  result.command.insert(result.command.end(), options.flags.begin(), options.flags.end());
  for (const auto& [name, value] : {std::pair{"--host", "127.0.0.1"}, {"--http-port", "0"}, {"--control-port", "0"}})
    if (std::find(options.flags.begin(), options.flags.end(), name) == options.flags.end())
      result.command.insert(result.command.end(), {name, value});
  result.environment = options.environment;
  return result;
}

mp_server_process::mp_server_process(const mp_server_options& options) : child_process{mp_server_command(options)} {
  eventually(20s, [&] {
    const bool over = !running();
    port_ = announced_port(output(), "mp-server: serving on ");
    control_port_ = announced_port(output(), "mp-server: control on ");
    return (port_ != 0 && control_port_ != 0) || over;
  });
  if (port_ == 0 || control_port_ == 0)
    throw std::runtime_error{fmt::format("the mp server does not listen; its output:\n{}", output())};
  control_.emplace(control_port_);
}

mp_server_process::mp_server_process(std::vector<std::string> flags)
    : mp_server_process{mp_server_options{std::move(flags), {}}} {}

std::optional<exit_status> mp_server_process::stop(deadline limit) {
  send_signal(SIGTERM);
  return wait_for_exit(limit);
}

response mp_server_process::control(std::string_view method, std::string_view target, std::string_view body) {
  auto reply = control_->send(method, target, body);
  if (reply.status / 100 != 2)
    throw std::runtime_error{fmt::format("{} {} on the control port: {} {}", method, target, reply.status, reply.body)};
  return reply;
}

void mp_server_process::set_socket(std::string_view mode) {
  control("PUT", "/socket", fmt::format(R"({{"mode":"{}"}})", mode));
}

std::uint64_t mp_server_process::dead_connections() {
  return static_cast<std::uint64_t>(control("GET", "/socket").body_json()["connections"].integer());
}

void mp_server_process::set_heartbeats(bool enabled) {
  control("PUT", "/heartbeats", fmt::format(R"({{"enabled":{}}})", enabled));
}

void mp_server_process::set_faults(std::string_view faults) {
  control("PUT", "/faults", fmt::format(R"({{"faults":{}}})", faults));
}

void mp_server_process::clear_faults() {
  control("DELETE", "/faults");
}

std::vector<json> mp_server_process::calls() {
  return control("GET", "/calls").body_json()["calls"].items();
}

void mp_server_process::forget_calls() {
  control("DELETE", "/calls");
}

std::uint64_t mp_server_process::store_tokens(std::string_view tier, std::string_view model_name, int world_size,
                                              const std::vector<std::int64_t>& tokens, std::int64_t size_bytes) {
  const auto body = fmt::format(R"({{"tier":"{}","model_name":"{}","world_size":{},"token_ids":[{}],"size_bytes":{}}})",
                                tier, model_name, world_size, fmt::join(tokens, ","), size_bytes);
  return static_cast<std::uint64_t>(control("POST", "/store_tokens", body).body_json()["affected"].integer());
}

std::int64_t mp_server_process::restart() {
  return control("POST", "/restart").body_json()["incarnation"].integer();
}

} // namespace coordinator::service_test
