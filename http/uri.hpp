#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace coordinator::http {

/// Decodes `%XX` escapes; `+` stays as it is (it is only special in form data). Empty when an escape is malformed.
std::optional<std::string> percent_decode(std::string_view text);

/// Encodes everything but RFC 3986's unreserved characters, so that the result is one path segment.
std::string percent_encode(std::string_view text);

/// A request target, split first and decoded after, so that `a%2Fb` is one segment with a slash in it.
struct target {
  /// Decoded segments. `/` has none; one trailing slash is dropped; `/a//b` has an empty one in the middle.
  std::vector<std::string> segments;
  /// Decoded `name=value` pairs in order; a name without `=` has an empty value. `+` decodes to a blank here.
  std::vector<std::pair<std::string, std::string>> query;

  /// The last value given for a query parameter.
  std::optional<std::string_view> parameter(std::string_view name) const noexcept;
};

/// Splits an origin-form target. Empty when it does not start with a slash or holds a bad escape (a 400).
std::optional<target> parse_target(std::string_view text);

} // namespace coordinator::http
