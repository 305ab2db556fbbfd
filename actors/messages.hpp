#pragma once

#include "actors/membership.hpp"
#include "actors/outbound.hpp"
#include "schema/instance.hpp"

#include <caf/actor_cast.hpp>
#include <caf/actor_control_block.hpp>
#include <caf/allowed_unsafe_message_type.hpp>
#include <caf/meta/type_name.hpp>
#include <caf/timespan.hpp>
#include <caf/type_id.hpp>
#include <caf/typed_actor.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// Every message that actors of this service exchange, and the interface of every actor.
//
// Messages never leave the process. Small ones that people read in traces have an `inspect`; those that carry shared
// immutable data are declared "unsafe", which in CAF 0.17 means just that they can't be serialised.

namespace coordinator {

/// What a heartbeat or a DELETE is about.
struct instance_reference {
  std::string instance_id;
  registration_condition condition;
};

template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, instance_reference& x) {
  return f(caf::meta::type_name("instance_reference"), x.instance_id);
}

/// Asks the registry to end the leases that have run out.
struct expiry_request {
  duration stood_still{}; ///< Added to every lease first.
  bool evict = true;      ///< False: lengthen leases only.
};

template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, expiry_request& x) {
  return f(caf::meta::type_name("expiry_request"), x.stood_still, x.evict);
}

struct expiry_report {
  std::uint64_t lapsed = 0;
  std::uint64_t remaining = 0; ///< Those held back included.
  /// All that the eviction guard holds back; each waits for a verdict.
  std::vector<member> held_back;
};

/// Whether a registration that the eviction guard holds back was found alive.
struct verdict {
  std::string instance_id;
  std::uint64_t registration = 0;
  bool alive = false;
};

template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, verdict& x) {
  return f(caf::meta::type_name("verdict"), x.instance_id, x.registration, x.alive);
}

/// Takes an instance out of use, or back into it.
struct drain_request {
  std::string instance_id;
  bool wanted = true;
};

template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, drain_request& x) {
  return f(caf::meta::type_name("drain_request"), x.instance_id, x.wanted);
}

/// A call to an mp server. It is given up when the registration that it is for ends.
struct instance_call {
  member target;
  std::string method = "GET";
  std::string path;                           ///< With its query, percent-encoded: `/cache/objects?tier=l2`.
  std::string body;                           ///< JSON; empty: none.
  duration timeout = std::chrono::seconds{5}; ///< From asking to the last byte of the reply, waiting included.
  std::size_t max_reply_bytes = std::size_t{1} << 20;
};

/// What an actor tells of itself.
struct actor_status {
  std::string name;
  std::uint64_t handled = 0; ///< Messages, this one included.
  std::vector<std::pair<std::string, std::uint64_t>> counters;
};

template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, actor_status& x) {
  return f(caf::meta::type_name("actor_status"), x.name, x.handled, x.counters);
}

} // namespace coordinator

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(coordinator::registration)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(coordinator::snapshot)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(coordinator::instance_details)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(coordinator::fleet_details)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(coordinator::schema::register_request)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(coordinator::expiry_report)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(coordinator::membership_update_ptr)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(coordinator::instance_call)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(coordinator::outbound_reply)

namespace coordinator {
struct links;
}

CAF_BEGIN_TYPE_ID_BLOCK(coordinator, caf::first_custom_type_id)

// to the registry
CAF_ADD_ATOM(coordinator, coordinator, register_atom, "register")
CAF_ADD_ATOM(coordinator, coordinator, heartbeat_atom, "heartbeat")
CAF_ADD_ATOM(coordinator, coordinator, deregister_atom, "deregister")
CAF_ADD_ATOM(coordinator, coordinator, list_atom, "list")
CAF_ADD_ATOM(coordinator, coordinator, details_atom, "details")
CAF_ADD_ATOM(coordinator, coordinator, find_atom, "find")
CAF_ADD_ATOM(coordinator, coordinator, expire_atom, "expire")
CAF_ADD_ATOM(coordinator, coordinator, verdict_atom, "verdict")
CAF_ADD_ATOM(coordinator, coordinator, drain_atom, "drain")
CAF_ADD_ATOM(coordinator, coordinator, watch_atom, "watch")
CAF_ADD_ATOM(coordinator, coordinator, follow_atom, "follow")

