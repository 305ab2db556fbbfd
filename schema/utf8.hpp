#pragma once

#include <cstddef>
#include <string_view>

namespace coordinator::schema {

/// The length of the well-formed UTF-8 sequence that starts at `text[at]`, or 0 when there is none: overlong forms,
/// surrogates, code points past U+10FFFF and cut-off sequences are not well formed. `at` is less than `text.size()`.
std::size_t utf8_sequence(std::string_view text, std::size_t at) noexcept;

/// How many code points `text` holds. Bytes that are not well formed are counted in some consistent way.
std::size_t utf8_length(std::string_view text) noexcept;

/// The longest start of a well-formed `text` that has at most `max_bytes` bytes and splits no code point.
std::string_view utf8_prefix(std::string_view text, std::size_t max_bytes) noexcept;

/// Stands for what was cut off.
inline constexpr std::string_view ellipsis = "\xE2\x80\xA6";

} // namespace coordinator::schema
