#pragma once

#include "actors/messages.hpp"
#include "actors/observed.hpp"
#include "actors/progress.hpp"

#include <caf/send.hpp>
#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace coordinator {

// clang-format off

/// What the supervisor needs of an actor to look after it.
using supervised_actor = caf::typed_actor<
  caf::reacts_to<caf::tick_atom>,
  caf::replies_to<status_atom>::with<actor_status>>;

using supervisor_actor = caf::typed_actor<
  caf::reacts_to<due_atom, std::uint32_t>,     // a child's tick is due
  caf::reacts_to<restart_atom, std::uint32_t>, // a child's wait before its restart is over
  caf::replies_to<status_atom>::with<actor_status>>;

// clang-format on

/// An actor that was just spawned.
struct child {
  supervised_actor handle;
  /// Tells it of restarted peers; empty when it needs none.
  std::function<void(const links&)> update;
};

/// One that takes `links_atom, links` and is told of restarted peers that way.
template <class Handle>
child child_with_links(const Handle& spawned) {
  return {spawned, [spawned](const links& current) { caf::anon_send(spawned, links_atom_v, current); }};
}

/// How to make one of the supervisor's actors, at the start and after each failure.
struct child_specification {
  std::string name;
  /// Time between its ticks. Also what its progress is judged by; must be positive.
  duration tick_interval{};
  /// Spawns the actor. One that others ask enters itself into the links. Runs in the supervisor's turn.
  std::function<child(caf::actor_system&, links&, const std::shared_ptr<progress_mark>&)> spawn;
};

struct supervisor_options {
  /// In start order; stopped in reverse, so that nothing is asked of an actor that has already gone.
  std::vector<child_specification> children;
  std::shared_ptr<progress_board> board;
  /// More failures than this of all children together within the window, and the supervisor gives up.
  std::size_t max_restarts = 5;
  duration restart_window = std::chrono::seconds{60};
  /// How long a child may take to end before it is killed.
  duration stop_grace = std::chrono::seconds{2};
  /// Called once, from the supervisor's turn, when restarting does not help: the process should end and say so.
  std::function<void(const std::string& reason)> give_up;
};

/// Progress limit of an actor that ticks at that interval: three intervals, and never so short that a busy machine
/// looks like a stuck one.
duration progress_limit(duration tick_interval) noexcept;

struct supervised_child {
  child actor;
  std::shared_ptr<progress_mark> progress;
  time_point due{}; ///< Of its next tick.
  std::uint64_t restarts = 0;
  bool running = false;
};

struct supervisor_state : observed_state {
  static inline constexpr const char* name = "supervisor";
  links actors;
  std::vector<supervised_child> children;
  std::vector<time_point> failures; ///< Within the window.
  std::shared_ptr<progress_mark> progress;
  bool stopping = false;
};

/// Spawns, monitors, restarts and finally stops every other actor, and arms their ticks: each child's next tick is
/// armed only when the last one has fired, on a fixed schedule that neither drifts nor catches up in a burst.
supervisor_actor::behavior_type supervisor(supervisor_actor::stateful_pointer<supervisor_state> self,
                                           supervisor_options options);

} // namespace coordinator
