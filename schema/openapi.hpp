#pragma once

#include "schema/codec.hpp"

#include <string>
#include <vector>

namespace coordinator::schema {

/// A query, path or header parameter of an operation.
struct parameter {
  std::string name;
  std::string in; ///< `path`, `query` or `header`.
  std::string description;
  std::string type = "string"; ///< JSON Schema type name.
  bool required = false;
};

/// One possible answer.
struct operation_response {
  int status = 200;
  std::string description;
  std::string schema;             ///< Name of a component schema; empty: no body.
  std::vector<parameter> headers; ///< `in` is ignored.
};

/// One method of one path, as the OpenAPI document shows it.
struct operation {
  std::string method; ///< Lower case.
  std::string path;   ///< `/instances/{instance_id}`
  std::string id;     ///< `operationId`, unique.
  std::string summary;
  std::string description;
  std::string tag;
  std::vector<parameter> parameters;
  std::string request_schema; ///< Name of a component schema; empty: no body.
  std::vector<operation_response> responses;
};

/// The OpenAPI 3.1 document. Every schema named by an operation must be among `schemas`; their parts come along, and a
/// name that occurs again is not written again. No two operations share method and path, and no two answers of an
/// operation share a status. The same arguments give the same bytes.
std::string openapi_document(const std::vector<operation>& operations, const std::vector<named_schema>& schemas,
                             const std::string& version);

} // namespace coordinator::schema
