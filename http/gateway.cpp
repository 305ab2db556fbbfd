#include "http/gateway.hpp"

#include "http/conditional.hpp"
#include "http/problems.hpp"
#include "schema/identifier.hpp"
#include "schema/json_text.hpp"

#include <exception>

namespace coordinator::http {

namespace {

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

} // namespace

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

void call::answer_error(const caf::error& error) const {
  answer(problem_of(error));
}

gateway_actor::behavior_type gateway(gateway_pointer self, gateway_options options) {
  observe_life(self);
  self->state.options = std::move(options);
  return {
      observed(self, [self](serve_atom, const exchange_ptr& exchange) { serve(self, exchange); }),
      observed(self, [self](caf::tick_atom) { self->state.options.progress->stamp(self->clock().now()); }),
      observed(self, [self](links_atom, const links& current) { self->state.options.actors = current; }),
      observed(self,
               [self](status_atom) {
                 return actor_status{gateway_state::name, self->state.handled, {}};
               }),
  };
}

} // namespace coordinator::http
