#pragma once

#include "child_process.hpp"
#include "client.hpp"
#include "json.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace coordinator::service_test {

struct mp_server_options {
  /// On the command line. `--host 127.0.0.1`, `--http-port 0` and `--control-port 0` are added unless given.
  std::vector<std::string> flags;
  std::vector<std::pair<std::string, std::string>> environment;
};

/// Flags of an mp server of that id that joins a coordinator on this machine, with a heartbeat every 200 ms.
std::vector<std::string> joining(std::uint16_t coordinator_port, std::string_view instance_id);

/// The command line of an mp server, started by nobody yet.
launch_options mp_server_command(const mp_server_options& options);

/// An mp server that does what a test tells it through its control port (docs/mp-server.md): the real binary, and the
/// scripted peer of a coordinator. For one thread at a time.
class mp_server_process : public child_process {
public:
  /// Throws with its output when it does not listen in time.
  explicit mp_server_process(const mp_server_options& options);
  explicit mp_server_process(std::vector<std::string> flags = {});

  std::uint16_t port() const noexcept { return port_; }
  std::uint16_t control_port() const noexcept { return control_port_; }

  /// Sends SIGTERM and waits. Empty when it does not end in time.
  std::optional<exit_status> stop(deadline limit = 10s);

  /// One request to the control port; throws unless it is answered with a success.
  response control(std::string_view method, std::string_view target, std::string_view body = {});

  /// What the service port does from now on: `serve`, `refuse`, `silent`, `drip`, `reset` or `cut`. Heartbeats go on.
  void set_socket(std::string_view mode);
  /// Connections accepted since then by a port that does not serve.
  std::uint64_t dead_connections();

  /// Without heartbeats, and without having told the coordinator; or with them, registering anew.
  void set_heartbeats(bool enabled);

  /// `faults` is a JSON list, such as `[{"method":"DELETE","path":"/cache","status":500,"times":1}]`.
  void set_faults(std::string_view faults);
  void clear_faults();

  /// Requests that came in on the service port, oldest first, as `GET /calls` shows them.
  std::vector<json> calls();
  void forget_calls();

  /// Stores the chunks of that sequence in `tier` and returns how many objects.
  std::uint64_t store_tokens(std::string_view tier, std::string_view model_name, int world_size,
                             const std::vector<std::int64_t>& tokens, std::int64_t size_bytes = 1024);

  /// Acts as if its process had been started anew, and returns the new incarnation.
  std::int64_t restart();

private:
  std::uint16_t port_ = 0;
  std::uint16_t control_port_ = 0;
  std::optional<client> control_;
};

} // namespace coordinator::service_test
