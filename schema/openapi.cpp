#include "schema/openapi.hpp"

#include "schema/json.hpp"

#include <algorithm>
#include <functional>
#include <set>
#include <string_view>

namespace coordinator::schema {

namespace {

void member(json_writer& out, std::string_view name, std::string_view text) {
  write_key(out, name);
  write_string(out, text);
}

/// Like `member`, for what may be left out.
void optional_member(json_writer& out, std::string_view name, std::string_view text) {
  if (!text.empty())
    member(out, name, text);
}

/// `"content":{"application/json":{"schema":{"$ref":…}}}`
void write_content(json_writer& out, std::string_view schema) {
  write_key(out, "content");
  out.StartObject();
  write_key(out, "application/json");
  out.StartObject();
  write_key(out, "schema");
  out.StartObject();
  member(out, "$ref", std::string{"#/components/schemas/"}.append(schema));
  out.EndObject();
  out.EndObject();
  out.EndObject();
}

void write_type(json_writer& out, std::string_view type) {
  write_key(out, "schema");
  out.StartObject();
  member(out, "type", type);
  out.EndObject();
}

void write_parameter(json_writer& out, const parameter& described) {
  out.StartObject();
  member(out, "name", described.name);
  member(out, "in", described.in);
  optional_member(out, "description", described.description);
  write_key(out, "required");
  out.Bool(described.required || described.in == "path"); // OpenAPI has no optional path parameters
  write_type(out, described.type);
  out.EndObject();
}

void write_header(json_writer& out, const parameter& header) {
  write_key(out, header.name);
  out.StartObject();
  optional_member(out, "description", header.description);
  if (header.required) {
    write_key(out, "required");
    out.Bool(true);
  }
  write_type(out, header.type);
  out.EndObject();
}

void write_response(json_writer& out, const operation_response& response) {
  write_key(out, std::to_string(response.status));
  out.StartObject();
  member(out, "description", response.description);
  if (!response.headers.empty()) {
    write_key(out, "headers");
    out.StartObject();
    for (const auto& header : response.headers)
      write_header(out, header);
    out.EndObject();
  }
  if (!response.schema.empty())
    write_content(out, response.schema);
  out.EndObject();
}

void write_operation(json_writer& out, const operation& described) {
  write_key(out, described.method);
  out.StartObject();
  member(out, "operationId", described.id);
  optional_member(out, "summary", described.summary);
  optional_member(out, "description", described.description);
  if (!described.tag.empty()) {
    write_key(out, "tags");
    out.StartArray();
    write_string(out, described.tag);
    out.EndArray();
  }
  if (!described.parameters.empty()) {
    write_key(out, "parameters");
    out.StartArray();
    for (const auto& each : described.parameters)
      write_parameter(out, each);
    out.EndArray();
  }
  if (!described.request_schema.empty()) {
    write_key(out, "requestBody");
    out.StartObject();
    write_key(out, "required");
    out.Bool(true);
    write_content(out, described.request_schema);
    out.EndObject();
  }
  write_key(out, "responses");
  out.StartObject();
  for (const auto& response : described.responses)
    write_response(out, response);
  out.EndObject();
  out.EndObject();
}

/// Paths in the order in which they occur first, each with its operations in theirs.
std::vector<std::vector<std::reference_wrapper<const operation>>> by_path(const std::vector<operation>& operations) {
  std::vector<std::vector<std::reference_wrapper<const operation>>> groups;
  for (const auto& each : operations) {
    auto group = std::find_if(groups.begin(), groups.end(),
                              [&each](const auto& candidate) { return candidate.front().get().path == each.path; });
    if (group == groups.end())
      groups.push_back({each});
    else
      group->push_back(each);
  }
  return groups;
}

void write_schemas(json_writer& out, const std::vector<named_schema>& schemas, std::set<std::string_view>& written) {
  for (const auto& schema : schemas) {
    if (!written.insert(schema.name).second)
      continue;
    write_key(out, schema.name);
    write_json(out, schema.json);
    write_schemas(out, schema.parts, written);
  }
}

} // namespace

std::string openapi_document(const std::vector<operation>& operations, const std::vector<named_schema>& schemas,
                             const std::string& version) {
  rapidjson::StringBuffer buffer;
  json_writer out{buffer};
  out.StartObject();
  member(out, "openapi", "3.1.0");
  write_key(out, "info");
  out.StartObject();
  member(out, "title", "mp-coordinator");
  member(out, "version", version);
  out.EndObject();
  write_key(out, "paths");
  out.StartObject();
  for (const auto& group : by_path(operations)) {
    write_key(out, group.front().get().path);
    out.StartObject();
    for (const operation& each : group)
      write_operation(out, each);
    out.EndObject();
  }
  out.EndObject();
  write_key(out, "components");
  out.StartObject();
  write_key(out, "schemas");
  out.StartObject();
  std::set<std::string_view> written;
  write_schemas(out, schemas, written);
  out.EndObject();
  out.EndObject();
  out.EndObject();
  return {buffer.GetString(), buffer.GetSize()};
}

} // namespace coordinator::schema
