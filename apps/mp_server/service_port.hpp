#pragma once

#include "apps/mp_server/bodies.hpp"
#include "apps/mp_server/bound_socket.hpp"
#include "apps/mp_server/dead_socket.hpp"
#include "apps/mp_server/endpoint.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace mp_server {

/// The port that others know this server by, with or without a server behind it. For the main thread.
class service_port {
public:
  service_port(std::string host, std::shared_ptr<const coordinator::http::router> routes, caf::actor_system& system)
      : host_(std::move(host)), routes_(std::move(routes)), system_(system) {}

  /// Takes the port (0: any free one) for as long as this lives, and serves. Empty on success, else what went wrong.
  std::optional<std::string> open(std::uint16_t port);

  std::uint16_t port() const noexcept { return held_->port(); }

  /// Ends every connection, and from now on treats new ones as `mode` says. Empty on success; else what went wrong, and
  /// connections are refused.
  std::optional<std::string> set_mode(socket_mode mode);

  socket_status status() const noexcept { return {mode_, dead_ ? dead_->connections() : 0}; }

  void drain(std::chrono::nanoseconds patience) {
    if (serving_)
      serving_->drain(patience);
  }

private:
  std::string host_;
  std::shared_ptr<const coordinator::http::router> routes_;
  caf::actor_system& system_;

  std::optional<bound_socket> held_; ///< Keeps the port while nothing listens.
  socket_mode mode_ = socket_mode::refuse;
  std::unique_ptr<endpoint> serving_;
  std::unique_ptr<dead_socket> dead_;
};

} // namespace mp_server
