#include "actors/courier.hpp"

#include "actors/errors.hpp"

#include <caf/send.hpp>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace coordinator {

namespace {

using pointer = courier_with_messages_to_itself::stateful_pointer<courier_state>;

/// A timer can't be disarmed, and holds its actor until it fires. So none is armed for longer than this: an actor that
/// has ended is gone as soon.
constexpr duration longest_timer = std::chrono::milliseconds{100};
/// A deadline this much before an armed timer waits for that one, which bounds the timers to a hundred.
constexpr duration timer_precision = std::chrono::milliseconds{1};

std::string url_of(const instance_call& call) {
  const auto& target = *call.target.entry;
  std::string url = "http://";
  if (target.ip.find(':') == std::string::npos) {
    url += target.ip;
  } else { // IPv6, whose zone may follow a percent sign (RFC 6874)
    const auto zone = std::min(target.ip.find('%'), target.ip.size());
    url.append("[").append(target.ip, 0, zone);
    if (zone < target.ip.size())
      url.append("%25").append(target.ip, zone + 1);
    url += ']';
  }
  url.append(":").append(std::to_string(target.http_port));
  if (!call.path.starts_with('/')) // or it would go on with the port
    url += '/';
  return url += call.path;
}

void log_end(pointer self, const call_queue::entry& ended, std::string_view outcome, int status, duration took) {
  if (!log::enabled(log::level::debug, courier_state::name))
    return;
  log::write(log::level::debug, log::of(self), "courier.call",
             {{"instance_id", ended.call.target.entry->instance_id},
              {"method", ended.call.method},
              {"path", ended.call.path},
              {"outcome", outcome},
              {"status", status},
              {"took", took}});
}

asker take_asker(courier_state& state, call_queue::call_number number) {
  const auto found = state.askers.find(number);
  auto result = std::move(found->second);
  state.askers.erase(found);
  return result;
}

void answer(pointer self, const call_queue::entry& ended, outbound_reply reply) {
  const auto now = self->clock().now();
  reply.took = now - ended.asked_at;
  reply.tried_for = ended.running ? now - ended.started : duration::zero();
  log_end(self, ended, to_string(reply.outcome), reply.status, reply.took);
  take_asker(self->state, ended.number).promise.deliver(std::move(reply));
}

void cancel(courier_state& state, const call_queue::entry& ended) {
  if (const auto running = state.askers.at(ended.number).running)
    state.options.client->cancel(*running);
}

void tell_departed(pointer self, const std::vector<call_queue::entry>& given_up) {
  for (const auto& each : given_up) {
    cancel(self->state, each);
    log_end(self, each, to_string(ec::departed), 0, self->clock().now() - each.asked_at);
    take_asker(self->state, each.number).promise.deliver(make_error(ec::departed));
  }
}

void start(pointer self, call_queue::turn next, time_point now) {
  const auto& call = next.which.call;
  outbound_request request;
  request.method = call.method;
  request.url = url_of(call);
  request.body = std::move(next.body);
  request.timeout = next.which.deadline - now;
  request.connect_timeout = std::min(self->state.options.connect_timeout, request.timeout);
  request.max_reply_bytes = call.max_reply_bytes;
  // Weak, so that a call that is never done does not keep an actor that ended.
  auto done = [courier = caf::actor_cast<caf::weak_actor_ptr>(self), number = next.which.number](outbound_reply reply) {
    if (const auto alive = caf::actor_cast<caf::strong_actor_ptr>(courier))
      caf::anon_send(caf::actor_cast<caf::actor>(alive), done_atom_v, number, std::move(reply));
  };
  self->state.askers.at(next.which.number).running =
      self->state.options.client->start(std::move(request), std::move(done));
}

/// To be called after every turn that took calls in or out: answers those whose time is over, starts those whose turn
/// it is, and sees to it that the next deadline is noticed.
void go_on(pointer self) {
  auto& state = self->state;
  const auto now = self->clock().now();
  for (const auto& late : state.calls->expire(now)) {
    cancel(state, late);
    outbound_reply reply;
    reply.outcome = outbound_outcome::timed_out;
    reply.detail = late.running ? "no whole reply within the time limit of the call"
                                : "the call's turn did not come within its time limit";
    answer(self, late, std::move(reply));
  }
  while (auto next = state.calls->start_next(now))
    start(self, std::move(*next), now);

  const auto deadline = state.calls->next_deadline();
  if (!deadline)
    return;
  const auto due = std::min(*deadline, now + longest_timer);
  if (state.next_timer && *state.next_timer <= due + timer_precision)
    return;
  state.next_timer = due;
  self->delayed_send(self, due - now, deadline_atom_v, ++state.timers);
}

void follow(pointer self) {
  if (self->state.options.actors.registry)
    self->send(self->state.options.actors.registry, follow_atom_v, caf::actor_cast<follower_actor>(self));
}

std::uint64_t microseconds(duration value) {
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(value).count());
}

