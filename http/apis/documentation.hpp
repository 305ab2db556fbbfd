#pragma once

#include "schema/openapi.hpp"
#include "schema/service.hpp"
#include "schema/violation.hpp"

// What the descriptions of several APIs say in the same words.

namespace coordinator::http {

inline const schema::parameter id_parameter{"instance_id", "path", "The id, percent-encoded: `a/b` is `a%2Fb`.",
                                            "string", true};
inline const schema::parameter if_match{
    "If-Match", "header",
    "The `ETag` of a registration: the request is then only for that one, and 412 when "
    "the id has been registered anew since.",
    "string", false};
inline const schema::parameter etag{"ETag", "", "Names what was answered, for conditional requests.", "string", true};

inline schema::operation_response invalid(const char* description) {
  return {422, description, schema::json_schema<schema::violations_body>().name, {}};
}

inline schema::operation_response problem_response(int status, const char* description) {
  return {status, description, schema::json_schema<schema::problem_body>().name, {}};
}

} // namespace coordinator::http
