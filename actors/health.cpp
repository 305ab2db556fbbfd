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

void give_up_sweep(health_actor::stateful_pointer<health_state> self, const std::string& why) {
  self->state.sweeping = false;
  ++self->state.failed_sweeps;
  log::write(log::level::warning, log::of(self), "health.sweep_failed", {{"error", why}});
}

void sweep(health_actor::stateful_pointer<health_state> self, const expiry_request& request,
           const std::shared_ptr<progress_mark>& progress) {
  auto& state = self->state;
  if (state.sweeping) {
    log::write(log::level::warning, log::of(self), "health.sweep_skipped", {{"reason", "the last one is not done"}});
    return;
  }
  if (request.stood_still > duration::zero())
    log::write(log::level::warning, log::of(self), "health.stood_still",
               {{"for", request.stood_still}, {"evicts", request.evict}});
  state.sweeping = true;
  const auto number = ++state.asked;
  const auto started = self->clock().now();
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
          },
          [=](const caf::error& error) {
            if (number == self->state.asked)
              give_up_sweep(self, self->system().render(error));
          });
}

} // namespace

health_actor::behavior_type health(health_actor::stateful_pointer<health_state> self, health_options options) {
  observe_life(self);
  self->state.actors = std::move(options.actors);
  self->state.watch = pause_watch{options.tick_interval, self->clock().now()};
  return {
      observed(self,
               [=](caf::tick_atom) {
                 const auto now = self->clock().now();
                 options.progress->stamp(now);
                 if (options.evicts)
                   sweep(self, self->state.watch.on_tick(now), options.sweep_progress);
               }),
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
                                     {{"sweeps", state.sweeps}, {"failed_sweeps", state.failed_sweeps}}};
               }),
  };
}

} // namespace coordinator
