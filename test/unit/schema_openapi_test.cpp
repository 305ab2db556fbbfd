#include "schema/instance.hpp"
#include "schema/json.hpp"
#include "schema/openapi.hpp"
#include "schema/service.hpp"

#include <boost/test/unit_test.hpp>

#include <set>
#include <string>
#include <string_view>
#include <vector>

using namespace coordinator::schema;

namespace {

std::vector<named_schema> all_schemas() {
  return {json_schema<register_request>(), json_schema<register_reply>(),
          json_schema<heartbeat_reply>(),  json_schema<instance>(),
          json_schema<instance_list>(),    json_schema<health_reply>(),
          json_schema<readiness_reply>(),  json_schema<late_activity>(),
          json_schema<problem_body>(),     json_schema<unknown_instance_body>(),
          json_schema<violations_body>(),  json_schema<violation>()};
}

const std::vector<operation> operations = {
    {.method = "post",
     .path = "/instances",
     .id = "register_instance",
     .summary = "Join the fleet",
     .description = "Replaces an \"earlier\" registration.",
     .tag = "membership",
     .parameters = {},
     .request_schema = "register_request",
     .responses = {{.status = 200,
                    .description = "Registered.",
                    .schema = "register_reply",
                    .headers = {{.name = "Instance-Timeout",
                                 .in = {},
                                 .description = "Lease in seconds.",
                                 .type = "number",
                                 .required = true},
                                {.name = "ETag", .in = {}, .description = {}}}},
                   {.status = 422, .description = "Refused.", .schema = "violations", .headers = {}}}},
    {.method = "put",
     .path = "/instances/{instance_id}/heartbeat",
     .id = "heartbeat",
     .summary = {},
     .description = {},
     .tag = {},
     .parameters = {{.name = "instance_id", .in = "path", .description = "Id."},
                    {.name = "If-Match", .in = "header", .description = {}}},
     .request_schema = {},
     .responses = {{.status = 204, .description = "Done.", .schema = {}, .headers = {}}}},
    {.method = "get",
     .path = "/instances",
     .id = "list_instances",
     .summary = {},
     .description = {},
     .tag = {},
     .parameters = {{.name = "heartbeats", .in = "query", .description = {}, .type = "boolean", .required = false}},
     .request_schema = {},
     .responses = {{.status = 200, .description = "The fleet.", .schema = "instance_list", .headers = {}}}},
};

/// Every value of a member named `$ref`.
void collect_references(const json_value& value, std::set<std::string>& found) {
  if (value.IsArray())
    for (auto item = value.Begin(); item != value.End(); ++item)
      collect_references(*item, found);
  if (!value.IsObject())
    return;
  for (auto member = value.MemberBegin(); member != value.MemberEnd(); ++member) {
    if (text_of(member->name) == "$ref" && member->value.IsString())
      found.emplace(text_of(member->value));
    collect_references(member->value, found);
  }
}

} // namespace

BOOST_AUTO_TEST_SUITE(schema_openapi_test)

BOOST_AUTO_TEST_CASE(every_schema_is_an_object_schema_whose_required_fields_exist) {
  std::set<std::string> names;
  for (const auto& schema : all_schemas()) {
    BOOST_TEST_CONTEXT(schema.name) {
      names.insert(schema.name);
      json_document document;
      BOOST_REQUIRE(!document.read(schema.json));
      const auto& root = document.root();
      BOOST_REQUIRE(root.IsObject() && root.HasMember("type") && root.HasMember("properties")
                    && root.HasMember("required"));
      BOOST_TEST(text_of(root["type"]) == "object");
      BOOST_TEST(!text_of(root["description"]).empty());
      const auto& properties = root["properties"];
      for (auto property = properties.MemberBegin(); property != properties.MemberEnd(); ++property) {
        BOOST_REQUIRE(property->value.IsObject() && property->value.HasMember("description"));
        BOOST_TEST(!text_of(property->value["description"]).empty());
      }
      for (auto name = root["required"].Begin(); name != root["required"].End(); ++name)
        BOOST_TEST(properties.HasMember(*name));
    }
  }
  BOOST_TEST(names.size() == all_schemas().size());
}

