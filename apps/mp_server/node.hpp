#pragma once

#include "actors/outbound.hpp"
#include "apps/mp_server/bodies.hpp"
#include "apps/mp_server/event_stream.hpp"
#include "apps/mp_server/fault_plan.hpp"
#include "apps/mp_server/node_cache.hpp"
#include "http/gateway.hpp"

#include <caf/allowed_unsafe_message_type.hpp>
#include <caf/response_promise.hpp>
#include <caf/stateful_actor.hpp>
#include <caf/typed_actor.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace mp_server {

struct node_options {
  std::string instance_id;
  std::int64_t incarnation = 0;
  cache_options cache;
  std::function<double()> wall_clock; ///< Seconds since the epoch.

  /// Who posts events; null: none are made. Must outlive the actor.
  coordinator::outbound_client* reporter = nullptr;
  std::string coordinator_url; ///< Where to, until a registration tells otherwise.
  duration flush_interval = std::chrono::seconds{1};
};

/// What the actor of a node owns.
class node {
public:
  node();

  node_cache& cache() noexcept { return *cache_; }
  fault_plan& faults() noexcept { return faults_; }

  /// The changes of an operation, for the coordinator to hear of.
  void report(const changes& happened);

  /// The process of the node starts anew, with a higher incarnation.
  std::int64_t restart();

  node_status status() const;
  call_list calls() const;
  void forget_calls();
  /// Gives up requests that hang; their connections end with a 503.
  void release_hung() { hung_.clear(); }

private:
  friend struct node_behavior;

  void record(std::string_view method, const coordinator::http::call& asked);
  void declare();

  node_options options_;
  std::optional<node_cache> cache_;
  std::optional<event_stream> stream_;
  fault_plan faults_;
  std::deque<recorded_call> calls_;
  std::size_t recorded_bytes_ = 0; ///< Of the bodies in there.
  std::uint64_t call_count_ = 0;
  std::vector<coordinator::http::call> hung_;
  bool warned_of_refusal_ = false; ///< Since the last post that was taken.
  std::vector<caf::response_promise> waiting_for_delivery_;
};

/// Answers a request in a turn of the node's actor. `wrong` is what the fault plan has for it; empty: nothing.
using node_handler = std::function<void(const coordinator::http::call& asked, node& state, const fault& wrong)>;

/// What became of a post of events.
struct post_result {
  std::uint64_t id = 0;
  event_stream::delivery outcome = event_stream::delivery::failed;
  int status = 0; ///< Of the answer, if there was one.
};

/// A request on its way through the node's actor. What `asked` does with the request alone works there: read it and
/// answer it.
struct visit {
  coordinator::http::call asked;
  std::string_view method; ///< A literal.
  std::shared_ptr<const node_handler> handler;
  bool on_service_port = true; ///< Then it is recorded, and may go wrong.
  fault wrong{};
};

} // namespace mp_server

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(mp_server::visit)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(mp_server::post_result)

namespace mp_server {

using proceed_atom = caf::atom_constant<caf::atom("proceed")>;
using registered_atom = caf::atom_constant<caf::atom("registered")>;
using flush_atom = caf::atom_constant<caf::atom("flush")>;
using retry_atom = caf::atom_constant<caf::atom("retry")>;
using deliver_atom = caf::atom_constant<caf::atom("deliver")>;

// clang-format off

/// Owns the node: its requests, its events, and what is to go wrong with either.
using node_actor = caf::typed_actor<
  caf::reacts_to<visit>,
  caf::reacts_to<proceed_atom, visit>,           // its delay is over
  caf::reacts_to<registered_atom, std::string>,  // at the coordinator of that URL
  caf::reacts_to<flush_atom>,
  caf::reacts_to<retry_atom>,
  caf::reacts_to<post_result>,
  caf::reacts_to<deliver_atom>>; // answered when there are no events left, or they can't be delivered now

// clang-format on

struct node_state {
  node_state() = default;
  static inline constexpr const char* name = "node";
  node owned;
};

node_actor::behavior_type run_node(node_actor::stateful_pointer<node_state> self, node_options options);

/// Adds a route that is answered in the node's actor.
void add_route(coordinator::http::router& routes, const node_actor& to, bool on_service_port,
               coordinator::http::Method method, std::string path, node_handler handler);

} // namespace mp_server
