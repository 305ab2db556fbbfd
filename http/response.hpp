#pragma once

#include "http/request.hpp"

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace coordinator::http {

/// What a route answers. The connection adds framing and `Connection`, and leaves the body out for HEAD.
struct response {
  Code status = Code::Ok;
  std::vector<std::pair<std::string_view, std::string>> headers; ///< Names are string literals.
  std::string_view content_type = "application/json";
  std::string body;
  /// A body shared with other responses (a cached list). Used instead of `body` when set.
  std::shared_ptr<const std::string> shared_body;

  std::string_view body_text() const noexcept {
    return shared_body ? std::string_view{*shared_body} : std::string_view{body};
  }
};

/// How the head of a response is to be rendered.
struct response_framing {
  Version version = Version::Http11; ///< Of the request.
  bool head = false;                 ///< Answer to HEAD: Content-Length of the body that GET would have, but no body.
  bool keep_alive = true; ///< False: `Connection: close`. For an HTTP/1.0 client that stays: `Connection: keep-alive`.
  std::string_view date = {}; ///< Value of `Date`; empty: none.
};

/// Appends status line and headers up to and including the empty line. 1xx, 204 and 304 get neither
/// `Content-Length` nor `Content-Type`; an empty body gets no `Content-Type`. A header value never breaks a line: CR,
/// LF and NUL in it become blanks.
void append_head(std::string& out, const response& answer, const response_framing& framing);

/// `{"detail":"…"}` with that status: the shape of every error that is not about a field. A byte of `detail` that is
/// not part of valid UTF-8 becomes U+FFFD.
response problem(Code status, std::string_view detail);

/// Reason phrase of a status; Pistache's for those it knows.
std::string_view reason_phrase(Code status) noexcept;

} // namespace coordinator::http
