#include "actors/outbound.hpp"

#include <algorithm>

namespace coordinator {

std::string_view to_string(outbound_outcome value) noexcept {
  switch (value) {
  case outbound_outcome::answered:
    return "answered";
  case outbound_outcome::refused:
    return "refused";
  case outbound_outcome::unreachable:
    return "unreachable";
  case outbound_outcome::timed_out:
    return "timed_out";
  case outbound_outcome::failed:
    return "failed";
  }
  return "unknown";
}

std::string_view outbound_reply::header(std::string_view name) const noexcept {
  const auto found =
      std::find_if(headers.begin(), headers.end(), [name](const auto& each) { return each.first == name; });
  return found == headers.end() ? std::string_view{} : std::string_view{found->second};
}

} // namespace coordinator