// from the registry to those who follow it
CAF_ADD_ATOM(coordinator, coordinator, changes_atom, "changes")

// to the courier
CAF_ADD_ATOM(coordinator, coordinator, call_atom, "call")

// of the courier to itself
CAF_ADD_ATOM(coordinator, coordinator, done_atom, "done")
CAF_ADD_ATOM(coordinator, coordinator, deadline_atom, "deadline")

// to every supervised actor
CAF_ADD_ATOM(coordinator, coordinator, links_atom, "links")
CAF_ADD_ATOM(coordinator, coordinator, status_atom, "status")

// of actors to themselves, by timers
CAF_ADD_ATOM(coordinator, coordinator, due_atom, "due")
CAF_ADD_ATOM(coordinator, coordinator, restart_atom, "restart")

CAF_ADD_TYPE_ID(coordinator, (coordinator::instance_reference))
CAF_ADD_TYPE_ID(coordinator, (coordinator::expiry_request))
CAF_ADD_TYPE_ID(coordinator, (coordinator::verdict))
CAF_ADD_TYPE_ID(coordinator, (coordinator::drain_request))
CAF_ADD_TYPE_ID(coordinator, (coordinator::actor_status))

CAF_END_TYPE_ID_BLOCK(coordinator)

namespace coordinator {

// clang-format off

/// One who is told of every change of the fleet. The next update comes once the last was handled, so that a slow follower
/// holds up nobody and fills nothing; `membership_view` turns updates into changes.
using follower_actor = caf::typed_actor<
  caf::reacts_to<changes_atom, membership_update_ptr>>;

/// Owns membership. Errors: `ec::unknown_instance`, `ec::superseded`.
using registry_actor = caf::typed_actor<
  caf::replies_to<register_atom, schema::register_request>::with<registration>,
  caf::reacts_to<heartbeat_atom, instance_reference>,
  caf::reacts_to<deregister_atom, instance_reference>,
  caf::replies_to<list_atom, std::string>::with<snapshot>, // the tag that the asker knows
  caf::replies_to<details_atom>::with<fleet_details>,
  caf::replies_to<find_atom, std::string>::with<instance_details>,
  caf::reacts_to<drain_atom, drain_request>,
  caf::replies_to<watch_atom, std::string>::with<std::string>, // answers once the tag is another one, with that
  caf::reacts_to<follow_atom, follower_actor>, // the first update tells the whole fleet
  caf::replies_to<expire_atom, expiry_request>::with<expiry_report>,
  caf::reacts_to<verdict_atom, verdict>,
  caf::reacts_to<caf::tick_atom>,
  caf::replies_to<status_atom>::with<actor_status>>;

/// Calls mp servers. Any answer of theirs is a reply, and so is the failure to get one (`outbound_outcome`), within the
/// call's time limit. Errors: `ec::departed`, the registration ended before or during the call; `ec::overloaded`.
using courier_actor = caf::typed_actor<
  caf::replies_to<call_atom, instance_call>::with<outbound_reply>,
  caf::reacts_to<changes_atom, membership_update_ptr>,
  caf::reacts_to<caf::tick_atom>,
  caf::reacts_to<links_atom, links>,
  caf::replies_to<status_atom>::with<actor_status>>;

// clang-format on

/// The actors that others may ask. The supervisor sends it anew whenever one of them was restarted.
struct links {
  registry_actor registry{};
  courier_actor courier{};
  /// Further ones by name, entered by their capabilities.
  std::map<std::string, caf::strong_actor_ptr, std::less<>> capabilities{};
};

template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, links& x) {
  return f(caf::meta::type_name("links"), x.registry, x.courier);
}

} // namespace coordinator
