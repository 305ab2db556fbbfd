#pragma once

#include "json.hpp"

#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace coordinator::service_test {

/// What a client got back.
struct response {
  std::string version; ///< `HTTP/1.1`
  int status = 0;
  std::string reason;
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body; ///< Decoded.

  /// Value of the first header of that name, in any case.
  std::optional<std::string> header(std::string_view name) const;
  /// The same, empty when there is no such header.
  std::string header_text(std::string_view name) const;
  /// Whether the server announces that it closes the connection after this response.
  bool closes() const;
  json body_json() const;
};

/// For messages of failed checks.
std::ostream& operator<<(std::ostream& out, const response& value);

bool equals_ignoring_case(std::string_view left, std::string_view right);

/// `text` split at every `separator`, each part without surrounding blanks.
std::vector<std::string> split(std::string_view text, char separator);

/// Lines without their ends; a last line without an end counts.
std::vector<std::string> lines_of(std::string_view text);

} // namespace coordinator::service_test
