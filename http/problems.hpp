#pragma once

#include "http/response.hpp"

#include <caf/fwd.hpp>

namespace coordinator::http {

/// The one place that knows which error of an actor is which status. `detail` says what to do about it.
response problem_of(const caf::error& error);

} // namespace coordinator::http
