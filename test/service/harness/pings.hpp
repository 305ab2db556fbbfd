#pragma once

#include "connection.hpp"
#include "coordinator_process.hpp"
#include "fleet.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

// The coordinator that is built with the capability of docs/adding-a-capability.md, whose pings are calls to mp servers
// that a test can ask for at will.

namespace coordinator::service_test {

/// Unless `flags` say otherwise, nobody lapses during a test.
coordinator_options with_ping(std::vector<std::string> flags);

std::string ping_path(std::string_view id);

/// Asks for a ping of each of these over a connection of its own, and waits for none.
std::vector<connection> start_pings(std::uint16_t port, const std::vector<std::string>& ids);

/// What a ping that was answered tells: `answered`, `refused`, `timed_out` or `failed`. Throws for other answers.
std::string outcome_of(const response& reply);

/// Registers that id for an mp server on this machine. No heartbeats follow.
response register_at(client& to, std::string_view id, std::uint16_t server_port);

/// `count` ids `PREFIX-0`, `PREFIX-1`, …, registered in the same way.
std::vector<std::string> register_many_at(client& to, std::string_view prefix, int count, std::uint16_t server_port);

} // namespace coordinator::service_test
