#include "http/request_parser.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <utility>
#include <variant>

namespace coordinator::http {

namespace {

/// RFC 9112, 2.2: some old clients send an empty line after a body.
constexpr std::size_t max_leading_empty_lines = 4;
/// As many as 64 bits need. A longer size is past every bound or padded with zeros, which nobody does.
constexpr std::size_t max_chunk_size_digits = 16;
/// `reset` keeps room for this many headers between requests; an idle connection should hold little.
constexpr std::size_t kept_headers = 32;

enum character_class : unsigned char { token = 1, visible = 2, field = 4, host = 8 };

/// RFC 9110, 5.5 and 5.6.2: the characters of a token, of a request target, of a header value, and of a host name.
constexpr std::array<unsigned char, 256> character_classes = [] {
  std::array<unsigned char, 256> classes{};
  const auto add = [&classes](std::string_view characters, unsigned char bits) {
    for (const char c : characters) {
      auto& entry = classes[static_cast<unsigned char>(c)];
      entry = static_cast<unsigned char>(entry | bits);
    }
  };
  for (std::size_t c = 0; c < classes.size(); ++c) {
    const bool is_visible = c > 0x20 && c < 0x7f;
    const bool is_field = is_visible || c == ' ' || c == '\t' || c > 0x7f;
    classes[c] = static_cast<unsigned char>((is_visible ? visible : 0) | (is_field ? field : 0));
  }
  add("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~!$&'*+", token | host);
  add("#%^`|", token);
  add("%();,=", host);
  return classes;
}();

constexpr bool is(character_class wanted, char c) noexcept {
  return (character_classes[static_cast<unsigned char>(c)] & wanted) != 0;
}

bool all(character_class wanted, std::string_view text) noexcept {
  return std::all_of(text.begin(), text.end(), [wanted](char c) { return is(wanted, c); });
}

constexpr bool is_blank(char c) noexcept {
  return c == ' ' || c == '\t';
}
constexpr bool is_digit(char c) noexcept {
  return c >= '0' && c <= '9';
}

constexpr int hexadecimal(char c) noexcept {
  if (is_digit(c))
    return c - '0';
  if (c >= 'a' && c <= 'f')
    return c - 'a' + 10;
  if (c >= 'A' && c <= 'F')
    return c - 'A' + 10;
  return -1;
}

std::string_view without_blanks(std::string_view text) noexcept {
  while (!text.empty() && is_blank(text.front()))
    text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back()))
    text.remove_suffix(1);
  return text;
}

constexpr std::size_t sum(std::size_t left, std::size_t right) noexcept {
  const auto largest = std::numeric_limits<std::size_t>::max();
  return left > largest - right ? largest : left + right;
}

/// A bound on a line's content as a bound on the line with its CR LF.
constexpr std::size_t with_line_end(std::size_t bound) noexcept {
  return sum(bound, 2);
}

std::optional<Method> known_method(std::string_view name) noexcept {
#define METHOD(value, text)                                                                                            \
  if (name == text)                                                                                                    \
    return Method::value;
  HTTP_METHODS
#undef METHOD
  return std::nullopt;
}

/// The version that the request is treated as, or the status that refuses it.
std::variant<Version, Code> interpreted_version(std::string_view text) noexcept {
  static constexpr std::string_view prefix = "HTTP/";
  if (!text.starts_with(prefix))
    return Code::Bad_Request;
  text.remove_prefix(prefix.size());
  const bool has_minor = text.size() == 3 && is_digit(text[0]) && text[1] == '.' && is_digit(text[2]);
  if (!has_minor && !(text.size() == 1 && is_digit(text[0]) && text[0] != '1'))
    return Code::Bad_Request;
  if (text[0] != '1')
    return Code::HTTP_Version_Not_Supported;
  return text[2] == '0' ? Version::Http10 : Version::Http11;
}

/// Whether the value of a Host header is a host with an optional port (RFC 3986, 3.2.2), or empty.
bool is_host(std::string_view value) noexcept {
  std::size_t end = 0;
  if (value.starts_with('[')) {
    end = value.find(']');
    if (end == std::string_view::npos)
      return false;
    const auto literal = value.substr(1, end - 1);
    if (literal.empty() || !std::all_of(literal.begin(), literal.end(), [](char c) { return c == ':' || is(host, c); }))
      return false;
    ++end;
  } else {
    end = std::min(value.find(':'), value.size());
    if (!all(host, value.substr(0, end)))
      return false;
  }
  const auto port = value.substr(end);
  return port.empty() || (port.front() == ':' && std::all_of(port.begin() + 1, port.end(), is_digit));
}

