#include "schema/identifier.hpp"

#include "schema/utf8.hpp"

#include <array>
#include <cstdlib>

namespace coordinator::schema {

namespace {

constexpr std::string_view blanks = " \t\n\v\f\r";

/// Whether the well-formed sequence at `at` is one of U+0000 to U+001F and U+007F to U+009F.
bool is_control_character(std::string_view text, std::size_t at, std::size_t length) noexcept {
  const auto first = static_cast<unsigned char>(text[at]);
  if (length == 1)
    return first < 0x20 || first == 0x7F;
  return length == 2 && first == 0xC2 && static_cast<unsigned char>(text[at + 1]) < 0xA0;
}

} // namespace

std::string_view stripped(std::string_view text) noexcept {
  const auto first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos)
    return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

bool is_valid_utf8(std::string_view text) noexcept {
  for (std::size_t at = 0; at < text.size();) {
    const auto length = utf8_sequence(text, at);
    if (length == 0)
      return false;
    at += length;
  }
  return true;
}

std::optional<std::string> identifier_problem(std::string_view text) {
  if (text.empty())
    return "an instance id must not be empty";
  if (text.size() > max_identifier_bytes)
    return "an instance id has at most " + std::to_string(max_identifier_bytes) + " bytes, this one has "
           + std::to_string(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const auto length = utf8_sequence(text, at);
    if (length == 0)
      return "an instance id must be valid UTF-8";
    if (is_control_character(text, at, length))
      return "an instance id must not contain control characters";
    at += length;
  }
  return std::nullopt;
}

std::string generate_instance_id() {
  std::array<unsigned char, 16> bytes{};
  // The C library's front to getrandom: unlike the system call itself it can't come back without having filled them.
  arc4random_buf(bytes.data(), bytes.size());
  bytes[6] = static_cast<unsigned char>((bytes[6] & 0x0FU) | 0x40U); // version 4
  bytes[8] = static_cast<unsigned char>((bytes[8] & 0x3FU) | 0x80U); // the variant of RFC 9562
  std::string id = "mp-";
  id.reserve(id.size() + 2 * bytes.size());
  constexpr char digits[] = "0123456789abcdef";
  for (const unsigned byte : bytes) {
    id.push_back(digits[byte >> 4U]);
    id.push_back(digits[byte & 0xFU]);
  }
  return id;
}

} // namespace coordinator::schema
