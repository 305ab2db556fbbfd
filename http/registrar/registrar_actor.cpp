#include "http/registrar/registrar_actor.hpp"

#include <caf/actor_system.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/send.hpp>
#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <memory>
#include <utility>

namespace mp_registrar {

namespace {

/// What the actor owns. Its end is the end of the registration.
struct membership {
  explicit membership(caf::actor_system& around, registrar started) : system{around}, member{std::move(started)} {}

  ~membership() {
    // Waiting is for a thread that has nothing else to do. (An argument and not a capture: CAF 0.17 has undefined
    // behaviour in the spawn of a function without arguments.)
    system.spawn<caf::detached>([](const std::shared_ptr<registrar>& leaving) { leaving->stop(); },
                                std::make_shared<registrar>(std::move(member)));
  }

  membership(const membership&) = delete;
  membership& operator=(const membership&) = delete;

  caf::actor_system& system;
  registrar member;
};

registrar_actor::behavior_type behavior(const std::shared_ptr<membership>& owned) {
  return {[owned](caf::get_atom) {
    return caf::result<std::string, bool>{owned->member.instance_id(), owned->member.registered()};
  }};
}

} // namespace

std::variant<registrar_actor, configuration_problems> spawn_registrar(caf::actor_system& system, options how,
                                                                      event_listener listener) {
  if (listener)
    how.on_event = [listener = std::move(listener), also = std::move(how.on_event)](const event& happened) {
      caf::anon_send(listener, happened);
      if (also)
        also(happened);
    };
  auto started = start(std::move(how));
  if (auto* const found = std::get_if<configuration_problems>(&started))
    return std::move(*found);
  auto owned = std::make_shared<membership>(system, std::get<registrar>(std::move(started)));
  return system.spawn(behavior, std::move(owned));
}

} // namespace mp_registrar
