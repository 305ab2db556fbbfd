#pragma once

#include <pistache/http_defs.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace coordinator::http {

using Pistache::Http::Code;
using Pistache::Http::Method;
using Pistache::Http::Version;

/// One header line. Both views point into the bytes the request was read from.
struct header {
  std::string_view name;
  std::string_view value; ///< Without surrounding blanks.
};

/// Case-insensitive comparison of ASCII text, as header names and most header tokens need it.
bool equals_ignoring_case(std::string_view left, std::string_view right) noexcept;

/// A framed HTTP/1.x request, still as views into the bytes of its connection.
///
/// Whoever holds a request also keeps those bytes alive (see `exchange`).
struct request {
  /// Unset for a method that is well formed but unknown to us; such a request is answered with 405 or 404.
  std::optional<Method> method;
  /// The request target in origin form, undecoded: `/instances/a%2Fb?x=1`. An absolute-form target has been cut down to
  /// it.
  std::string_view target;
  Version version = Version::Http11;
  std::vector<header> headers;
  std::string_view body;
  bool keep_alive = true; ///< What version and `Connection` ask for; the server may still close.

  /// The value of the first header of that name, or an empty view.
  std::string_view header_value(std::string_view name) const noexcept;
  bool has_header(std::string_view name) const noexcept;
  /// Every value of a list-valued header, in order, joined by ", " (RFC 9110, 5.3).
  std::string joined_header(std::string_view name) const;
};

} // namespace coordinator::http
