// Any request target: what is accepted must survive being encoded and split again.

#include "http/uri.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

namespace {

namespace http = coordinator::http;

void require(bool condition) {
  if (!condition)
    std::abort();
}

std::string encoded(const http::target& target) {
  std::string result;
  for (const auto& segment : target.segments)
    result += '/' + http::percent_encode(segment);
  result += '/';
  char separator = '?';
  for (const auto& [name, value] : target.query) {
    result += separator + http::percent_encode(name) + '=' + http::percent_encode(value);
    separator = '&';
  }
  return result;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input{reinterpret_cast<const char*>(data), size};
  const auto round_trip = http::percent_decode(http::percent_encode(input));
  require(round_trip && *round_trip == input);
  if (const auto decoded = http::percent_decode(input))
    require(decoded->size() <= size);

  const auto target = http::parse_target(input);
  if (!target)
    return 0;
  const auto again = http::parse_target(encoded(*target));
  require(again.has_value());
  require(again->segments == target->segments);
  require(again->query == target->query);
  for (const auto& pair : target->query)
    require(target->parameter(pair.first).has_value());
  return 0;
}