/// Calls `use` with each element of a comma-separated header value that is not empty.
template <class Use>
void for_each_element(std::string_view value, Use use) {
  for (;;) {
    const auto end = value.find(',');
    if (const auto element = without_blanks(value.substr(0, end)); !element.empty())
      use(element);
    if (end == std::string_view::npos)
      return;
    value.remove_prefix(end + 1);
  }
}

/// Splits a header or trailer line; what is wrong with it when it is not one, else null.
const char* split_header(std::string_view line, std::string_view& name, std::string_view& value) noexcept {
  if (is_blank(line.front()))
    return "A header line begins with a blank; header lines can't be folded.";
  const auto colon = line.find(':');
  if (colon == std::string_view::npos)
    return "A header line has no colon.";
  name = line.substr(0, colon);
  if (name.empty())
    return "A header line has no name before its colon.";
  if (is_blank(name.back()))
    return "A header name is followed by a blank instead of its colon.";
  if (!all(token, name))
    return "A header name holds a character that is not allowed in it.";
  value = without_blanks(line.substr(colon + 1));
  if (!all(field, value))
    return "A header value holds a control character.";
  return nullptr;
}

} // namespace

request_parser::request_parser(const request_limits& limits) : limits_(limits) {}

request_parser::progress request_parser::parse(std::string& buffer) {
  if (published_ && published_from_ != buffer.data())
    publish(buffer);
  outcome result;
  while (!result)
    result = step(buffer);
  if (*result == progress::need_more)
    drop_framing(buffer);
  return *result;
}

const request& request_parser::result() const noexcept {
  return request_;
}

std::size_t request_parser::consumed() const noexcept {
  return position_;
}

bool request_parser::expects_continue() const noexcept {
  return in_body() && continue_expected_;
}

void request_parser::limit_body(std::size_t bytes) noexcept {
  body_limit_ = bytes;
}

const framing_error& request_parser::error() const noexcept {
  return error_;
}

bool request_parser::started() const noexcept {
  return started_;
}

bool request_parser::in_body() const noexcept {
  return stage_ >= stage::sized_body && stage_ <= stage::trailers;
}

void request_parser::reset() noexcept {
  auto limits = limits_;
  auto spans = std::move(headers_);
  auto headers = std::move(request_.headers);
  *this = request_parser{limits};
  if (spans.capacity() > kept_headers)
    return;
  spans.clear();
  headers.clear();
  headers_ = std::move(spans);
  request_.headers = std::move(headers);
}

request_parser::outcome request_parser::step(std::string& buffer) {
  switch (stage_) {
  case stage::request_line:
    return read_request_line(buffer);
  case stage::headers:
    return read_header(buffer);
  case stage::sized_body:
    return read_sized_body(buffer);
  case stage::chunk_size:
    return read_chunk_size(buffer);
  case stage::chunk_data:
    return read_chunk_data(buffer);
  case stage::chunk_end:
    return read_chunk_end(buffer);
  case stage::trailers:
    return read_trailer(buffer);
  case stage::complete:
    return progress::complete;
  case stage::failed:
    return progress::failed;
  }
  return progress::failed;
}

request_parser::outcome request_parser::take_line(const std::string& buffer, std::size_t bound, Code past_bound,
                                                  const char* detail, std::string_view& line) {
  const auto line_feed = buffer.find('\n', scanned_);
  const bool whole = line_feed != std::string::npos;
  scanned_ = whole ? line_feed + 1 : buffer.size();
  // Before anything else, so that the answer does not depend on how the bytes were split on their way.
  if (scanned_ - position_ > bound)
    return fail(past_bound, detail);
  if (!whole)
    return progress::need_more;
  if (line_feed == position_ || buffer[line_feed - 1] != '\r')
    return fail(Code::Bad_Request, "A line ends with a line feed alone instead of carriage return and line feed.");
  line = std::string_view{buffer}.substr(position_, line_feed - 1 - position_);
  position_ = scanned_;
  return std::nullopt;
}

