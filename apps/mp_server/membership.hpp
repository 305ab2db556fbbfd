#pragma once

#include "apps/mp_server/node.hpp"
#include "http/registrar/registrar.hpp"

#include <optional>
#include <string>

namespace mp_server {

/// This server's place in the fleet: a registrar that can be interrupted. For the main thread.
class fleet_membership {
public:
  /// Tells `to` of each registration.
  fleet_membership(mp_registrar::options how, node_actor to);

  /// Registers and sends heartbeats. Empty on success, else what is wrong with the configuration.
  mp_registrar::configuration_problems start();

  /// Suspended: no heartbeats, and the coordinator is not told. Goes on by registering anew. Empty on success, else why
  /// there are none although they are wanted: they stay suspended then.
  std::optional<std::string> set_heartbeats(bool enabled);

  /// As a process does that has restarted; not while suspended. Returns the same.
  std::optional<std::string> register_anew();

  /// Deregisters, unless suspended.
  void stop() { running_.reset(); }

private:
  mp_registrar::options how_;
  std::optional<mp_registrar::registrar> running_;
};

} // namespace mp_server