BOOST_AUTO_TEST_CASE(the_schema_of_a_registration_shows_its_rules) {
  const auto schema = json_schema<register_request>();
  json_document document;
  BOOST_REQUIRE(!document.read(schema.json));
  const auto& properties = document.root()["properties"];
  const auto property = [&properties](const char* name, const char* keyword) {
    return echo(properties[name][keyword]);
  };
  BOOST_TEST(echo(document.root()["required"]) == R"(["ip","http_port"])");
  BOOST_TEST(property("ip", "minLength") == "1");
  BOOST_TEST(property("http_port", "minimum") == "1");
  BOOST_TEST(property("http_port", "maximum") == "65535");
  BOOST_TEST(property("mq_port", "minimum") == "0");
  BOOST_TEST(property("mq_port", "default") == "0");
  BOOST_TEST(property("metadata", "default") == "{}");
  BOOST_TEST(property("metadata", "maxProperties") == std::to_string(max_metadata_entries));
  BOOST_TEST(property("p2p_advertised_url", "maxLength") == std::to_string(max_advertised_url_bytes));
  BOOST_TEST(property("metadata", "description").find(std::to_string(max_metadata_bytes)) != std::string::npos);
  BOOST_TEST(property("instance_id", "description").find("256") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_field_that_may_be_missing_is_not_required) {
  const auto schema = json_schema<instance>();
  json_document document;
  BOOST_REQUIRE(!document.read(schema.json));
  BOOST_TEST(echo(document.root()["required"])
             == R"(["instance_id","ip","http_port","registration_time","metadata","p2p_advertised_url","mq_port"])");
  BOOST_TEST(document.root()["properties"].HasMember("seconds_since_heartbeat"));
  BOOST_TEST(!document.root()["properties"]["seconds_since_heartbeat"].HasMember("default"));
}

BOOST_AUTO_TEST_CASE(an_operation_is_described_whole) {
  const auto document = openapi_document({operations[0]}, {{"register_request", R"({"type":"object"})"}}, "1.2.3");
  BOOST_TEST(
      document
      == R"({"openapi":"3.1.0","info":{"title":"mp-coordinator","version":"1.2.3"},"paths":{"/instances":{"post":{)"
         R"("operationId":"register_instance","summary":"Join the fleet","description":"Replaces an \"earlier\" registration.",)"
         R"("tags":["membership"],)"
         R"("requestBody":{"required":true,"content":{"application/json":{"schema":{"$ref":"#/components/schemas/register_request"}}}},)"
         R"("responses":{"200":{"description":"Registered.","headers":{)"
         R"("Instance-Timeout":{"description":"Lease in seconds.","required":true,"schema":{"type":"number"}},)"
         R"("ETag":{"schema":{"type":"string"}}},)"
         R"("content":{"application/json":{"schema":{"$ref":"#/components/schemas/register_reply"}}}},)"
         R"("422":{"description":"Refused.","content":{"application/json":{"schema":{"$ref":"#/components/schemas/violations"}}}}}}}},)"
         R"("components":{"schemas":{"register_request":{"type":"object"}}}})");
}

BOOST_AUTO_TEST_CASE(operations_of_one_path_stand_together) {
  const auto text = openapi_document(operations, {}, "1");
  json_document document; // which refuses members that occur twice
  BOOST_REQUIRE(!document.read(text));
  const auto& paths = document.root()["paths"];
  BOOST_TEST(paths.MemberCount() == 2U);
  BOOST_TEST(text_of(paths.MemberBegin()->name) == "/instances");
  BOOST_TEST(paths["/instances"].HasMember("post"));
  BOOST_TEST(echo(paths["/instances"]["get"]["parameters"])
             == R"([{"name":"heartbeats","in":"query","required":false,"schema":{"type":"boolean"}}])");
  BOOST_TEST(
      echo(paths["/instances/{instance_id}/heartbeat"]["put"])
      == R"({"operationId":"heartbeat","parameters":[{"name":"instance_id","in":"path","description":"Id.","required":true,"schema":{"type":"string"}},)"
         R"({"name":"If-Match","in":"header","required":false,"schema":{"type":"string"}}],"responses":{"204":{"description":"Done."}}})");
}

BOOST_AUTO_TEST_CASE(a_document_is_the_same_every_time_and_all_its_references_resolve) {
  // `instance`, `violation` and `guard` come along as parts of others, or are given and are not written again.
  const std::vector<named_schema> named = {json_schema<register_request>(), json_schema<register_reply>(),
                                           json_schema<instance_list>(), json_schema<violations_body>(),
                                           json_schema<readiness_reply>()};
  auto repeated = named;
  repeated.push_back(json_schema<instance>());
  repeated.push_back(json_schema<register_request>());
  const auto text = openapi_document(operations, named, "0.1.0");
  BOOST_TEST(text == openapi_document(operations, named, "0.1.0"));
  BOOST_TEST(text == openapi_document(operations, repeated, "0.1.0"));
  json_document document;
  BOOST_REQUIRE(!document.read(text));
  std::set<std::string> references;
  collect_references(document.root(), references);
  BOOST_TEST(references.size() == 8U);
  for (const auto& reference : references) {
    constexpr std::string_view prefix = "#/components/schemas/";
    BOOST_REQUIRE(reference.starts_with(prefix));
    BOOST_TEST(document.root()["components"]["schemas"].HasMember(reference.substr(prefix.size()).c_str()), reference);
  }
  BOOST_TEST(document.root()["components"]["schemas"].MemberCount() == 9U);
}

BOOST_AUTO_TEST_SUITE_END()