request_parser::outcome request_parser::read_request_line(std::string& buffer) {
  const auto beginning = std::string_view{buffer}.substr(position_, 2);
  if (!std::string_view{"\r\n"}.starts_with(beginning)) {
    started_ = true;
    // At once, since a client that speaks something else (TLS, say) may never send a line end.
    if (!is(token, beginning.front()))
      return fail(Code::Bad_Request, "The request does not begin with a method.");
  }
  std::string_view line;
  if (const auto result = take_line(buffer, with_line_end(limits_.request_line), Code::RequestURI_Too_Long,
                                    "The request line is too long.", line))
    return result;
  if (line.empty()) {
    if (++empty_lines_ > max_leading_empty_lines)
      return fail(Code::Bad_Request, "Too many empty lines precede the request.");
    return std::nullopt;
  }
  const auto method_end = line.find(' ');
  const auto target_end = method_end == std::string_view::npos ? method_end : line.find(' ', method_end + 1);
  if (target_end == std::string_view::npos)
    return fail(Code::Bad_Request,
                "The request line is not a method, a target and a version, separated by single blanks.");
  const auto method = line.substr(0, method_end);
  if (!all(token, method))
    return fail(Code::Bad_Request, "The method holds a character that is not allowed in it.");
  request_.method = known_method(method);
  const auto version = interpreted_version(line.substr(target_end + 1));
  if (const auto* refusal = std::get_if<Code>(&version))
    return fail(*refusal, *refusal == Code::Bad_Request ? "The request line does not end with an HTTP version."
                                                        : "Only HTTP/1.0 and HTTP/1.1 are supported.");
  request_.version = std::get<Version>(version);
  if (const auto result = store_target(buffer, line.substr(method_end + 1, target_end - method_end - 1)))
    return result;
  headers_start_ = position_;
  stage_ = stage::headers;
  return std::nullopt;
}

request_parser::outcome request_parser::store_target(std::string& buffer, std::string_view text) {
  if (text.empty())
    return fail(Code::Bad_Request, "The request target is empty.");
  if (!all(visible, text))
    return fail(Code::Bad_Request, "The request target holds a character that has to be percent-encoded.");
  target_ = span_of(buffer, text);
  if (text.front() == '/' || request_.method == Method::Connect)
    return std::nullopt;
  if (text == "*") {
    if (request_.method == Method::Options)
      return std::nullopt;
    return fail(Code::Bad_Request, "Only OPTIONS takes the request target '*'.");
  }
  const auto colon = text.find(':');
  const auto scheme = text.substr(0, colon);
  if (colon == std::string_view::npos || !text.substr(colon).starts_with("://")
      || !(equals_ignoring_case(scheme, "http") || equals_ignoring_case(scheme, "https")))
    return fail(Code::Bad_Request, "The request target is neither a path nor an absolute HTTP address.");
  const auto authority = colon + 3;
  auto path = std::min(text.find_first_of("/?#", authority), text.size());
  if (path == authority)
    return fail(Code::Bad_Request, "The request target names no host.");
  if (path == text.size() || text[path] != '/') {
    // An empty path stands for "/". Nobody reads the authority, so its last byte makes room for the slash.
    --path;
    buffer[target_.offset + path] = '/';
  }
  target_.offset += path;
  target_.length -= path;
  return std::nullopt;
}

request_parser::outcome request_parser::read_header(const std::string& buffer) {
  static constexpr auto too_long = "The header section is too long.";
  const auto room = limits_.header_section - (position_ - headers_start_);
  std::string_view line;
  if (const auto result = take_line(buffer, with_line_end(room), Code::Request_Header_Fields_Too_Large, too_long, line))
    return result;
  if (line.empty())
    return finish_head(buffer);
  if (line.size() + 2 > room)
    return fail(Code::Request_Header_Fields_Too_Large, too_long);
  if (headers_.size() == limits_.header_count)
    return fail(Code::Request_Header_Fields_Too_Large, "The request has too many header lines.");
  std::string_view name;
  std::string_view value;
  if (const auto* problem = split_header(line, name, value))
    return fail(Code::Bad_Request, problem);
  headers_.push_back({span_of(buffer, name), span_of(buffer, value)});
  return interpret_header(name, value);
}

