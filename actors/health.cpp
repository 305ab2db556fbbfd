#include "actors/health.hpp"

#include <utility>

namespace coordinator {

expiry_request pause_watch::on_tick(time_point now) noexcept {
  expiry_request result;
  const auto lateness = now - last_tick_ - tick_interval_;
  if (lateness > tolerance)
    result.stood_still = lateness;
  result.evict = deferred_ || lateness < tick_interval_;
  deferred_ = !result.evict;
  last_tick_ = now;
  return result;
}

namespace {

using pointer = health_actor::stateful_pointer<health_state>;

void ask_held_back(pointer self);

void judge(pointer self, const member& who, bool alive) {
  auto& state = self->state;
  ++(alive ? state.guard_alive : state.guard_dead);
  // Without an answer: one that is lost shows in the next sweep, which holds the instance back again.
  self->send(state.actors.registry, verdict_atom_v, verdict{who.entry->instance_id, who.registration, alive});
}

void show_guard(pointer self) {
  auto& state = self->state;
  const auto before = state.board->get();
  const auto current = state.guard.status();
  state.board->set(current);
  if (before.active() && !current.active())
    log::write(log::level::warning, log::of(self), "health.guard_done",
               {{"alive", current.alive}, {"evicted", current.dead}});
}

/// How late the end of a question's time may be noticed by a process that runs.
constexpr duration longest_lateness = std::chrono::milliseconds{500};

/// Whether the failure to get an answer can be this process's own fault.
bool says_nothing(const outbound_reply& reply) {
  switch (reply.outcome) {
  case outbound_outcome::unreachable:
    return true; // no network, no name service or no descriptors
  case outbound_outcome::timed_out:
    // Other calls were in front of it and left it no time; or the process stood still, and the answer came meanwhile.
    return reply.tried_for < lapse_guard::probe_timeout / 2 || reply.took > lapse_guard::probe_timeout + longest_lateness;
  default:
    return false;
  }
}

void ask(pointer self, const member& who) {
  instance_call call;
  call.target = who;
  call.path = "/healthcheck";
  call.timeout = lapse_guard::probe_timeout;
  self->request(self->state.actors.courier, caf::infinite, call_atom_v, std::move(call))
      .then(
          [self, registration = who.registration](const outbound_reply& reply) {
            if (says_nothing(reply)) {
              self->state.guard.not_asked(registration);
              return show_guard(self);
            }
            // Any answer will do: who says that it is unwell is not dead.
            const bool alive = reply.outcome == outbound_outcome::answered;
            if (const auto decided = self->state.guard.answered(registration, alive, self->clock().now())) {
              log::write(log::level::debug, log::of(self), "health.guard_asked",
                         {{"instance_id", decided->entry->instance_id},
                          {"alive", alive},
                          {"outcome", to_string(reply.outcome)},
                          {"detail", reply.detail}});
              judge(self, *decided, alive);
            }
            ask_held_back(self);
          },
          [self, registration = who.registration](const caf::error&) {
            // It has left, or the courier is busy or was restarted; if it is still held back, the next tick asks again.
            self->state.guard.not_asked(registration);
            show_guard(self);
          });
}

void ask_held_back(pointer self) {
  for (const auto& who : self->state.guard.next_probes(self->clock().now()))
    ask(self, who);
  show_guard(self);
}

/// Evicts those whose time is over, and sees to it that this is looked at again when the next one's is.
void end_overdue(pointer self) {
  auto& state = self->state;
  const auto now = self->clock().now();
  for (const auto& who : state.guard.overdue(now))
    judge(self, who, false);
  if (const auto current = state.guard.status(); current.active() && !state.guard_timer) {
    state.guard_timer = current.next_end;
    self->delayed_send(self, current.next_end - now, due_atom_v);
  }
  ask_held_back(self);
}

/// The timer for that has fired. Comes it late, the process stood still: then the next sweep that may evict looks at
/// it, once it has given everybody the time back.
void on_guard_timer(pointer self) {
  const auto due = std::exchange(self->state.guard_timer, std::nullopt);
  if (due && self->clock().now() - *due <= pause_watch::tolerance)
    end_overdue(self);
}

void hold_back(pointer self, const expiry_report& report, time_point asked) {
  auto& guard = self->state.guard;
  const auto now = self->clock().now();
  if (guard.hold(report.held_back, asked, now)) {
    const auto current = guard.status();
    log::write(log::level::warning, log::of(self), "health.guard_holds",
               {{"held_back", current.held_back},
                {"fleet", report.remaining},
                {"ends_within", current.last_end - now},
                {"because", "many leases ran out at once; each server is asked at its address before it is evicted"}});
  }
  end_overdue(self);
}

void give_up_sweep(pointer self, const std::string& why) {
  self->state.sweeping = false;
  ++self->state.failed_sweeps;
  log::write(log::level::warning, log::of(self), "health.sweep_failed", {{"error", why}});
}

void sweep(pointer self, expiry_request request, const std::shared_ptr<progress_mark>& progress) {
  auto& state = self->state;
  if (request.stood_still > duration::zero())
    state.guard.extend(request.stood_still);
  request.stood_still += std::exchange(state.owed, duration::zero());
  if (state.sweeping) {
    state.owed = request.stood_still;
    log::write(log::level::warning, log::of(self), "health.sweep_skipped", {{"reason", "the last one is not done"}});
    return;
  }
  if (request.stood_still > duration::zero())
    log::write(log::level::warning, log::of(self), "health.stood_still",
               {{"for", request.stood_still}, {"evicts", request.evict}});
  state.sweeping = true;
  const auto number = ++state.asked;
  const auto started = self->clock().now();
  const bool evict = request.evict;
  // No deadline: CAF keeps a timer per deadline, and a registry that ended answers with an error at once.
  self->request(state.actors.registry, caf::infinite, expire_atom_v, request)
      .then(
          [=, &state](const expiry_report& report) {
            if (number != state.asked)
              return;
            state.sweeping = false;
            ++state.sweeps;
            progress->stamp(self->clock().now());
            log::write(
                log::level::debug, log::of(self), "health.sweep",
                {{"lapsed", report.lapsed}, {"remaining", report.remaining}, {"took", self->clock().now() - started}});
            if (evict)
              hold_back(self, report, started);
          },
          [=](const caf::error& error) {
            if (number == self->state.asked)
              give_up_sweep(self, self->system().render(error));
          });
}

} // namespace

health_actor::behavior_type health(pointer self, health_options options) {
  observe_life(self);
  self->state.actors = std::move(options.actors);
  self->state.watch = pause_watch{options.tick_interval, self->clock().now()};
  self->state.guard = lapse_guard{options.guard_longest};
  self->state.board = options.guard;
  self->state.board->set({}); // an earlier life may have left something there
  return {
      observed(self,
               [=](caf::tick_atom) {
                 const auto now = self->clock().now();
                 options.progress->stamp(now);
                 if (options.evicts)
                   sweep(self, self->state.watch.on_tick(now), options.sweep_progress);
               }),
      observed(self, [self](due_atom) { on_guard_timer(self); }),
      observed(self,
               [self](links_atom, const links& current) {
                 // An actor that ends in mid-request may leave it without an answer (CAF 0.17 has no broken promises).
                 if (self->state.sweeping && current.registry != self->state.actors.registry)
                   give_up_sweep(self, "the registry was restarted");
                 self->state.actors = current;
               }),
      observed(self,
               [self](status_atom) {
                 const auto& state = self->state;
                 return actor_status{health_state::name,
                                     state.handled,
                                     {{"sweeps", state.sweeps},
                                      {"failed_sweeps", state.failed_sweeps},
                                      {"held_back", state.guard.status().held_back},
                                      {"guard_alive", state.guard_alive},
                                      {"guard_dead", state.guard_dead}}};
               }),
  };
}

} // namespace coordinator
