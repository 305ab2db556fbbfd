#include "http/conditional.hpp"

#include <algorithm>

namespace coordinator::http {

namespace {

constexpr bool is_blank(char c) noexcept {
  return c == ' ' || c == '\t';
}

/// What an opaque tag may hold (RFC 9110, 8.8.3): visible ASCII but the quote, and bytes above ASCII.
constexpr bool is_tag_character(char c) noexcept {
  const auto byte = static_cast<unsigned char>(c);
  return byte > 0x20 && byte != 0x7f && c != '"';
}

void skip_blanks(std::string_view& rest) noexcept {
  while (!rest.empty() && is_blank(rest.front()))
    rest.remove_prefix(1);
}

/// Moves one tag from the front of `rest` into `out`.
bool take_tag(std::string_view& rest, entity_tag_condition& out) {
  const bool weak = rest.starts_with("W/"); // case matters
  if (weak)
    rest.remove_prefix(2);
  if (rest.empty() || rest.front() != '"')
    return false;
  rest.remove_prefix(1);
  const auto end = std::find_if_not(rest.begin(), rest.end(), is_tag_character);
  if (end == rest.end() || *end != '"')
    return false;
  const auto length = static_cast<std::size_t>(end - rest.begin());
  out.tags.emplace_back(rest.substr(0, length));
  out.weak.push_back(weak);
  rest.remove_prefix(length + 1);
  return true;
}

} // namespace

bool entity_tag_condition::matches_strongly(std::string_view tag) const noexcept {
  if (any)
    return true;
  for (std::size_t i = 0; i < tags.size(); ++i)
    if (!weak[i] && tags[i] == tag)
      return true;
  return false;
}

bool entity_tag_condition::matches_weakly(std::string_view tag) const noexcept {
  return any || std::find(tags.begin(), tags.end(), tag) != tags.end();
}

std::string quoted_tag(std::string_view tag) {
  std::string result{'"'};
  result += tag;
  result += '"';
  return result;
}

bool parse_entity_tags(std::string_view value, entity_tag_condition& out) {
  out = {};
  auto rest = value;
  skip_blanks(rest);
  if (!rest.empty() && rest.front() == '*') {
    rest.remove_prefix(1);
    skip_blanks(rest);
    out.any = rest.empty();
    return out.any;
  }
  // RFC 9110, 5.6.1: list elements may be empty, and so may the whole list, which then matches nothing.
  while (!rest.empty()) {
    if (rest.front() != ',' && !take_tag(rest, out))
      return false;
    skip_blanks(rest);
    if (rest.empty())
      return true;
    if (rest.front() != ',')
      return false;
    rest.remove_prefix(1);
    skip_blanks(rest);
  }
  return true;
}

} // namespace coordinator::http
