#pragma once

#include "actors/membership.hpp"
#include "schema/instance.hpp"

#include <caf/allowed_unsafe_message_type.hpp>
#include <caf/meta/type_name.hpp>
#include <caf/timespan.hpp>
#include <caf/type_id.hpp>
#include <caf/typed_actor.hpp>

#include <cstdint>
#include <string>
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
  std::uint64_t remaining = 0;
};

template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, expiry_report& x) {
  return f(caf::meta::type_name("expiry_report"), x.lapsed, x.remaining);
}

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
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(std::vector<coordinator::instance_details>)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(coordinator::schema::register_request)

CAF_BEGIN_TYPE_ID_BLOCK(coordinator, caf::first_custom_type_id)

// to the registry
CAF_ADD_ATOM(coordinator, coordinator, register_atom, "register")
CAF_ADD_ATOM(coordinator, coordinator, heartbeat_atom, "heartbeat")
CAF_ADD_ATOM(coordinator, coordinator, deregister_atom, "deregister")
CAF_ADD_ATOM(coordinator, coordinator, list_atom, "list")
CAF_ADD_ATOM(coordinator, coordinator, details_atom, "details")
CAF_ADD_ATOM(coordinator, coordinator, find_atom, "find")
CAF_ADD_ATOM(coordinator, coordinator, expire_atom, "expire")

// to every supervised actor
CAF_ADD_ATOM(coordinator, coordinator, links_atom, "links")
CAF_ADD_ATOM(coordinator, coordinator, status_atom, "status")

// of the supervisor to itself
CAF_ADD_ATOM(coordinator, coordinator, due_atom, "due")
CAF_ADD_ATOM(coordinator, coordinator, restart_atom, "restart")

CAF_ADD_TYPE_ID(coordinator, (coordinator::instance_reference))
CAF_ADD_TYPE_ID(coordinator, (coordinator::expiry_request))
CAF_ADD_TYPE_ID(coordinator, (coordinator::expiry_report))
CAF_ADD_TYPE_ID(coordinator, (coordinator::actor_status))

CAF_END_TYPE_ID_BLOCK(coordinator)

namespace coordinator {

// clang-format off

/// Owns membership. Errors: `ec::unknown_instance`, `ec::superseded`.
using registry_actor = caf::typed_actor<
  caf::replies_to<register_atom, schema::register_request>::with<registration>,
  caf::reacts_to<heartbeat_atom, instance_reference>,
  caf::reacts_to<deregister_atom, instance_reference>,
  caf::replies_to<list_atom, std::string>::with<snapshot>, // the tag that the asker knows
  caf::replies_to<details_atom>::with<std::vector<instance_details>>,
  caf::replies_to<find_atom, std::string>::with<instance_details>,
  caf::replies_to<expire_atom, expiry_request>::with<expiry_report>,
  caf::reacts_to<caf::tick_atom>,
  caf::replies_to<status_atom>::with<actor_status>>;

// clang-format on

/// The actors that others may ask. The supervisor sends it anew whenever one of them was restarted.
struct links {
  registry_actor registry;
};

template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, links& x) {
  return f(caf::meta::type_name("links"), x.registry);
}

} // namespace coordinator
