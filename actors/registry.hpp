#pragma once

#include "actors/membership.hpp"
#include "actors/messages.hpp"
#include "actors/observed.hpp"
#include "actors/progress.hpp"

#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>
#include <caf/typed_response_promise.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace coordinator {

struct registry_options {
  duration instance_timeout{};
  std::string run; ///< Unique for each run of the process: it tells tags of this one from those of an earlier one.
  std::shared_ptr<membership_memory> memory; ///< Kept when the actor is restarted.
  eviction_guard guard;
  std::function<std::string()> generate_id;
  std::function<double()> wall_clock; ///< Seconds since the epoch.
  std::shared_ptr<progress_mark> progress;
};

/// One follower and how far it has been told.
struct followed {
  follower_actor who;
  std::uint64_t version = 0;
  bool knows_whole = false;
  bool busy = false; ///< With the last update.
};

struct registry_state : observed_state {
  static inline constexpr const char* name = "registry";
  std::unique_ptr<membership> members;
  std::vector<followed> followers;
  std::vector<caf::typed_response_promise<std::string>> watchers;
  std::uint64_t joined = 0;
  std::uint64_t left = 0;
  std::uint64_t lapsed = 0;
};

/// The only actor that touches membership. Starts empty; servers of an earlier life are told to register again by the
/// 404 that their next heartbeat gets.
registry_actor::behavior_type registry(registry_actor::stateful_pointer<registry_state> self, registry_options options);

} // namespace coordinator
