#include "http/response.hpp"

#include "schema/json_text.hpp"
#include "schema/service.hpp"

namespace coordinator::http {

namespace {

void append_header(std::string& out, std::string_view name, std::string_view value) {
  out += name;
  out += ": ";
  const auto start = out.size();
  out += value;
  for (auto i = start; i < out.size(); ++i)
    if (out[i] == '\r' || out[i] == '\n' || out[i] == '\0')
      out[i] = ' ';
  out += "\r\n";
}

} // namespace

void append_head(std::string& out, const response& answer, const response_framing& framing) {
  const auto status = static_cast<int>(answer.status);
  const bool interim = status < 200;
  // Our own version, whatever the request's: RFC 9110, 6.2.
  out += "HTTP/1.1 ";
  schema::append_number(out, status);
  out += ' ';
  out += reason_phrase(answer.status);
  out += "\r\n";
  if (!interim && answer.status != Code::No_Content && answer.status != Code::Not_Modified) {
    const auto body = answer.body_text();
    if (!body.empty() && !answer.content_type.empty())
      append_header(out, "Content-Type", answer.content_type);
    out += "Content-Length: ";
    schema::append_number(out, body.size());
    out += "\r\n";
  }
  if (!framing.date.empty())
    append_header(out, "Date", framing.date);
  for (const auto& [name, value] : answer.headers)
    append_header(out, name, value);
  // An interim response says nothing about the connection; the final one does.
  if (!interim && !framing.keep_alive)
    out += "Connection: close\r\n";
  else if (!interim && framing.version == Version::Http10)
    out += "Connection: keep-alive\r\n";
  out += "\r\n";
}

response problem(Code status, std::string_view detail) {
  response result;
  result.status = status;
  result.body = schema::to_json(schema::problem_body{std::string{detail}});
  return result;
}

std::string_view reason_phrase(Code status) noexcept {
  switch (status) {
#define CODE(value, name, text)                                                                                        \
  case Code::name:                                                                                                     \
    return text;
    STATUS_CODES
#undef CODE
  }
  return {};
}

} // namespace coordinator::http
