#include "http/request.hpp"

#include <algorithm>

namespace coordinator::http {

namespace {

// Independent of the locale, unlike std::tolower.
constexpr char lower(char c) noexcept {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

} // namespace

bool equals_ignoring_case(std::string_view left, std::string_view right) noexcept {
  return left.size() == right.size()
         && std::equal(left.begin(), left.end(), right.begin(), [](char a, char b) { return lower(a) == lower(b); });
}

std::string_view request::header_value(std::string_view name) const noexcept {
  for (const auto& candidate : headers)
    if (equals_ignoring_case(candidate.name, name))
      return candidate.value;
  return {};
}

bool request::has_header(std::string_view name) const noexcept {
  return std::any_of(headers.begin(), headers.end(),
                     [name](const header& candidate) { return equals_ignoring_case(candidate.name, name); });
}

std::string request::joined_header(std::string_view name) const {
  std::string result;
  bool first = true;
  for (const auto& candidate : headers) {
    if (!equals_ignoring_case(candidate.name, name))
      continue;
    if (!first)
      result += ", ";
    first = false;
    result += candidate.value;
  }
  return result;
}

} // namespace coordinator::http
