#pragma once

#include "actors/call_queue.hpp"
#include "actors/membership_view.hpp"
#include "actors/messages.hpp"
#include "actors/observed.hpp"
#include "actors/outbound.hpp"
#include "actors/progress.hpp"

#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>
#include <caf/typed_response_promise.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>

namespace coordinator {

struct courier_options {
  /// Makes the calls. Its owner keeps it until the actor has ended, and ends it before the actor system.
  std::shared_ptr<outbound_client> client;
  call_limits limits;
  duration connect_timeout = std::chrono::seconds{1}; ///< Within the time limit of the call.
  links actors;
  std::shared_ptr<progress_mark> progress;
};

// clang-format off

/// The courier as it sees itself. Others use it as `courier_actor`.
using courier_with_messages_to_itself = courier_actor::extend<
  caf::reacts_to<done_atom, call_queue::call_number, outbound_reply>, // the client has done a call
  caf::reacts_to<deadline_atom, std::uint64_t>>;                      // the timer of that number has fired

// clang-format on

/// One who waits for the answer to a call.
struct asker {
  caf::typed_response_promise<outbound_reply> promise;
  std::optional<outbound_client::call_id> running; ///< As the client names the call.
};

struct courier_state : observed_state {
  static inline constexpr const char* name = "courier";
  courier_state() = default;
  courier_state(const courier_state&) = delete;
  courier_state& operator=(const courier_state&) = delete;
  /// Runs when the actor ends, however it does: gives up what is running, and leaves nobody without an answer.
  ~courier_state();

  courier_options options;
  membership_view fleet;
  std::optional<call_queue> calls; ///< Set when the actor starts.
  std::unordered_map<call_queue::call_number, asker> askers;
  std::optional<time_point> next_timer; ///< When the timer that counts fires; those armed before it are void.
  std::uint64_t timers = 0;             ///< The number of that timer.
};

/// Makes the calls of all other actors to mp servers, so many at a time (docs/courier.md).
courier_with_messages_to_itself::behavior_type
courier(courier_with_messages_to_itself::stateful_pointer<courier_state> self, courier_options options);

} // namespace coordinator
