// Any body of POST /events: what is accepted must be read back the same after it has been written, and every
// refusal must be explained in JSON.

#include "schema/cache_event.hpp"
#include "test/fuzz/properties.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <variant>

namespace schema = coordinator::schema;
using coordinator::fuzz::is_json;
using coordinator::fuzz::require;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto result =
      schema::parse<schema::cache_events_request>({reinterpret_cast<const char*>(data), size}, "application/json");
  if (const auto* found = std::get_if<schema::violations>(&result)) {
    require(!found->empty());
    const auto body = schema::to_json(*found);
    require(body.starts_with("{\"detail\":[") && is_json(body));
    return 0;
  }
  const auto& accepted = std::get<schema::cache_events_request>(result);
  const auto again = schema::parse<schema::cache_events_request>(schema::to_json(accepted), "application/json");
  require(std::holds_alternative<schema::cache_events_request>(again));
  require(std::get<schema::cache_events_request>(again) == accepted);
  return 0;
}
