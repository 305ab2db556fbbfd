#pragma once

#include "registrar.hpp" // next to this file, here as well as where it is installed

#include <caf/allowed_unsafe_message_type.hpp>
#include <caf/fwd.hpp>
#include <caf/typed_actor.hpp>

#include <string>
#include <variant>

namespace mp_registrar {

/// Asked with `caf::get_atom`: the instance id, and whether it is registered (`registrar::registered`).
using registrar_actor = caf::typed_actor<caf::replies_to<caf::get_atom>::with<std::string, bool>>;

/// Who is told of events.
using event_listener = caf::typed_actor<caf::reacts_to<event>>;

/// Starts a registrar and puts an actor around it: `listener` (which may be empty) gets each event as a message, and
/// the server leaves the fleet when the actor ends, for whatever reason. Ending takes no time on CAF's threads: an
/// actor with a thread of its own waits for the coordinator's answer, for `stop_timeout` at most, and the actor system
/// waits for that one. `on_event` of the options is called as well.
///
/// CAF ends actors that nobody refers to any more, and so this one lives for as long as its handle is kept. It keeps
/// the listener's handle: a listener that keeps the handle of this actor in turn keeps both alive, and the server
/// registered, until one of them is told to exit (`caf::anon_send_exit`). One that needs it better keeps a
/// `caf::weak_actor_ptr`.
std::variant<registrar_actor, configuration_problems> spawn_registrar(caf::actor_system& system, options how,
                                                                      event_listener listener);

} // namespace mp_registrar

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(mp_registrar::event)
