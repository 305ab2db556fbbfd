#include "actors/supervisor.hpp"

#include <algorithm>
#include <utility>

namespace coordinator {

namespace {

constexpr duration shortest_progress_limit = std::chrono::seconds{3};
/// Wait before the second restart in a window; doubled for each further one.
constexpr duration first_backoff = std::chrono::milliseconds{50};

using pointer = supervisor_actor::stateful_pointer<supervisor_state>;

void arm_tick(pointer self, std::uint32_t index, time_point due) {
  self->state.children[index].due = due;
  const auto wait = std::max(due - self->clock().now(), duration::zero());
  self->delayed_send(self, wait, due_atom_v, index);
}

void spawn_child(pointer self, const supervisor_options& options, std::uint32_t index) {
  auto& child = self->state.children[index];
  child.actor = options.children[index].spawn(self->system(), self->state.actors, child.progress);
  child.progress->stamp(self->clock().now());
  child.running = true;
  self->monitor(child.actor.handle);
}

void announce_links(const supervisor_state& state) {
  for (const auto& child : state.children)
    if (child.running && child.actor.update)
      child.actor.update(state.actors);
}

/// Stops the last child that still runs; its end stops the next.
void stop_last(pointer self, const supervisor_options& options) {
  auto& children = self->state.children;
  auto last = std::find_if(children.rbegin(), children.rend(), [](const auto& child) { return child.running; });
  if (last == children.rend()) {
    children.clear(); // drops the handles
    self->state.actors = {};
    self->quit(caf::exit_reason::user_shutdown);
    return;
  }
  self->send_exit(last->actor.handle, caf::exit_reason::user_shutdown);
  // A child that does not obey must not keep the process alive.
  caf::delayed_anon_send(caf::actor_cast<caf::actor>(last->actor.handle), options.stop_grace,
                         caf::exit_msg{self->address(), caf::exit_reason::kill});
}

void on_failure(pointer self, const supervisor_options& options, std::uint32_t index, const caf::error& reason) {
  auto& state = self->state;
  auto& child = state.children[index];
  const auto& name = options.children[index].name;
  const auto now = self->clock().now();
  std::erase_if(state.failures, [&](time_point then) { return now - then > options.restart_window; });
  state.failures.push_back(now);
  ++child.restarts;
  const auto why = self->system().render(reason);
  if (state.failures.size() > options.max_restarts) {
    log::write(log::level::error, log::of(self), "supervisor.gave_up",
               {{"actor", name}, {"reason", why}, {"failures", state.failures.size()}});
    options.give_up(name + ": " + why);
    return;
  }
  const auto earlier = state.failures.size() - 1;
  const auto wait = earlier == 0 ? duration::zero() : first_backoff * (1 << (earlier - 1));
  log::write(log::level::error, log::of(self), "supervisor.restart",
             {{"actor", name}, {"reason", why}, {"restarts", child.restarts}, {"in", wait}});
  if (wait == duration::zero())
    self->send(self, restart_atom_v, index);
  else
    self->delayed_send(self, wait, restart_atom_v, index);
}

void on_down(pointer self, const supervisor_options& options, const caf::down_msg& down) {
  auto& children = self->state.children;
  auto found = std::ranges::find_if(
      children, [&](const auto& child) { return child.running && child.actor.handle.address() == down.source; });
  if (found == children.end())
    return;
  found->running = false;
  found->actor = {};
  if (self->state.stopping)
    stop_last(self, options);
  else // even an actor that ended without a complaint was not meant to end
    on_failure(self, options, static_cast<std::uint32_t>(found - children.begin()), down.reason);
}

} // namespace

duration progress_limit(duration tick_interval) noexcept {
  return std::max<duration>(3 * tick_interval, shortest_progress_limit);
}

supervisor_actor::behavior_type supervisor(pointer self, supervisor_options given) {
  observe_life(self);
  const auto options = std::make_shared<const supervisor_options>(std::move(given));
  auto& state = self->state;
  self->set_down_handler([=](const caf::down_msg& down) { on_down(self, *options, down); });
  self->set_exit_handler([=, &state](const caf::exit_msg&) {
    if (std::exchange(state.stopping, true))
      return;
    stop_last(self, *options);
  });

  const auto now = self->clock().now();
  duration shortest_tick = std::chrono::hours{1};
  for (const auto& specification : options->children) {
    const auto limit = progress_limit(specification.tick_interval);
    state.children.push_back({{}, options->board->watch(specification.name, limit, now), {}, 0, false});
    shortest_tick = std::min(shortest_tick, specification.tick_interval);
  }
  state.progress = options->board->watch(supervisor_state::name, progress_limit(shortest_tick), now);
  for (std::uint32_t index = 0; index < options->children.size(); ++index) {
    spawn_child(self, *options, index);
    arm_tick(self, index, now + options->children[index].tick_interval);
  }
  return {
      observed(
          self,
          [=, &state](due_atom, std::uint32_t index) {
            if (state.stopping)
              return;
            const auto moment = self->clock().now();
            state.progress->stamp(moment);
            auto& child = state.children[index];
            const auto interval = options->children[index].tick_interval;
            const auto next = child.due + interval;
            arm_tick(self, index, next > moment ? next : moment + interval);
            log::write(log::level::debug, log::of(self), "supervisor.tick", {{"actor", options->children[index].name}});
            if (child.running)
              self->send(child.actor.handle, caf::tick_atom_v);
          }),
      observed(self,
               [=, &state](restart_atom, std::uint32_t index) {
                 if (state.stopping)
                   return;
                 spawn_child(self, *options, index);
                 announce_links(state);
               }),
      observed(self,
               [=, &state](status_atom) {
                 actor_status result{supervisor_state::name, state.handled, {}};
                 for (std::size_t index = 0; index < state.children.size(); ++index)
                   result.counters.emplace_back(options->children[index].name + ".restarts",
                                                state.children[index].restarts);
                 return result;
               }),
  };
}

} // namespace coordinator