request_parser::outcome request_parser::interpret_header(std::string_view name, std::string_view value) {
  // The length tells the names apart that matter here, so that most headers cost no comparison.
  switch (name.size()) {
  case 4:
    if (equals_ignoring_case(name, "Host")) {
      if (std::exchange(has_host_, true))
        return fail(Code::Bad_Request, "The request has several Host headers.");
      if (!is_host(value))
        return fail(Code::Bad_Request, "The Host header is not a host with an optional port.");
    }
    break;
  case 6:
    if (equals_ignoring_case(name, "Expect"))
      for_each_element(value, [this](std::string_view element) {
        (equals_ignoring_case(element, "100-continue") ? continue_expected_ : unknown_expectation_) = true;
      });
    break;
  case 10:
    if (equals_ignoring_case(name, "Connection"))
      for_each_element(value, [this](std::string_view element) {
        close_requested_ = close_requested_ || equals_ignoring_case(element, "close");
        keep_alive_requested_ = keep_alive_requested_ || equals_ignoring_case(element, "keep-alive");
      });
    break;
  case 14:
    if (equals_ignoring_case(name, "Content-Length")) {
      if (content_length_)
        return fail(Code::Bad_Request, "The request has several Content-Length headers.");
      if (value.empty() || !std::all_of(value.begin(), value.end(), is_digit))
        return fail(Code::Bad_Request, "The Content-Length header is not a decimal number.");
      // A number past 64 bits stays the largest there is, which is over every bound on a body.
      static constexpr auto largest = std::numeric_limits<std::uint64_t>::max();
      std::uint64_t length = 0;
      for (const char c : value) {
        const auto digit = static_cast<std::uint64_t>(c - '0');
        length = length > (largest - digit) / 10 ? largest : length * 10 + digit;
      }
      content_length_ = length;
    }
    break;
  case 17:
    if (equals_ignoring_case(name, "Transfer-Encoding")) {
      ++transfer_encodings_;
      chunked_ = equals_ignoring_case(value, "chunked");
    }
    break;
  default:
    break;
  }
  return std::nullopt;
}

request_parser::outcome request_parser::finish_head(const std::string& buffer) {
  const bool version_1_1 = request_.version == Version::Http11;
  if (version_1_1 && !has_host_)
    return fail(Code::Bad_Request, "The request has no Host header.");
  if (transfer_encodings_ > 0) {
    if (content_length_)
      return fail(Code::Bad_Request, "The request has both a Content-Length and a Transfer-Encoding header.");
    if (!version_1_1)
      return fail(Code::Bad_Request, "An HTTP/1.0 request can't have a Transfer-Encoding header.");
    if (transfer_encodings_ > 1 || !chunked_)
      return fail(Code::Not_Implemented, "The only Transfer-Encoding supported is chunked.");
  }
  request_.keep_alive = !close_requested_ && (version_1_1 || keep_alive_requested_);
  if (unknown_expectation_)
    return fail(Code::Expectation_Failed, "The only expectation supported is 100-continue.");
  continue_expected_ = continue_expected_ && version_1_1; // RFC 9110, 10.1.1
  body_start_ = position_;
  body_end_ = position_;
  publish(buffer);
  if (chunked_) {
    stage_ = stage::chunk_size;
    return progress::head_complete;
  }
  if (content_length_.value_or(0) > 0) {
    stage_ = stage::sized_body;
    return progress::head_complete;
  }
  finish(buffer, 0);
  return std::nullopt;
}

request_parser::outcome request_parser::read_sized_body(const std::string& buffer) {
  if (*content_length_ > body_limit_)
    return fail_body_too_long();
  const auto length = static_cast<std::size_t>(*content_length_);
  if (buffer.size() - body_start_ < length)
    return progress::need_more;
  position_ = body_start_ + length;
  finish(buffer, length);
  return std::nullopt;
}

request_parser::outcome request_parser::read_chunk_size(const std::string& buffer) {
  const auto room = limits_.header_section - extras_;
  std::string_view line;
  if (const auto result = take_line(buffer, with_line_end(sum(max_chunk_size_digits, room)),
                                    Code::Request_Header_Fields_Too_Large, "A chunk size line is too long.", line))
    return result;
  std::uint64_t size = 0;
  std::size_t digits = 0;
  for (; digits < line.size() && hexadecimal(line[digits]) >= 0; ++digits) {
    if (digits == max_chunk_size_digits)
      return fail(Code::Bad_Request, "A chunk size has too many digits.");
    size = size * 16 + static_cast<std::uint64_t>(hexadecimal(line[digits]));
  }
  if (digits == 0)
    return fail(Code::Bad_Request, "A chunk does not begin with its size in hexadecimal digits.");
  const auto extension = line.substr(digits);
  if (!extension.empty() && (!without_blanks(extension).starts_with(';') || !all(field, extension)))
    return fail(Code::Bad_Request, "A chunk size is followed by something other than a chunk extension.");
  if (extension.size() > room)
    return fail_extras_too_long();
  extras_ += extension.size();
  const auto decoded = body_end_ - body_start_;
  if (decoded > body_limit_ || size > body_limit_ - decoded)
    return fail_body_too_long();
  chunk_remaining_ = size;
  stage_ = size == 0 ? stage::trailers : stage::chunk_data;
  return std::nullopt;
}

