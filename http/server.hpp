#pragma once

#include "http/limits.hpp"
#include "http/router.hpp"

#include <caf/actor_control_block.hpp>
#include <caf/fwd.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace coordinator::http {

struct server_options {
  std::string host;       ///< Address or host name to listen on.
  std::uint16_t port = 0; ///< 0: any free one.
  std::size_t workers = 1;
  server_limits limits;
  /// Descriptors that client connections leave to others, such as outbound calls; half of all at most.
  std::size_t reserved_descriptors = 64;
  std::shared_ptr<const router> routes;
  /// Called by each worker several times a second; proof that its loop turns.
  std::function<void(std::size_t worker)> alive;
};

/// The listening socket, the workers and their life. All functions are for the thread that made the server.
///
/// Order of a life: `listen`, `attach` for each worker, `start`; then `drain`, then the actors end, then the
/// destructor, which closes the connections that are left and joins the workers.
class server {
public:
  server(server_options options, caf::actor_system& system);
  ~server();
  server(const server&) = delete;
  server& operator=(const server&) = delete;

  /// Binds and listens, so that clients queue from now on. Empty on success, else what went wrong.
  std::optional<std::string> listen();

  /// The port that is listened on.
  std::uint16_t port() const noexcept { return port_; }

  /// Makes `gateway` the actor that the worker hands its requests to. Also while running, after a restart, from any
  /// thread.
  void attach(std::size_t worker, caf::strong_actor_ptr gateway);

  /// Starts the workers and accepts connections.
  void start();

  /// Stops accepting, lets requests under way be answered, and waits until every connection is closed, `patience`
  /// at most. Returns whether all were.
  bool drain(std::chrono::nanoseconds patience);

private:
  struct worker_thread;
  struct state;
  std::unique_ptr<state> state_;
  std::uint16_t port_ = 0;
};

} // namespace coordinator::http
