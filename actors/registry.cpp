#include "actors/registry.hpp"

#include "actors/errors.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace coordinator {

namespace {

caf::error error_of(outcome result) {
  return make_error(result == outcome::superseded ? ec::superseded : ec::unknown_instance);
}

void log_join(const caf::local_actor* self, const registration& joined) {
  const auto& entry = *joined.joined.entry;
  log::write(log::level::info, log::of(self), joined.re_registered ? "registry.rejoin" : "registry.join",
             {{"instance_id", entry.instance_id}, {"ip", entry.ip}, {"http_port", entry.http_port}});
  if (joined.same_address)
    log::write(log::level::warning, log::of(self), "registry.same_address",
               {{"instance_id", entry.instance_id},
                {"other_instance_id", *joined.same_address},
                {"ip", entry.ip},
                {"http_port", entry.http_port}});
}

void log_departure(const caf::local_actor* self, const char* event, const schema::instance& entry, duration age) {
  log::write(log::level::info, log::of(self), event,
             {{"instance_id", entry.instance_id}, {"ip", entry.ip}, {"http_port", entry.http_port}, {"age", age}});
}

using pointer = registry_actor::stateful_pointer<registry_state>;

void tell_follower(pointer self, const follower_actor& who);

/// Sends a follower what it does not know yet, unless it is still busy with the last update.
void tell(pointer self, followed& follower) {
  auto& members = *self->state.members;
  if (follower.busy || (follower.knows_whole && follower.version == members.journal().version()))
    return;
  std::optional<membership_update> update;
  if (follower.knows_whole)
    update = members.journal().since(follower.version);
  if (!update)
    update = membership_update{members.journal().version(), members.rows(), members.latest_registration(), {}};
  follower.knows_whole = true;
  follower.version = update->version;
  follower.busy = true;
  self->request(follower.who, caf::infinite, changes_atom_v,
                std::make_shared<const membership_update>(std::move(*update)))
      .then([self, who = follower.who] { tell_follower(self, who); },
            // One that ended is forgotten when its end is reported.
            [self, who = follower.who](const caf::error&) { tell_follower(self, who); });
}

void tell_follower(pointer self, const follower_actor& who) {
  auto& followers = self->state.followers;
  const auto found = std::ranges::find(followers, who, &followed::who);
  if (found == followers.end())
    return;
  found->busy = false;
  tell(self, *found);
}

/// To be called after every turn that may have changed membership.
void publish(pointer self) {
  auto& state = self->state;
  for (auto& follower : state.followers)
    tell(self, follower);
  if (!state.watchers.empty()) {
    const auto tag = state.members->version_tag();
    for (auto& watcher : std::exchange(state.watchers, {}))
      watcher.deliver(tag);
  }
}

void follow(pointer self, const follower_actor& who) {
  auto& followers = self->state.followers;
  if (std::ranges::find(followers, who, &followed::who) != followers.end())
    return;
  self->monitor(who);
  followers.push_back({who, 0, false, false});
  tell(self, followers.back());
}

expiry_report sweep(pointer self, const expiry_request& request, const eviction_guard& guard, time_point now) {
  auto& state = self->state;
  if (request.stood_still > duration::zero())
    state.members->extend_leases(request.stood_still, now);
  expiry_report report;
  if (request.evict) {
    auto swept = state.members->sweep(now, guard);
    for (const auto& lapse : swept.lapsed)
      log_departure(self, "registry.lapse", *lapse.who.entry, lapse.age);
    report.lapsed = swept.lapsed.size();
    report.held_back = std::move(swept.held_back);
  }
  state.lapsed += report.lapsed;
  report.remaining = state.members->size();
  if (report.lapsed > 0)
    publish(self);
  return report;
}

} // namespace

registry_actor::behavior_type registry(registry_actor::stateful_pointer<registry_state> self,
                                       registry_options options) {
  observe_life(self);
  auto& state = self->state;
  state.members = std::make_unique<membership>(options.instance_timeout, std::move(options.run),
                                               std::move(options.generate_id), std::move(options.memory));
  auto now = [self] { return self->clock().now(); };
  self->set_down_handler([&state](const caf::down_msg& down) {
    std::erase_if(state.followers, [&](const followed& each) { return each.who.address() == down.source; });
  });
  return {
      observed(
          self,
          [=, &state, wall_clock = std::move(options.wall_clock)](register_atom, schema::register_request& request) {
            auto joined = state.members->join(std::move(request), now(), wall_clock());
            ++state.joined;
            log_join(self, joined);
            publish(self);
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
                 log_departure(self, "registry.leave", *gone.who.entry, gone.age);
                 publish(self);
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
               [=, &state](drain_atom, const drain_request& request) -> caf::result<void> {
                 if (state.members->drain(request.instance_id, request.wanted) != outcome::done)
                   return make_error(ec::unknown_instance);
                 log::write(log::level::info, log::of(self), request.wanted ? "registry.drain" : "registry.resume",
                            {{"instance_id", request.instance_id}});
                 publish(self);
                 return caf::unit;
               }),
      observed(self,
               [=, &state](watch_atom, const std::string& known_tag) -> caf::result<std::string> {
                 auto tag = state.members->version_tag();
                 if (tag != known_tag)
                   return tag;
                 auto promise = self->make_response_promise<std::string>();
                 state.watchers.push_back(promise);
                 return promise;
               }),
      observed(self, [self](follow_atom, const follower_actor& who) { follow(self, who); }),
      observed(self, [=, guard = options.guard](
                         expire_atom, const expiry_request& request) { return sweep(self, request, guard, now()); }),
      observed(self,
               [=, &state](verdict_atom, const verdict& given) {
                 if (const auto gone =
                         state.members->judge(given.instance_id, given.registration, given.alive, now())) {
                   ++state.lapsed;
                   log_departure(self, "registry.lapse", *gone->who.entry, gone->age);
                   publish(self);
                 }
               }),
      observed(self, [=, progress = options.progress](caf::tick_atom) { progress->stamp(now()); }),
      observed(self,
               [&state](status_atom) {
                 return actor_status{registry_state::name,
                                     state.handled,
                                     {{"instances", state.members->size()},
                                      {"joined", state.joined},
                                      {"left", state.left},
                                      {"lapsed", state.lapsed},
                                      {"followers", state.followers.size()}}};
               }),
  };
}

} // namespace coordinator
