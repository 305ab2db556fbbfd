#include "actors/registry.hpp"

#include "actors/errors.hpp"

#include <utility>

namespace coordinator {

namespace {

caf::error error_of(outcome result) {
  return make_error(result == outcome::superseded ? ec::superseded : ec::unknown_instance);
}

void log_join(const caf::local_actor* self, const registration& joined) {
  const auto& entry = *joined.entry;
  log::write(log::level::info, log::of(self), joined.re_registered ? "registry.rejoin" : "registry.join",
             {{"instance_id", entry.instance_id}, {"ip", entry.ip}, {"http_port", entry.http_port}});
  for (const auto& other : joined.same_address)
    log::write(log::level::warning, log::of(self), "registry.same_address",
               {{"instance_id", entry.instance_id},
                {"other_instance_id", other},
                {"ip", entry.ip},
                {"http_port", entry.http_port}});
}

void log_departure(const caf::local_actor* self, const char* event, const schema::instance& entry, duration age) {
  log::write(log::level::info, log::of(self), event,
             {{"instance_id", entry.instance_id}, {"ip", entry.ip}, {"http_port", entry.http_port}, {"age", age}});
}

} // namespace

registry_actor::behavior_type registry(registry_actor::stateful_pointer<registry_state> self,
                                       registry_options options) {
  observe_life(self);
  auto& state = self->state;
  state.members =
      std::make_unique<membership>(options.instance_timeout, std::move(options.run), std::move(options.generate_id));
  auto now = [self] { return self->clock().now(); };
  return {
      observed(
          self,
          [=, &state, wall_clock = std::move(options.wall_clock)](register_atom, schema::register_request& request) {
            auto joined = state.members->join(std::move(request), now(), wall_clock());
            ++state.joined;
            log_join(self, joined);
            return joined;
          }),
      observed(self,
               [=, &state](heartbeat_atom, const instance_reference& target) -> caf::result<void> {
                 auto result = state.members->heartbeat(target.instance_id, target.condition, now());
                 if (result != outcome::done)
                   return error_of(result);
                 return caf::unit;
               }),
      observed(self,
               [=, &state](deregister_atom, const instance_reference& target) -> caf::result<void> {
                 auto gone = state.members->leave(target.instance_id, target.condition, now());
                 if (gone.result != outcome::done)
                   return error_of(gone.result);
                 ++state.left;
                 log_departure(self, "registry.leave", *gone.entry, gone.age);
                 return caf::unit;
               }),
      observed(self, [&state](list_atom, const std::string& known_tag) { return state.members->list(known_tag); }),
      observed(self, [=, &state](details_atom) { return state.members->details(now()); }),
      observed(self,
               [=, &state](find_atom, const std::string& id) -> caf::result<instance_details> {
                 auto found = state.members->find(id, now());
                 if (!found)
                   return make_error(ec::unknown_instance);
                 return std::move(*found);
               }),
      observed(self,
               [=, &state](expire_atom, const expiry_request& request) {
                 if (request.stood_still > duration::zero())
                   state.members->extend_leases(request.stood_still, now());
                 expiry_report report;
                 if (request.evict)
                   for (const auto& lapse : state.members->expire(now())) {
                     ++report.lapsed;
                     log_departure(self, "registry.lapse", *lapse.entry, lapse.age);
                   }
                 state.lapsed += report.lapsed;
                 report.remaining = state.members->size();
                 return report;
               }),
      observed(self, [=, progress = options.progress](caf::tick_atom) { progress->stamp(now()); }),
      observed(self,
               [&state](status_atom) {
                 return actor_status{registry_state::name,
                                     state.handled,
                                     {{"instances", state.members->size()},
                                      {"joined", state.joined},
                                      {"left", state.left},
                                      {"lapsed", state.lapsed}}};
               }),
  };
}

} // namespace coordinator
