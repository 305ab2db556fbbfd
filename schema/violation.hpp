#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace coordinator::schema {

/// One step into a request: a member name or an index.
using location_step = std::variant<std::string, std::size_t>;

/// One way in which a request breaks its schema; an item of a 422 body (docs/api.md, "Validation errors").
struct violation {
  std::string type;               ///< Stable name of the rule, such as `missing`.
  std::vector<location_step> loc; ///< First `body`, `query`, `path` or `header`, then member names and indexes.
  std::string msg;
  std::string input; ///< The offending value as JSON text, cut down when it is long.
  std::string ctx;   ///< Parameters of the rule as a JSON object; empty when it has none.
};

using violations = std::vector<violation>;

/// At most this many violations are listed; one more says how many there are in all.
inline constexpr std::size_t max_listed_violations = 100;
/// A member name in `loc` that is longer than this many bytes, as only a map's can be, is cut and ends in an ellipsis.
inline constexpr std::size_t max_location_name = 256;
/// An `input` whose JSON text is longer than this is given as a string of its first bytes followed by an ellipsis.
inline constexpr std::size_t max_echoed_input = 1024;

/// The body of a 422: `{"detail":[…]}`. Its operations are those of `codec.hpp`, but for parsing.
struct violations_body {
  std::span<const violation> detail;
};

std::string to_json(const violations& found);

/// Either a value or everything that is wrong with its source.
template <class T>
using parsed = std::variant<T, violations>;

} // namespace coordinator::schema
