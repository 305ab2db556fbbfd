// Any value of If-Match or If-None-Match: what is accepted must survive being written and read again.

#include "http/conditional.hpp"

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

std::string written(const http::entity_tag_condition& condition) {
  if (condition.any)
    return "*";
  std::string result;
  for (std::size_t i = 0; i < condition.tags.size(); ++i) {
    if (i > 0)
      result += ", ";
    result += (condition.weak[i] ? "W/\"" : "\"") + condition.tags[i] + '"';
  }
  return result;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  http::entity_tag_condition condition;
  if (!http::parse_entity_tags({reinterpret_cast<const char*>(data), size}, condition))
    return 0;
  require(condition.tags.size() == condition.weak.size());
  require(!condition.any || condition.tags.empty());
  http::entity_tag_condition again;
  require(http::parse_entity_tags(written(condition), again));
  require(again.any == condition.any && again.tags == condition.tags && again.weak == condition.weak);
  for (std::size_t i = 0; i < condition.tags.size(); ++i) {
    const auto& tag = condition.tags[i];
    require(tag.find('"') == std::string::npos);
    require(condition.matches_weakly(tag));
    require(condition.weak[i] || condition.matches_strongly(tag));
  }
  return 0;
}
