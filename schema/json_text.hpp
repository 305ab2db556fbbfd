#pragma once

#include <charconv>
#include <concepts>
#include <string>
#include <string_view>

namespace coordinator::schema {

// Writing JSON text straight to the end of a string: replies are made of these, with no document in between.

/// Appends `text` as a JSON string. Bytes that are not well-formed UTF-8 become U+FFFD, so that what is written is
/// always valid JSON.
void append_quoted(std::string& out, std::string_view text);

/// Like `append_quoted`, for text that goes through `bounded_echo`: leaves out what that would cut off anyway.
void append_quoted_start(std::string& out, std::string_view text);

/// Appends the shortest text that reads back as the same double. A whole number keeps a fraction (`5.0`), as readers
/// that tell integers from floats expect. NaN and infinities, which JSON does not have, become `null`.
void append_number(std::string& out, double value);

template <std::integral Int>
requires(!std::same_as<Int, bool>) void append_number(std::string& out, Int value) {
  char text[24]; // a 64-bit number has at most 20 characters
  const auto end = std::to_chars(text, text + sizeof text, value).ptr;
  out.append(text, end);
}

inline void append_boolean(std::string& out, bool value) {
  out.append(value ? "true" : "false");
}

/// The `input` of a violation about a plain text, such as a header: a JSON string, cut down to `max_echoed_input`.
std::string echo(std::string_view text);

/// The `input` of a violation for a value whose JSON text is `json`, which may already be cut off somewhere past
/// `max_echoed_input` bytes.
std::string bounded_echo(std::string json);

} // namespace coordinator::schema
