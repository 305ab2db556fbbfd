#pragma once

#include "actors/log.hpp"
#include "actors/messages.hpp"

#include <caf/deep_to_string.hpp>
#include <caf/local_actor.hpp>
#include <caf/sec.hpp>

#include <cstdint>
#include <exception>
#include <string>
#include <tuple>
#include <utility>

// What every actor of this service has in common: its life and its messages can be followed in the log, and it counts
// what it handles. CAF's own profiler and log macros, which would do this, are compiled out of the packaged library.

namespace coordinator {

/// Base of every actor state. Its constructor keeps CAF from filling the first member with `self` (an aggregate state
/// would be initialised that way under C++20).
struct observed_state {
  observed_state() = default;
  std::uint64_t handled = 0;
};

namespace detail {

void log_handled(const caf::local_actor* self, const std::string& content);
void log_spawned(const caf::local_actor* self);
void log_ended(const char* name, caf::actor_id id, const std::string& reason);
caf::error caught(const caf::local_actor* self, const std::exception_ptr& thrown);

template <class Self, class F, class R, class... Args>
auto observe(Self self, F handler, R (F::*)(Args...) const) {
  return [self, handler = std::move(handler)](Args... args) -> R {
    ++self->state.handled;
    if (log::enabled(log::level::trace, self->name()))
      log_handled(self, caf::deep_to_string(std::forward_as_tuple(args...)));
    return handler(std::forward<Args>(args)...);
  };
}

} // namespace detail

/// The same handler, counted and traced. `handler` must not throw: CAF ends an actor whose handler does, and its state
/// with it.
template <class Self, class F>
auto observed(Self self, F handler) {
  return detail::observe(self, std::move(handler), &F::operator());
}

/// To be called once by each actor's function: logs that it was spawned and, later, that it ended and why.
template <class Self>
void observe_life(Self self) {
  detail::log_spawned(self);
  self->attach_functor([name = self->name(), id = self->id(), &system = self->system()](const caf::error& reason) {
    if (log::enabled(log::level::debug, name))
      detail::log_ended(name, id, system.render(reason));
  });
  self->set_exception_handler([self](std::exception_ptr& thrown) { return detail::caught(self, thrown); });
}

} // namespace coordinator