request_parser::outcome request_parser::read_chunk_data(std::string& buffer) {
  const auto bytes = std::min<std::uint64_t>(chunk_remaining_, buffer.size() - position_);
  const auto length = static_cast<std::size_t>(bytes);
  if (body_end_ != position_)
    std::memmove(buffer.data() + body_end_, buffer.data() + position_, length);
  body_end_ += length;
  position_ += length;
  scanned_ = position_;
  chunk_remaining_ -= bytes;
  if (chunk_remaining_ > 0)
    return progress::need_more;
  stage_ = stage::chunk_end;
  return std::nullopt;
}

request_parser::outcome request_parser::read_chunk_end(const std::string& buffer) {
  const auto arrived = std::string_view{buffer}.substr(position_, 2);
  if (!std::string_view{"\r\n"}.starts_with(arrived))
    return fail(Code::Bad_Request, "The data of a chunk is not followed by carriage return and line feed.");
  if (arrived.size() < 2)
    return progress::need_more;
  position_ += 2;
  scanned_ = position_;
  stage_ = stage::chunk_size;
  return std::nullopt;
}

request_parser::outcome request_parser::read_trailer(const std::string& buffer) {
  const auto room = limits_.header_section - extras_;
  std::string_view line;
  if (const auto result = take_line(buffer, with_line_end(room), Code::Request_Header_Fields_Too_Large,
                                    "The trailer section is too long.", line))
    return result;
  if (line.empty()) {
    finish(buffer, body_end_ - body_start_);
    return std::nullopt;
  }
  if (line.size() + 2 > room)
    return fail_extras_too_long();
  extras_ += line.size() + 2;
  if (trailer_count_++ == limits_.header_count)
    return fail(Code::Request_Header_Fields_Too_Large, "The request has too many trailer lines.");
  // Checked like a header, then dropped: nothing here needs a trailer.
  std::string_view name;
  std::string_view value;
  if (const auto* problem = split_header(line, name, value))
    return fail(Code::Bad_Request, problem);
  return std::nullopt;
}

request_parser::outcome request_parser::fail(Code status, std::string detail) {
  stage_ = stage::failed;
  error_ = {status, std::move(detail)};
  return progress::failed;
}

request_parser::outcome request_parser::fail_body_too_long() {
  return fail(Code::Request_Entity_Too_Large,
              "The body is longer than the " + std::to_string(body_limit_) + " bytes that are allowed here.");
}

request_parser::outcome request_parser::fail_extras_too_long() {
  return fail(Code::Request_Header_Fields_Too_Large, "The chunk extensions and trailers are too long.");
}

request_parser::span request_parser::span_of(const std::string& buffer, std::string_view view) const noexcept {
  return {static_cast<std::size_t>(view.data() - buffer.data()), view.size()};
}

/// Makes the views of the request, or makes them anew after the buffer has moved. Never more often than it moves.
void request_parser::publish(const std::string& buffer) {
  const auto view = [text = std::string_view{buffer}](span s) { return text.substr(s.offset, s.length); };
  request_.target = view(target_);
  request_.headers.clear();
  for (const auto& [name, value] : headers_)
    request_.headers.push_back({view(name), view(value)});
  if (stage_ == stage::complete)
    request_.body = view({body_start_, body_end_ - body_start_});
  published_ = true;
  published_from_ = buffer.data();
}

void request_parser::finish(const std::string& buffer, std::size_t body_bytes) {
  body_end_ = body_start_ + body_bytes;
  request_.body = std::string_view{buffer}.substr(body_start_, body_bytes);
  stage_ = stage::complete;
}

/// Cuts the framing out that lies between the decoded part of a chunked body and what is not interpreted yet. Keeps
/// the buffer as small as the body, and costs no more than the one incomplete line that may have to move.
void request_parser::drop_framing(std::string& buffer) {
  if (stage_ < stage::chunk_size || stage_ > stage::trailers)
    return;
  const auto framing = position_ - body_end_;
  buffer.erase(body_end_, framing);
  position_ -= framing;
  scanned_ -= framing;
}

} // namespace coordinator::http
