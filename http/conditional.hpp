#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace coordinator::http {

/// The parsed value of `If-Match` or `If-None-Match` (RFC 9110, 13.1).
struct entity_tag_condition {
  bool any = false;              ///< `*`
  std::vector<std::string> tags; ///< Opaque parts without quotes, in order.
  std::vector<bool> weak;        ///< Per tag: prefixed with `W/`.

  // `tag` is that of something that exists, so that `*` matches it.

  /// Strong comparison, as `If-Match` needs it: a weak tag never matches.
  bool matches_strongly(std::string_view tag) const noexcept;
  /// Weak comparison, as `If-None-Match` needs it.
  bool matches_weakly(std::string_view tag) const noexcept;
};

/// The tag as the value of `ETag`. It must hold no quotes.
std::string quoted_tag(std::string_view tag);

/// Parses strictly, except that list elements may be empty (RFC 9110, 5.6.1); a list without any tag matches nothing.
/// False when `value` is not `*` or a list of quoted tags; `out` is unspecified then.
bool parse_entity_tags(std::string_view value, entity_tag_condition& out);

} // namespace coordinator::http
