#include "http/gateway.hpp"

#include "http/conditional.hpp"
#include "http/problems.hpp"
#include "schema/identifier.hpp"
#include "schema/json_text.hpp"
#include "schema/number_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>

namespace coordinator::http {

namespace {

/// A little more than the time between two ticks.
constexpr duration longest_timer = std::chrono::milliseconds{1500};
/// Waiting clients that are answered in one turn, and the time after it for others.
constexpr std::size_t most_at_once = 32;
constexpr duration pause_between = std::chrono::milliseconds{1};
/// A timer that is armed already will do when it fires at most this much late.
constexpr duration timer_precision = std::chrono::milliseconds{10};

void look_after_waits(gateway_pointer self);

void serve(gateway_pointer self, const exchange_ptr& exchange) {
  const call asked{self, exchange};
  try {
    exchange->matched->handler(asked);
  } catch (const std::exception& error) {
    // A bug, or memory ran out; either way this request's, not the gateway's.
    log::write(log::level::error, log::of(self), "gateway.handler_threw",
               {{"route", exchange->matched->path}, {"exception", error.what()}});
    asked.answer(problem(Code::Internal_Server_Error, "The coordinator failed to handle this request."));
  }
}

/// One question at a time, however many wait.
void watch(gateway_pointer self) {
  auto& state = self->state;
  if (state.watching || state.waits.empty())
    return;
  state.watching = true;
  const auto number = ++state.watch_number;
  self->request(state.options.actors.registry, caf::infinite, watch_atom_v, state.waits.version())
      .then(
          [=](const std::string& version) {
            if (number != self->state.watch_number)
              return;
            self->state.watching = false;
            self->state.waits.changed(version, self->clock().now());
            look_after_waits(self);
          },
          [=](const caf::error&) {
            // The registry is being restarted; its successor is announced, and asked then.
            if (number == self->state.watch_number)
              self->state.watching = false;
          });
}

void look_after_waits(gateway_pointer self) {
  auto& state = self->state;
  if (state.waits.empty() && state.ready.empty())
    return;
  const auto now = self->clock().now();
  const bool stopping = state.options.board->stopping();
  for (auto& ready : stopping ? state.waits.take_all() : state.waits.take_ready(now))
    state.ready.push_back(std::move(ready));
  // A few at a time: what a change sends out to all of them must not keep heartbeats waiting.
  for (std::size_t count = 0; !state.ready.empty() && (count < most_at_once || stopping); ++count) {
    state.ready.front().go_on();
    state.ready.pop_front();
  }
  if (!state.ready.empty()) {
    state.timer_due = now + pause_between;
    self->delayed_send(self, pause_between, timer_atom::value, ++state.timers);
    return;
  }
  // What is further away than the next tick is looked at then: a timer that is armed stays until it fires.
  if (const auto wake = state.waits.wake(); wake < now + longest_timer && wake + timer_precision < state.timer_due) {
    state.timer_due = wake;
    self->delayed_send(self, std::max(wake - now, duration::zero()), timer_atom::value, ++state.timers);
  }
  // While a change settles, there is nothing to ask: what comes next is answered along with it.
  if (!state.waits.settling_down())
    watch(self);
}

} // namespace

void call::wait_for_change(std::string known, duration at_most, std::function<void()> go_on) const {
  auto& waits = self_->state.waits;
  if (waits.size() + self_->state.ready.size() >= membership_waits::most) {
    auto reply = problem(Code::Service_Unavailable, "Too many requests wait for a change already; try again later.");
    reply.headers.emplace_back("Retry-After", "1");
    return answer(std::move(reply));
  }
  exchange_->patience.store(at_most, std::memory_order_relaxed);
  waits.add({exchange_, std::move(known), now() + at_most, std::move(go_on)});
  look_after_waits(self_);
}

std::optional<std::string> call::instance_id() const {
  const auto id = schema::stripped(exchange_->path_parameters.front());
  // A blank id is one that can't be registered, so that it is simply not found.
  if (auto problem = id.empty() ? std::nullopt : schema::identifier_problem(id)) {
    answer_invalid({{"value_error",
                     {std::string{"path"}, std::string{"instance_id"}},
                     "Value error, " + *problem,
                     schema::echo(id),
                     R"({"error":{}})"}});
    return std::nullopt;
  }
  return std::string{id};
}

std::optional<bool> call::flag(std::string_view name) const {
  const auto value = query(name);
  if (!value)
    return false;
  for (const std::string_view yes : {"true", "1", "yes", "on", "t", "y"})
    if (equals_ignoring_case(*value, yes))
      return true;
  for (const std::string_view no : {"false", "0", "no", "off", "f", "n"})
    if (equals_ignoring_case(*value, no))
      return false;
  answer_invalid({{"bool_parsing",
                   {std::string{"query"}, std::string{name}},
                   "Input should be a valid boolean, unable to interpret input",
                   schema::echo(*value),
                   ""}});
  return std::nullopt;
}

std::vector<std::string_view> call::queries(std::string_view name) const {
  std::vector<std::string_view> result;
  for (const auto& [key, value] : exchange_->where.query)
    if (key == name)
      result.emplace_back(value);
  return result;
}

std::optional<std::optional<double>> call::number(std::string_view name, double least, double most) const {
  const auto text = query(name);
  if (!text)
    return std::optional<double>{};
  const auto value = schema::number_in(*text);
  if (!value || *value < least || *value > most) {
    answer_invalid_query(name, *text, fmt::format("must be a number from {} to {}", least, most));
    return std::nullopt;
  }
  return value;
}

std::optional<std::optional<std::size_t>> call::whole_number(std::string_view name, std::size_t least,
                                                             std::size_t most) const {
  const auto text = query(name);
  if (!text)
    return std::optional<std::size_t>{};
  const auto value = schema::whole_number_in<std::size_t>(*text, least, most);
  if (!value) {
    answer_invalid_query(name, *text, fmt::format("must be a whole number from {} to {}", least, most));
    return std::nullopt;
  }
  return value;
}

std::optional<registration_condition> call::condition() const {
  if (!message().has_header("if-match"))
    return registration_condition{};
  entity_tag_condition parsed;
  if (!parse_entity_tags(message().joined_header("if-match"), parsed)) {
    answer(problem(Code::Bad_Request, "If-Match must be * or a list of quoted entity tags."));
    return std::nullopt;
  }
  if (parsed.any)
    return registration_condition{};
  std::vector<std::string> accepted;
  for (std::size_t i = 0; i < parsed.tags.size(); ++i)
    if (!parsed.weak[i]) // a weak tag matches nothing here (RFC 9110, 13.1.1)
      accepted.push_back(std::move(parsed.tags[i]));
  return registration_condition{std::move(accepted)};
}

void call::answer_invalid(const schema::violations& found) const {
  response reply;
  reply.status = Code::Unprocessable_Entity;
  reply.body = schema::to_json(found);
  answer(std::move(reply));
}

void call::answer_invalid_query(std::string_view name, std::string_view value, const std::string& why) const {
  answer_invalid({{"value_error",
                   {std::string{"query"}, std::string{name}},
                   "Value error, " + why,
                   schema::echo(value),
                   R"({"error":{}})"}});
}

void call::answer_error(const caf::error& error) const {
  answer(problem_of(error));
}

gateway_actor::behavior_type gateway(gateway_pointer self, gateway_options options) {
  observe_life(self);
  self->state.options = std::move(options);
  return {
      observed(self, [self](serve_atom, const exchange_ptr& exchange) { serve(self, exchange); }),
      observed(self,
               [self](timer_atom, std::uint64_t number) {
                 if (number != self->state.timers)
                   return;
                 self->state.timer_due = time_point::max();
                 look_after_waits(self);
               }),
      observed(self, [self](wake_atom) { look_after_waits(self); }),
      observed(self,
               [self](caf::tick_atom) {
                 self->state.options.progress->stamp(self->clock().now());
                 look_after_waits(self); // for clients that have gone
               }),
      observed(self,
               [self](links_atom, const links& current) {
                 auto& state = self->state;
                 // A registry that has ended answers none of the questions it had taken (CAF 0.17).
                 if (current.registry != state.options.actors.registry)
                   state.watching = false;
                 state.options.actors = current;
                 look_after_waits(self);
               }),
      observed(self,
               [self](status_atom) {
                 return actor_status{gateway_state::name, self->state.handled, {}};
               }),
  };
}

} // namespace coordinator::http
