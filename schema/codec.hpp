#pragma once

#include "schema/violation.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace coordinator::schema {

// The operations that each wire type has, all made from its one declaration (schema/declaration.hpp). The
// templates behind them are instantiated in the .cpp of the type, so that users of a type compile none of it.

/// Reads a request body. `content_type` is the header's value, empty when absent. Every failing field is reported.
/// Never throws on input; memory is proportional to `body`.
template <class T>
parsed<T> parse(std::string_view body, std::string_view content_type);

/// Appends the value as JSON text.
template <class T>
void append_json(std::string& out, const T& value);

template <class T>
std::string to_json(const T& value) {
  std::string out;
  append_json(out, value);
  return out;
}

/// A named JSON Schema (draft 2020-12) object for the OpenAPI document.
struct named_schema {
  std::string name; ///< Its key under `components/schemas`.
  std::string json;
  std::vector<named_schema> parts{}; ///< Those it refers to.
};

template <class T>
named_schema json_schema();

} // namespace coordinator::schema
