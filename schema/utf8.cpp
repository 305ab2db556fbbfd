#include "schema/utf8.hpp"

#include <algorithm>

namespace coordinator::schema {

namespace {

unsigned byte_at(std::string_view text, std::size_t at) noexcept {
  return static_cast<unsigned char>(text[at]);
}

bool is_continuation(unsigned byte) noexcept {
  return (byte & 0xC0U) == 0x80U;
}

} // namespace

std::size_t utf8_sequence(std::string_view text, std::size_t at) noexcept {
  const unsigned lead = byte_at(text, at);
  if (lead < 0x80)
    return 1;
  std::size_t length = 0;
  // The bounds of the second byte are what rules out overlong forms, surrogates and code points that are too large.
  unsigned second_min = 0x80;
  unsigned second_max = 0xBF;
  if (lead >= 0xC2 && lead <= 0xDF) {
    length = 2;
  } else if (lead >= 0xE0 && lead <= 0xEF) {
    length = 3;
    if (lead == 0xE0)
      second_min = 0xA0;
    else if (lead == 0xED)
      second_max = 0x9F;
  } else if (lead >= 0xF0 && lead <= 0xF4) {
    length = 4;
    if (lead == 0xF0)
      second_min = 0x90;
    else if (lead == 0xF4)
      second_max = 0x8F;
  } else {
    return 0;
  }
  if (text.size() - at < length)
    return 0;
  const unsigned second = byte_at(text, at + 1);
  if (second < second_min || second > second_max)
    return 0;
  for (std::size_t i = 2; i < length; ++i)
    if (!is_continuation(byte_at(text, at + i)))
      return 0;
  return length;
}

std::size_t utf8_length(std::string_view text) noexcept {
  return static_cast<std::size_t>(std::count_if(
      text.begin(), text.end(), [](char byte) { return !is_continuation(static_cast<unsigned char>(byte)); }));
}

std::string_view utf8_prefix(std::string_view text, std::size_t max_bytes) noexcept {
  if (text.size() <= max_bytes)
    return text;
  std::size_t end = max_bytes;
  while (end > 0 && is_continuation(byte_at(text, end)))
    --end;
  return text.substr(0, end);
}

} // namespace coordinator::schema
