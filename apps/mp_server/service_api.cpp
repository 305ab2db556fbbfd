#include "apps/mp_server/service_api.hpp"

#include "apps/mp_server/replies.hpp"
#include "http/uri.hpp"
#include "schema/json_text.hpp"
#include "schema/service.hpp"
#include "version.hpp"

#include <string_view>
#include <utility>

namespace mp_server {

namespace http = coordinator::http;
using http::call;
using http::Method;

namespace {

constexpr double bytes_in_gb = 1024.0 * 1024.0 * 1024.0;

/// Stands for the empty salt in paths.
constexpr std::string_view default_salt = "_default";

/// The last segment of the path, decoded.
std::string last_segment(const call& asked) {
  const auto parsed = http::parse_target(asked.message().target);
  return parsed && !parsed->segments.empty() ? parsed->segments.back() : std::string{};
}

std::string salt_in_path(const call& asked) {
  auto salt = last_segment(asked);
  return salt == default_salt ? std::string{} : salt;
}

// -- /cache ------------------------------------------------------------------

void delete_objects(const call& asked, node& state, const fault& wrong) {
  if (auto body = asked.body<schema::delete_objects_request>())
    answer(asked, state, state.cache().delete_objects(std::move(*body), wrong.ok_false), wrong);
}

void list_objects(const call& asked, node& state, const fault& wrong) {
  if (const auto tier = asked.query("tier"); tier && *tier != "l2")
    return asked.answer(http::problem(http::Code::Bad_Request, "only the objects in tier l2 can be listed"));
  const auto page_size = asked.whole_number("page_size", 1, schema::max_page_size);
  if (!page_size)
    return;
  node_cache::page_query query;
  query.page_size = page_size->value_or(schema::default_page_size);
  if (const auto adapter = asked.query("adapter"))
    query.adapter = *adapter;
  if (const auto token = asked.query("page_token"))
    query.page_token = *token;
  query.model_name = asked.query("model_name").value_or("");
  answer(asked, state, state.cache().list_objects(query), wrong);
}

void submit_prefetch(const call& asked, node& state, const fault& wrong) {
  if (const auto body = asked.body<schema::prefetch_request>())
    answer(asked, state,
           state.cache().prefetch(*body, std::chrono::milliseconds{wrong.load_ms}, std::chrono::steady_clock::now()),
           wrong, http::Code::Accepted);
}

void poll_prefetch(const call& asked, node& state, const fault& wrong) {
  answer(asked, state, state.cache().poll_prefetch(last_segment(asked)), wrong);
}

void clear(const call& asked, node& state, const fault& wrong) {
  schema::clear_request wanted;
  if (!asked.message().body.empty()) {
    const auto body = asked.body<schema::clear_request>();
    if (!body)
      return;
    wanted = *body;
  }
  answer(asked, state, state.cache().clear(wanted), wrong);
}

// -- /quota ------------------------------------------------------------------

quota_status quota_of(node& state, const std::string& salt) {
  const auto limit = state.cache().quota(salt);
  return {salt, limit.value_or(0), static_cast<double>(state.cache().l2_bytes_of(salt)) / bytes_in_gb,
          limit.has_value()};
}

void set_quota(const call& asked, node& state, const fault&) {
  const auto body = asked.body<quota_request>();
  if (!body)
    return;
  const auto salt = salt_in_path(asked);
  state.cache().set_quota(salt, body->limit_gb);
  asked.answer_json(quota_reply{salt, body->limit_gb});
}

void get_quota(const call& asked, node& state, const fault&) {
  asked.answer_json(quota_of(state, salt_in_path(asked)));
}

void remove_quota(const call& asked, node& state, const fault&) {
  const auto salt = salt_in_path(asked);
  asked.answer_json(quota_removal{salt, state.cache().remove_quota(salt) ? "removed" : "not_found"});
}

void list_quotas(const call& asked, node& state, const fault&) {
  http::response reply;
  reply.body = R"({"users":{)";
  bool is_first = true;
  for (const auto& [salt, limit] : state.cache().quotas()) {
    if (!std::exchange(is_first, false))
      reply.body += ',';
    schema::append_quoted(reply.body, salt);
    reply.body += R"(:{"limit_gb":)";
    schema::append_number(reply.body, limit);
    reply.body += R"(,"current_usage_gb":)";
    schema::append_number(reply.body, quota_of(state, salt).current_usage_gb);
    reply.body += '}';
  }
  reply.body += "}}";
  asked.answer(std::move(reply));
}

} // namespace

void add_service_routes(http::router& routes, const node_actor& to) {
  const auto add = [&](Method method, const char* path, node_handler handler) {
    add_route(routes, to, true, method, path, std::move(handler));
  };
  add(Method::Delete, "/cache/objects", delete_objects);
  add(Method::Get, "/cache/objects", list_objects);
  add(Method::Post, "/cache/prefetches", submit_prefetch);
  add(Method::Get, "/cache/prefetches/:request_id", poll_prefetch);
  add(Method::Post, "/cache/clear", clear);
  add(Method::Put, "/quota/:cache_salt", set_quota);
  add(Method::Get, "/quota/:cache_salt", get_quota);
  add(Method::Delete, "/quota/:cache_salt", remove_quota);
  add(Method::Get, "/quota", list_quotas);
  add(Method::Get, "/healthcheck",
      [](const call& asked, node&, const fault&) { asked.answer_json(schema::health_reply{}); });
  add(Method::Get, "/version",
      [](const call& asked, node&, const fault&) { asked.answer_json(version_reply{coordinator::version}); });
  add(Method::Get, "/status", [](const call& asked, node& state, const fault&) { asked.answer_json(state.status()); });
}

} // namespace mp_server
