#include "http/gateway.hpp"

namespace coordinator::http {

namespace {

void openapi(const call& asked) {
  response reply;
  reply.body = asked.state().options.routes->openapi_document();
  asked.answer(std::move(reply));
}

} // namespace

void register_openapi_api(router& routes) {
  const schema::named_schema document{
      "openapi_document",
      R"({"type":"object","description":"As the OpenAPI 3.1 standard has it.","properties":{"openapi":{"type":"string"},"info":{"type":"object"},"paths":{"type":"object"},"components":{"type":"object"}},"required":["openapi","info","paths","components"]})",
      {}};
  routes.describe(document);

  schema::operation doc;
  doc.tag = "service";
  doc.id = "openapi";
  doc.summary = "This description of the API";
  doc.description = "An OpenAPI 3.1 document made from the declarations that also parse and write the bodies.";
  doc.responses = {{200, "The document.", document.name, {}}};
  routes.add({Method::Get, "/openapi.json", small_body, doc, openapi});
}

} // namespace coordinator::http
