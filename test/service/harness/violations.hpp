#pragma once

#include "json.hpp"
#include "response.hpp"

#include <set>
#include <string>
#include <string_view>

// What tests say about refusals.

namespace coordinator::service_test {

/// `loc` of every violation in a 422 body, its steps joined by dots, as in `body.metadata.a`.
std::set<std::string> locations(const response& reply);

/// The violation in a 422 body; throws unless there is exactly one.
json only_violation(const response& reply);

/// Checks an error that is not about a field: status, content type, and `{"detail":"…"}` byte by byte.
void check_problem(const response& reply, int status, std::string_view detail);

} // namespace coordinator::service_test