actor_status status_of(const courier_state& state) {
  const auto& counts = state.calls->counts();
  const auto& latencies = state.calls->latencies();
  const auto& waits = state.calls->waits();
  return {courier_state::name,
          state.handled,
          {{"calls", counts.asked},
           {"answered_2xx", counts.answered[2]},
           {"answered_3xx", counts.answered[3]},
           {"answered_4xx", counts.answered[4]},
           {"answered_5xx", counts.answered[5]},
           {"answered_other", counts.answered[0] + counts.answered[1]},
           {"refused", counts.refused},
           {"unreachable", counts.unreachable},
           {"timed_out", counts.timed_out},
           {"failed", counts.failed},
           {"departed", counts.departed},
           {"overloaded", counts.overloaded},
           {"running", state.calls->running()},
           {"waiting", state.calls->waiting()},
           {"waiting_bytes", state.calls->waiting_bytes()},
           {"most_running", counts.most_running},
           {"most_waiting", counts.most_waiting},
           {"latency_p50_us", microseconds(latencies.quantile(0.5))},
           {"latency_p99_us", microseconds(latencies.quantile(0.99))},
           {"latency_max_us", microseconds(latencies.max())},
           {"wait_p50_us", microseconds(waits.quantile(0.5))},
           {"wait_p99_us", microseconds(waits.quantile(0.99))},
           {"wait_max_us", microseconds(waits.max())}}};
}

} // namespace

courier_state::~courier_state() {
  for (auto& [number, each] : askers) {
    if (each.running)
      options.client->cancel(*each.running);
    each.promise.deliver(caf::make_error(caf::sec::request_receiver_down));
  }
}

courier_with_messages_to_itself::behavior_type courier(pointer self, courier_options options) {
  observe_life(self);
  auto& state = self->state;
  state.calls.emplace(options.limits);
  state.options = std::move(options);
  follow(self);
  return {
      observed(self,
               [=, &state](call_atom, instance_call& call) -> caf::result<outbound_reply> {
                 if (state.fleet.has_ended(call.target)) {
                   state.calls->note_departed();
                   return make_error(ec::departed);
                 }
                 const auto number = state.calls->ask(std::move(call), self->clock().now());
                 if (!number)
                   return make_error(ec::overloaded);
                 auto promise = self->make_response_promise<outbound_reply>();
                 state.askers.emplace(*number, asker{promise, std::nullopt});
                 go_on(self);
                 return promise;
               }),
      observed(self,
               [=, &state](changes_atom, const membership_update_ptr& update) {
                 const auto changes = state.fleet.apply(*update);
                 if (update->whole) // what came and went unseen is in no change
                   tell_departed(self, state.calls->give_up_if(
                                           [&](const member& target) { return state.fleet.has_ended(target); }));
                 for (const auto& change : changes)
                   if (change.kind == change_kind::left || change.kind == change_kind::replaced)
                     tell_departed(self, state.calls->give_up(change.before->registration));
                 go_on(self);
               }),
      observed(self, [=, &state](caf::tick_atom) { state.options.progress->stamp(self->clock().now()); }),
      observed(self,
               [=, &state](links_atom, const links& current) {
                 const bool restarted = current.registry != state.options.actors.registry;
                 state.options.actors = current;
                 if (restarted)
                   follow(self);
               }),
      observed(self, [&state](status_atom) { return status_of(state); }),
      observed(self,
               [=, &state](done_atom, call_queue::call_number number, outbound_reply& reply) {
                 if (const auto ended = state.calls->finish(number, reply, self->clock().now()))
                   answer(self, *ended, std::move(reply));
                 go_on(self);
               }),
      observed(self,
               [=, &state](deadline_atom, std::uint64_t timer) {
                 if (timer == state.timers)
                   state.next_timer.reset();
                 go_on(self);
               }),
  };
}

} // namespace coordinator
