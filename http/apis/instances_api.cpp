#include "actors/errors.hpp"
#include "http/conditional.hpp"
#include "http/gateway.hpp"
#include "http/problems.hpp"
#include "schema/instance.hpp"
#include "schema/service.hpp"

#include <fmt/format.h>

#include <chrono>
#include <optional>

namespace coordinator::http {

namespace {

using seconds = std::chrono::duration<double>;

std::string quoted(std::string_view tag) {
  return fmt::format("\"{}\"", tag);
}

void register_instance(const call& asked) {
  auto body = asked.body<schema::register_request>();
  if (!body)
    return;
  asked.ask(asked.actors().registry, register_atom_v, std::move(*body))
      .then(
          [asked](const registration& joined) {
            response reply;
            schema::append_json(reply.body, schema::register_reply{joined.entry->instance_id, joined.re_registered});
            reply.headers.emplace_back("ETag", quoted(joined.tag));
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

response list_response(const cached_body& list) {
  response reply;
  reply.shared_body = list.body;
  reply.headers.emplace_back("ETag", quoted(list.tag));
  return reply;
}

/// True when the client has this version of the list already; then answers so.
bool answer_not_modified(const call& asked, const std::string& tag) {
  entity_tag_condition known;
  if (!asked.message().has_header("if-none-match")
      || !parse_entity_tags(asked.message().joined_header("if-none-match"), known)
      || !(known.any || known.matches_weakly(tag)))
    return false;
  response reply;
  reply.status = Code::Not_Modified;
  reply.headers.emplace_back("ETag", quoted(tag));
  asked.answer(std::move(reply));
  return true;
}

/// Rows are written one by one, so that a long list needs no second copy of itself.
template <class Rows, class Append>
std::string list_body(const Rows& rows, Append append_row) {
  std::string body = R"({"instances":[)";
  for (bool first = true; const auto& row : rows) {
    if (!std::exchange(first, false))
      body += ',';
    append_row(body, row);
  }
  body += "]}";
  return body;
}

void list_with_heartbeats(const call& asked) {
  asked.ask(asked.actors().registry, details_atom_v)
      .then(
          [asked](const std::vector<instance_details>& rows) {
            response reply;
            reply.body = list_body(rows, [](std::string& out, const instance_details& row) {
              auto entry = *row.entry;
              entry.seconds_since_heartbeat = seconds{row.age}.count();
              schema::append_json(out, entry);
            });
            asked.answer(std::move(reply));
          },
          [asked](const caf::error& error) { asked.answer_error(error); });
}

void list_instances(const call& asked) {
  const auto heartbeats = asked.flag("heartbeats");
  if (!heartbeats)
    return;
  if (*heartbeats)
    return list_with_heartbeats(asked);
  asked.ask(asked.actors().registry, list_atom_v, asked.state().instance_list.tag)
      .then(
          [asked](const snapshot& current) {
            auto& cached = asked.state().instance_list;
            // Another request may have brought the same rows since the registry was asked.
            if (current.rows && current.tag != cached.tag)
              cached = {current.tag, std::make_shared<const std::string>(
                                         list_body(*current.rows, [](std::string& out, const instance_ptr& row) {
                                           schema::append_json(out, *row);
                                         }))};
            if (!answer_not_modified(asked, cached.tag))
              asked.answer(list_response(cached));
          },
          [asked](const caf::error& error) { asked.answer_error(error); });
}

void get_instance(const call& asked) {
  auto id = asked.instance_id();
  if (!id)
    return;
  asked.ask(asked.actors().registry, find_atom_v, std::move(*id))
      .then(
          [asked](const instance_details& found) {
            auto entry = *found.entry;
            entry.seconds_since_heartbeat = seconds{found.age}.count();
            response reply;
            schema::append_json(reply.body, entry);
            reply.headers.emplace_back("ETag", quoted(found.tag));
            asked.answer(std::move(reply));
          },
          [asked](const caf::error& error) { asked.answer_error(error); });
}

const schema::parameter id_parameter{"instance_id", "path", "The id, percent-encoded: `a/b` is `a%2Fb`.", "string",
                                     true};
const schema::parameter if_match{"If-Match", "header",
                                 "The `ETag` of a registration: the request is then only for that one, and 412 when "
                                 "the id has been registered anew since.",
                                 "string", false};
const schema::parameter etag{"ETag", "", "Names what was answered, for conditional requests.", "string", true};

schema::operation_response invalid(const char* description) {
  return {422, description, schema::json_schema<schema::violations_body>().name, {}};
}

schema::operation_response problem_response(int status, const char* description) {
  return {status, description, schema::json_schema<schema::problem_body>().name, {}};
}

} // namespace

void register_instances_api(router& routes) {
  using namespace schema;
  const auto request = json_schema<register_request>();
  const auto reply = json_schema<register_reply>();
  const auto beat = json_schema<heartbeat_reply>();
  const auto unknown = json_schema<unknown_instance_body>();
  const auto entry = json_schema<instance>();
  const auto list = json_schema<instance_list>();
  for (const auto& one :
       {request, reply, beat, unknown, entry, list, json_schema<problem_body>(), json_schema<violations_body>()})
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

  doc.id = "listInstances";
  doc.summary = "The fleet, in the order in which its members first registered";
  doc.description = "An unchanged fleet is the same bytes, and 304 for a client that sends the `ETag` it knows.";
  doc.parameters = {{"heartbeats", "query", "Adds `seconds_since_heartbeat` to every row.", "boolean", false},
                    {"If-None-Match", "header", "The `ETag` of a list that the client has.", "string", false}};
  doc.responses = {{200, "The list. No `ETag` when `heartbeats` are asked for.", list.name, {}},
                   {304, "The list has not changed.", "", {}},
                   invalid("`heartbeats` is neither yes nor no.")};
  doc.responses[0].headers = {etag};
  doc.responses[0].headers[0].required = false;
  routes.add({Method::Get, "/instances", small_body, doc, list_instances});
}

} // namespace coordinator::http
