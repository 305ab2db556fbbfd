// Any body of POST /instances: what is accepted must be read back the same after it has been written, and every
// refusal must be explained in JSON.

#include "schema/instance.hpp"

#include <rapidjson/memorystream.h>
#include <rapidjson/reader.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <variant>

namespace {

namespace schema = coordinator::schema;

void require(bool condition) {
  if (!condition)
    std::abort();
}

bool is_json(std::string_view text) {
  // No json_document: a refused value may be nested as deep as that allows, and here it lies within others.
  rapidjson::MemoryStream stream{text.data(), text.size()};
  rapidjson::BaseReaderHandler<> ignored;
  rapidjson::Reader reader;
  constexpr unsigned flags =
      rapidjson::kParseIterativeFlag | rapidjson::kParseValidateEncodingFlag | rapidjson::kParseNumbersAsStringsFlag;
  return !reader.Parse<flags>(stream, ignored).IsError();
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto result =
      schema::parse<schema::register_request>({reinterpret_cast<const char*>(data), size}, "application/json");
  if (const auto* found = std::get_if<schema::violations>(&result)) {
    require(!found->empty());
    const auto body = schema::to_json(*found);
    require(body.starts_with("{\"detail\":[") && is_json(body));
    return 0;
  }
  const auto& accepted = std::get<schema::register_request>(result);
  const auto again = schema::parse<schema::register_request>(schema::to_json(accepted), "application/json");
  require(std::holds_alternative<schema::register_request>(again));
  require(std::get<schema::register_request>(again) == accepted);
  return 0;
}
