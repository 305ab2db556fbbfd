#pragma once

#include "actors/lapse_guard.hpp"
#include "actors/messages.hpp"
#include "actors/observed.hpp"
#include "actors/progress.hpp"

#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <memory>
#include <optional>

namespace coordinator {

// clang-format off

/// Evicts: turns each tick into one expiry at the registry, and finds out about those that the eviction guard holds back.
using health_actor = caf::typed_actor<
  caf::reacts_to<caf::tick_atom>,
  caf::reacts_to<due_atom>, // the time of somebody held back is over
  caf::reacts_to<links_atom, links>,
  caf::replies_to<status_atom>::with<actor_status>>;

// clang-format on

struct health_options {
  /// Time between ticks, which the supervisor keeps to.
  duration tick_interval{};
  bool evicts = true; ///< False: no instance ever lapses.
  /// For how long the guard may hold an instance back.
  duration guard_longest = std::chrono::seconds{60};
  links actors;
  std::shared_ptr<guard_board> guard;
  std::shared_ptr<progress_mark> progress;       ///< Of the actor.
  std::shared_ptr<progress_mark> sweep_progress; ///< Of the sweep as a whole; null when nothing is evicted.
};

/// Decides from the times of the ticks for how long the process stood still, and whether a sweep may evict
/// (docs/architecture.md, "When the process was paused"). A plain value.
class pause_watch {
public:
  /// Lateness up to this is ordinary scheduling, not a pause.
  static constexpr duration tolerance = std::chrono::milliseconds{100};

  /// The first tick is due one interval after `started`.
  pause_watch(duration tick_interval, time_point started) : tick_interval_(tick_interval), last_tick_(started) {}

  /// To be called on every tick. A tick that comes too late tells of a pause: every lease is lengthened by it. One that
  /// is late by a whole interval has missed a sweep, and then heartbeats that arrived meanwhile may still lie unread
  /// in the sockets, so that this sweep evicts nobody; but never two in a row, or a machine that is always late would
  /// never evict.
  expiry_request on_tick(time_point now) noexcept;

private:
  duration tick_interval_;
  time_point last_tick_;
  bool deferred_ = false;
};

struct health_state : observed_state {
  static inline constexpr const char* name = "health";
  links actors;
  // Both are replaced when the actor starts.
  pause_watch watch{duration::zero(), time_point{}};
  lapse_guard guard{duration::zero()};
  std::shared_ptr<guard_board> board;
  std::optional<time_point> guard_timer; ///< When the one that is armed is to fire.
  duration owed{};                       ///< That leases are to be lengthened by, but no sweep could be asked for.
  std::uint64_t guard_alive = 0;         ///< Found alive by the guard, and not evicted therefore.
  std::uint64_t guard_dead = 0;
  bool sweeping = false;
  std::uint64_t asked = 0; ///< Numbers the sweeps: an answer to an earlier one says nothing of the current.
  std::uint64_t sweeps = 0;
  std::uint64_t failed_sweeps = 0;
};

health_actor::behavior_type health(health_actor::stateful_pointer<health_state> self, health_options options);

} // namespace coordinator
