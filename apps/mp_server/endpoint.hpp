#pragma once

#include "http/gateway.hpp"
#include "http/server.hpp"

#include <caf/fwd.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace mp_server {

/// A port with our HTTP server behind it: the server and its gateway. For the main thread. The destructor closes every
/// connection.
class endpoint {
public:
  endpoint(std::string host, std::uint16_t port, std::shared_ptr<const coordinator::http::router> routes,
           caf::actor_system& system);
  ~endpoint();
  endpoint(const endpoint&) = delete;
  endpoint& operator=(const endpoint&) = delete;

  /// Empty on success, else what went wrong.
  std::optional<std::string> start();

  std::uint16_t port() const noexcept { return server_.port(); }

  /// Stops accepting and lets requests under way be answered, within that time.
  void drain(std::chrono::nanoseconds patience) { server_.drain(patience); }

private:
  std::shared_ptr<const coordinator::http::router> routes_;
  caf::actor_system& system_;
  coordinator::http::server server_;
  coordinator::http::gateway_actor gateway_;
};

} // namespace mp_server
