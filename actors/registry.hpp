#pragma once

#include "actors/membership.hpp"
#include "actors/messages.hpp"
#include "actors/observed.hpp"
#include "actors/progress.hpp"

#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <functional>
#include <memory>
#include <string>

namespace coordinator {

struct registry_options {
  duration instance_timeout{};
  std::string run; ///< Unique for each start of the actor: it tells tags of this table from those of an earlier one.
  std::function<std::string()> generate_id;
  std::function<double()> wall_clock; ///< Seconds since the epoch.
  std::shared_ptr<progress_mark> progress;
};

struct registry_state : observed_state {
  static inline constexpr const char* name = "registry";
  std::unique_ptr<membership> members;
  std::uint64_t joined = 0;
  std::uint64_t left = 0;
  std::uint64_t lapsed = 0;
};

/// The only actor that touches membership. Starts empty; servers of an earlier life are told to register again by the
/// 404 that their next heartbeat gets.
registry_actor::behavior_type registry(registry_actor::stateful_pointer<registry_state> self, registry_options options);

} // namespace coordinator
