#include "harness/service.hpp"

#include <algorithm>
#include <cctype>
#include <regex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

using namespace coordinator::service_test;

namespace {

/// `{instance_id}` replaced by an id.
std::string filled_in(std::string path, std::string_view id) {
  const auto open = path.find('{');
  return open == std::string::npos ? path : path.replace(open, path.find('}') - open + 1, id);
}

std::string upper_case(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

void check_references(const json& value, const json& schemas) {
  if (value.is_object()) {
    for (const auto& name : value.names()) {
      if (name == "$ref") {
        const std::string prefix = "#/components/schemas/";
        const auto target = value[name].text();
        BOOST_REQUIRE(target.starts_with(prefix));
        BOOST_TEST(schemas.has(target.substr(prefix.size())), target);
      } else {
        check_references(value[name], schemas);
      }
    }
  } else if (value.is_array()) {
    for (const auto& item : value.items())
      check_references(item, schemas);
  }
}

using names = std::set<std::string>;

void check_fields(const json& value, std::string_view where, const names& required, const names& allowed) {
  BOOST_REQUIRE_MESSAGE(value.is_object(), where << " is not an object");
  for (const auto& name : required)
    BOOST_TEST(value.has(name), where << " lacks " << name);
  for (const auto& name : value.names())
    BOOST_TEST((required.contains(name) || allowed.contains(name)), where << " has " << name);
}

// What follows are the fields of the OpenAPI 3.1 specification, section 4.8, and the keywords of JSON Schema 2020-12,
// as far as this service has a use for them.

void check_schema(const json& schema) {
  check_fields(schema, "schema", {},
               {"$ref", "type", "description", "properties", "required", "additionalProperties", "items", "enum",
                "default", "format", "minimum", "maximum", "minLength", "maxLength", "maxProperties"});
  static const names types{"null", "boolean", "object", "array", "number", "string", "integer"};
  if (schema.has("type")) {
    const auto type = schema["type"];
    for (const auto& one : type.is_array() ? type.items() : std::vector{type})
      BOOST_TEST(types.contains(one.text()), one);
  }
  for (const std::string keyword : {"minimum", "maximum", "minLength", "maxLength", "maxProperties"})
    if (schema.has(keyword))
      BOOST_CHECK_NO_THROW(schema[keyword].number());
  if (schema.has("properties"))
    for (const auto& name : schema["properties"].names())
      check_schema(schema["properties"][name]);
  if (schema.has("required"))
    for (const auto& name : schema["required"].items())
      BOOST_TEST(schema["properties"].has(name.text()), name);
  for (const std::string keyword : {"items", "additionalProperties"})
    if (schema.has(keyword))
      check_schema(schema[keyword]);
}

void check_content(const json& content) {
  for (const auto& type : content.names()) {
    BOOST_TEST(std::regex_match(type, std::regex{"[a-z]+/[a-z0-9.+-]+"}), type);
    check_fields(content[type], "media type", {}, {"schema"});
    check_schema(content[type]["schema"]);
  }
}

void check_operation(const json& operation) {
  check_fields(operation, "operation", {"responses"},
               {"tags", "summary", "description", "operationId", "parameters", "requestBody"});
  if (operation.has("parameters"))
    for (const auto& parameter : operation["parameters"].items()) {
      check_fields(parameter, "parameter", {"name", "in", "schema"}, {"description", "required"});
      BOOST_TEST((names{"path", "query", "header", "cookie"}.contains(parameter["in"].text())));
      check_schema(parameter["schema"]);
    }
  if (operation.has("requestBody")) {
    check_fields(operation["requestBody"], "request body", {"content"}, {"description", "required"});
    check_content(operation["requestBody"]["content"]);
  }
  BOOST_TEST(operation["responses"].size() > 0u);
  for (const auto& status : operation["responses"].names()) {
    BOOST_TEST(std::regex_match(status, std::regex{"[1-5][0-9]{2}"}), status);
    const auto described = operation["responses"][status];
    check_fields(described, "response", {"description"}, {"headers", "content"});
    if (described.has("headers"))
      for (const auto& name : described["headers"].names()) {
        check_fields(described["headers"][name], "header", {"schema"}, {"description", "required"});
        check_schema(described["headers"][name]["schema"]);
      }
    if (described.has("content"))
      check_content(described["content"]);
  }
}

struct documented : service {
  json document = api.get("/openapi.json").body_json();

  template <class Action>
  void for_each_operation(Action action) {
    for (const auto& path : document["paths"].names())
      for (const auto& method : document["paths"][path].names())
        action(path, method, document["paths"][path][method]);
  }
};

} // namespace

// The description that is served, against the standard and against the service that serves it.
BOOST_FIXTURE_TEST_SUITE(openapi, documented)

BOOST_AUTO_TEST_CASE(it_is_an_openapi_31_document_whose_references_lead_somewhere) {
  BOOST_TEST(document["openapi"].text().starts_with("3.1."));
  BOOST_TEST(!document["info"]["title"].text().empty());
  BOOST_TEST(!document["info"]["version"].text().empty());
  check_references(document, document["components"]["schemas"]);
}

BOOST_AUTO_TEST_CASE(every_object_in_it_has_the_fields_that_the_standard_gives_it_and_no_others) {
  check_fields(document, "document", {"openapi", "info"}, {"paths", "components"});
  check_fields(document["info"], "info", {"title", "version"}, {"summary", "description", "license"});
  check_fields(document["components"], "components", {}, {"schemas"});
  for (const auto& path : document["paths"].names()) {
    BOOST_TEST(path.starts_with("/"), path);
    check_fields(document["paths"][path], path, {},
                 {"get", "put", "post", "delete", "options", "head", "patch", "trace"});
  }
  for_each_operation([](const std::string& path, const std::string& method, const json& operation) {
    BOOST_TEST_CONTEXT(method << ' ' << path) check_operation(operation);
  });
  const auto schemas = document["components"]["schemas"];
  for (const auto& name : schemas.names()) {
    BOOST_TEST(std::regex_match(name, std::regex{"[a-zA-Z0-9._-]+"}), name);
    BOOST_TEST_CONTEXT("schema " << name) check_schema(schemas[name]);
  }
}

BOOST_AUTO_TEST_CASE(every_operation_has_a_unique_id_a_summary_and_its_path_parameters) {
  std::set<std::string> ids;
  for_each_operation([&](const std::string& path, const std::string& method, const json& operation) {
    BOOST_TEST_CONTEXT(method << ' ' << path) {
      BOOST_TEST(ids.insert(operation["operationId"].text()).second);
      BOOST_TEST(!operation["summary"].text().empty());
      std::set<std::string> named;
      if (operation.has("parameters"))
        for (const auto& parameter : operation["parameters"].items())
          if (parameter["in"].text() == "path") {
            BOOST_TEST(parameter["required"].boolean());
            named.insert('{' + parameter["name"].text() + '}');
          }
      BOOST_TEST(named.size() == static_cast<std::size_t>(std::ranges::count(path, '{')));
      for (const auto& name : named)
        BOOST_TEST(path.find(name) != std::string::npos);
    }
  });
}

BOOST_AUTO_TEST_CASE(every_documented_operation_is_served_and_answers_as_documented) {
  for_each_operation([&](const std::string& path, const std::string& method, const json& operation) {
    BOOST_TEST_CONTEXT(method << ' ' << path) {
      register_instance(api, "documented");
      const auto target = filled_in(path, "documented");
      const std::string body =
          operation.has("requestBody") ? R"({"instance_id":"documented","ip":"192.0.2.1","http_port":8080})" : "";
      const auto reply = api.send(upper_case(method), target, body);
      BOOST_TEST(reply.status < 300);
      const auto status = std::to_string(reply.status);
      BOOST_REQUIRE(operation["responses"].has(status));
      const auto described = operation["responses"][status];
      BOOST_TEST(described.has("content") == !reply.body.empty());
      if (described.has("headers"))
        for (const auto& name : described["headers"].names())
          BOOST_TEST(reply.header(name).has_value(), name);
      if (described.has("content") && described["content"]["application/json"]["schema"].has("$ref")) {
        const auto reference = described["content"]["application/json"]["schema"]["$ref"].text();
        const auto schema = document["components"]["schemas"][reference.substr(reference.rfind('/') + 1)];
        for (const auto& name : schema["required"].items())
          BOOST_TEST(reply.body_json().has(name.text()), name);
        for (const auto& name : reply.body_json().names())
          BOOST_TEST(schema["properties"].has(name), name);
      }
    }
  });
}

BOOST_AUTO_TEST_CASE(errors_that_clients_can_cause_are_documented) {
  const auto documented_status = [&](const std::string& path, const std::string& method, const response& reply) {
    BOOST_TEST_CONTEXT(method << ' ' << path << " answered " << reply.status)
    BOOST_TEST(document["paths"][path][method]["responses"].has(std::to_string(reply.status)));
  };
  register_instance(api, "a");
  const std::string one = "/instances/{instance_id}";
  documented_status("/instances", "post", api.post("/instances", "{}"));
  documented_status("/instances", "get", api.get("/instances?heartbeats=perhaps"));
  const auto list = api.get("/instances");
  documented_status("/instances", "get", api.get("/instances", {{"If-None-Match", list.header_text("etag")}}));
  for (const std::string id : {"unknown", "%07", "a"}) {
    documented_status(one, "get", api.get("/instances/" + id));
    documented_status(one + "/heartbeat", "put", api.put("/instances/" + id + "/heartbeat"));
    for (const std::string condition : {"\"another\"", "malformed"}) {
      const header_list headers{{"If-Match", condition}};
      documented_status(one + "/heartbeat", "put", api.put("/instances/" + id + "/heartbeat", headers));
      documented_status(one, "delete", api.del("/instances/" + id, headers));
    }
  }
}

BOOST_AUTO_TEST_CASE(what_is_not_documented_is_not_served) {
  for (const std::string path : {"/", "/docs", "/instances/a/b", "/events", "/metrics"})
    BOOST_TEST(api.get(path).status == 404, path);
  for_each_operation([&](const std::string& path, const std::string&, const json&) {
    const auto methods = document["paths"][path];
    for (const std::string method : {"get", "put", "post", "delete", "patch"})
      if (!methods.has(method))
        BOOST_TEST(api.send(upper_case(method), filled_in(path, "a")).status == 405, method << ' ' << path);
  });
}

BOOST_AUTO_TEST_SUITE_END()
