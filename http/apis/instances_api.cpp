#include "actors/errors.hpp"
#include "http/apis/documentation.hpp"
#include "http/conditional.hpp"
#include "http/gateway.hpp"
#include "schema/instance.hpp"
#include "schema/service.hpp"

#include <fmt/format.h>

#include <chrono>
#include <optional>
#include <string>
#include <utility>

namespace coordinator::http {

namespace {

using seconds = std::chrono::duration<double>;

void register_instance(const call& asked) {
  auto body = asked.body<schema::register_request>();
  if (!body)
    return;
  asked.ask(asked.actors().registry, register_atom_v, std::move(*body))
      .then(
          [asked](const registration& joined) {
            response reply;
            schema::append_json(reply.body,
                                schema::register_reply{joined.joined.entry->instance_id, joined.re_registered});
            reply.headers.emplace_back("ETag", quoted_tag(joined.tag));
            reply.headers.emplace_back("Instance-Timeout",
                                       fmt::format("{}", seconds{asked.state().options.instance_timeout}.count()));
            asked.answer(std::move(reply));
          },
          [asked](const caf::error& error) { asked.answer_error(error); });
}

/// Whom the path and `If-Match` name. When they can't name anybody, answers so and is empty.
std::optional<instance_reference> reference(const call& asked) {
  auto id = asked.instance_id();
  if (!id)
    return std::nullopt;
  auto condition = asked.condition();
  if (!condition)
    return std::nullopt;
  return instance_reference{std::move(*id), std::move(*condition)};
}

void heartbeat(const call& asked) {
  const auto target = reference(asked);
  if (!target)
    return;
  asked.ask(asked.actors().registry, heartbeat_atom_v, *target)
      .then([asked, id = target->instance_id] { asked.answer_json(schema::heartbeat_reply{id}); },
            [asked, id = target->instance_id](const caf::error& error) {
              if (error != ec::unknown_instance)
                return asked.answer_error(error);
              // Servers act on the status alone: they register again.
              response reply;
              reply.status = Code::Not_Found;
              schema::append_json(reply.body,
                                  schema::unknown_instance_body{"unknown instance " + id + "; re-register"});
              asked.answer(std::move(reply));
            });
}

void deregister(const call& asked) {
  const auto target = reference(asked);
  if (!target)
    return;
  const auto gone = [asked] {
    response reply;
    reply.status = Code::No_Content;
    asked.answer(std::move(reply));
  };
  asked.ask(asked.actors().registry, deregister_atom_v, *target).then(gone, [asked, gone](const caf::error& error) {
    if (error == ec::unknown_instance)
      gone(); // also the answer to a repeated request, whose first answer may have been lost
    else
      asked.answer_error(error);
  });
}

/// The instance, with what only the registry knows of it.
void answer_details(const call& asked, const instance_details& found) {
  auto entry = *found.who.entry;
  entry.seconds_since_heartbeat = seconds{found.age}.count();
  response reply;
  schema::append_json(reply.body, entry);
  reply.headers.emplace_back("ETag", quoted_tag(found.tag));
  asked.answer(std::move(reply));
}

void get_instance(const call& asked) {
  auto id = asked.instance_id();
  if (!id)
    return;
  asked.ask(asked.actors().registry, find_atom_v, std::move(*id))
      .then([asked](const instance_details& found) { answer_details(asked, found); },
            [asked](const caf::error& error) { asked.answer_error(error); });
}

void drain(const call& asked) {
  auto id = asked.instance_id();
  if (!id)
    return;
  asked.ask(asked.actors().registry, drain_atom_v, drain_request{*id, true})
      .then([asked] { get_instance(asked); }, [asked](const caf::error& error) { asked.answer_error(error); });
}

void resume(const call& asked) {
  auto id = asked.instance_id();
  if (!id)
    return;
  asked.ask(asked.actors().registry, drain_atom_v, drain_request{*id, false})
      .then(
          [asked] {
            response reply;
            reply.status = Code::No_Content;
            asked.answer(std::move(reply));
          },
          [asked](const caf::error& error) { asked.answer_error(error); });
}

} // namespace

void register_instances_api(router& routes) {
  using namespace schema;
  const auto request = json_schema<register_request>();
  const auto reply = json_schema<register_reply>();
  const auto beat = json_schema<heartbeat_reply>();
  const auto unknown = json_schema<unknown_instance_body>();
  const auto entry = json_schema<instance>();
  for (const auto& one :
       {request, reply, beat, unknown, entry, json_schema<problem_body>(), json_schema<violations_body>()})
    routes.describe(one);

  operation doc;
  doc.tag = "instances";

  doc.id = "registerInstance";
  doc.summary = "Join the fleet, or replace an earlier registration of the same id";
  doc.description =
      "Repeating it is safe. Everything of an earlier registration is replaced but its place in the list.";
  doc.request_schema = request.name;
  doc.responses = {
      {200,
       "Registered.",
       reply.name,
       {etag,
        {"Instance-Timeout", "", "Seconds without a heartbeat after which the instance is evicted.", "number", true}}},
      invalid("The body breaks its schema; every failing field is named. Nothing was changed.")};
  routes.add({Method::Post, "/instances", small_body, doc, register_instance});

  doc.id = "heartbeat";
  doc.summary = "Renew the lease of an instance";
  doc.description = "Repeating it is safe. The body, if any, is ignored.";
  doc.request_schema.clear();
  doc.parameters = {id_parameter, if_match};
  doc.responses = {{200, "Renewed.", beat.name, {}},
                   problem_response(400, "`If-Match` or the path is malformed."),
                   {404, "Not registered (any more): register again.", unknown.name, {}},
                   problem_response(412, "Registered anew by somebody else; nothing was changed."),
                   invalid("The path holds no possible id.")};
  routes.add({Method::Put, "/instances/:instance_id/heartbeat", small_body, doc, heartbeat});

  doc.id = "deregisterInstance";
  doc.summary = "Leave the fleet";
  doc.description = "Repeating it is safe: an id that is not registered is 204 as well.";
  doc.responses = {{204, "Not registered any more.", "", {}},
                   problem_response(400, "`If-Match` or the path is malformed."),
                   problem_response(412, "Registered anew by somebody else; nothing was changed."),
                   invalid("The path holds no possible id.")};
  routes.add({Method::Delete, "/instances/:instance_id", small_body, doc, deregister});

  doc.id = "getInstance";
  doc.summary = "One instance, with the age of its last heartbeat";
  doc.description.clear();
  doc.parameters = {id_parameter};
  doc.responses = {{200, "The instance; its `ETag` is that of its registration.", entry.name, {etag}},
                   problem_response(400, "The path is malformed."),
                   problem_response(404, "Not registered."),
                   invalid("The path holds no possible id.")};
  routes.add({Method::Get, "/instances/:instance_id", small_body, doc, get_instance});

  doc.id = "drainInstance";
  doc.summary = "Take an instance out of use";
  doc.description = "It stays registered and goes on with what it has, but gets no new work. That outlasts registering "
                    "again, and leaving and coming back, until it is ended with DELETE. Repeating it is safe.";
  doc.responses = {{200, "It is draining.", entry.name, {etag}},
                   problem_response(400, "The path is malformed."),
                   problem_response(404, "Not registered."),
                   invalid("The path holds no possible id.")};
  routes.add({Method::Put, "/instances/:instance_id/drain", small_body, doc, drain});

  doc.id = "resumeInstance";
  doc.summary = "Bring a drained instance back into use";
  doc.description = "Repeating it is safe. It is also for one that has left while it was drained.";
  doc.responses = {{204, "It is not draining.", "", {}},
                   problem_response(400, "The path is malformed."),
                   problem_response(404, "Neither registered nor drained."),
                   invalid("The path holds no possible id.")};
  routes.add({Method::Delete, "/instances/:instance_id/drain", small_body, doc, resume});
}

} // namespace coordinator::http
