#pragma once

#include "schema/instance.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

// The vocabulary of membership: who is meant, and what happens to them.

namespace coordinator {

using time_point = std::chrono::steady_clock::time_point;
using duration = std::chrono::nanoseconds;

/// Immutable once made, so that lists share it instead of copying it.
using instance_ptr = std::shared_ptr<const schema::instance>;

/// One registration of an instance, from when it was made until it is replaced or the instance leaves.
struct member {
  instance_ptr entry;
  std::uint64_t registration = 0; ///< Larger than that of any earlier one of this process.
  std::uint64_t place = 0;        ///< In the list: those that first registered later have larger ones.

  bool draining() const noexcept { return entry->state == schema::instance_state::draining; }
};

enum class change_kind : std::uint8_t {
  joined,   ///< Only `after`.
  replaced, ///< The id registered again; `before` is the registration that this ended.
  left,     ///< Only `before`, with a cause.
  drained,  ///< Gets no new work from now on. Same registration, new entry.
  resumed,
};

std::string_view to_string(change_kind value) noexcept;

enum class departure_cause : std::uint8_t {
  none,         ///< Not a departure.
  deregistered, ///< It said so.
  lapsed,       ///< No heartbeat within the lease.
  superseded,   ///< Ended by a later registration of the id, or by a restart of the registry.
};

std::string_view to_string(departure_cause value) noexcept;

struct membership_change {
  change_kind kind{};
  departure_cause cause = departure_cause::none;
  std::optional<member> before{};
  std::optional<member> after{};
};

/// What a follower is told in one message.
struct membership_update {
  std::uint64_t version = 0; ///< Of the fleet after this.
  /// The fleet as a whole, in registration order; null when `changes` lead there from what was told last.
  std::shared_ptr<const std::vector<member>> whole{};
  std::uint64_t latest_registration = 0; ///< With `whole`: of all registrations so far, those that have ended included.
  std::vector<membership_change> changes{};
};

using membership_update_ptr = std::shared_ptr<const membership_update>;

} // namespace coordinator
