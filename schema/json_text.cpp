#include "schema/json_text.hpp"

#include "schema/utf8.hpp"
#include "schema/violation.hpp"

#include <array>
#include <cmath>
#include <cstddef>

namespace coordinator::schema {

namespace {

constexpr std::string_view replacement_character = "\xEF\xBF\xBD";

bool is_plain(char byte) noexcept {
  const auto value = static_cast<unsigned char>(byte);
  return value >= 0x20 && value < 0x80 && byte != '"' && byte != '\\';
}

void append_escape(std::string& out, char byte) {
  switch (byte) {
  case '"':
    out.append("\\\"");
    return;
  case '\\':
    out.append("\\\\");
    return;
  case '\b':
    out.append("\\b");
    return;
  case '\f':
    out.append("\\f");
    return;
  case '\n':
    out.append("\\n");
    return;
  case '\r':
    out.append("\\r");
    return;
  case '\t':
    out.append("\\t");
    return;
  default: {
    constexpr char digits[] = "0123456789abcdef";
    const auto value = static_cast<unsigned char>(byte);
    const std::array<char, 6> escape{'\\', 'u', '0', '0', digits[value >> 4U], digits[value & 0xFU]};
    out.append(escape.data(), escape.size());
  }
  }
}

} // namespace

void append_quoted(std::string& out, std::string_view text) {
  out.push_back('"');
  std::size_t at = 0;
  while (at < text.size()) {
    std::size_t end = at;
    while (end < text.size() && is_plain(text[end]))
      ++end;
    out.append(text, at, end - at);
    at = end;
    if (at == text.size())
      break;
    if (static_cast<unsigned char>(text[at]) < 0x80) {
      append_escape(out, text[at]);
      ++at;
    } else if (const auto length = utf8_sequence(text, at); length > 0) {
      out.append(text, at, length);
      at += length;
    } else {
      out.append(replacement_character);
      ++at;
    }
  }
  out.push_back('"');
}

void append_quoted_start(std::string& out, std::string_view text) {
  constexpr std::size_t longest_character = 4; // of which all bytes but one may be cut off
  append_quoted(out, utf8_prefix(text, max_echoed_input + longest_character));
}

void append_number(std::string& out, double value) {
  if (!std::isfinite(value)) {
    out.append("null");
    return;
  }
  // The plain shortest form would turn 1790000000 into 1.79e+09. Within these bounds people and other writers of JSON
  // expect no exponent.
  const double magnitude = std::fabs(value);
  const bool fixed = magnitude == 0 || (magnitude >= 1e-4 && magnitude < 1e16);
  char text[32]; // fixed: 17 digits, sign, point and up to 4 leading zeros; scientific: 24 characters
  const auto end =
      std::to_chars(text, text + sizeof text, value, fixed ? std::chars_format::fixed : std::chars_format::scientific)
          .ptr;
  const std::string_view written{text, static_cast<std::size_t>(end - text)};
  out.append(written);
  if (fixed && written.find('.') == std::string_view::npos)
    out.append(".0");
}

std::string echo(std::string_view text) {
  std::string json;
  append_quoted_start(json, text);
  return bounded_echo(std::move(json));
}

std::string bounded_echo(std::string json) {
  if (json.size() <= max_echoed_input)
    return json;
  std::string cut{utf8_prefix(json, max_echoed_input)};
  cut.append(ellipsis);
  std::string quoted;
  append_quoted(quoted, cut);
  return quoted;
}

} // namespace coordinator::schema
