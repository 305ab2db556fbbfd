#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace coordinator::schema {

inline constexpr std::size_t max_identifier_bytes = 256;

/// Without leading and trailing white space (space, \t, \n, \v, \f, \r).
std::string_view stripped(std::string_view text) noexcept;

bool is_valid_utf8(std::string_view text) noexcept;

/// Why a stripped `text` can't be an instance id, as a sentence without a full stop; empty when it can.
/// 1 to 256 bytes of valid UTF-8 without control characters (U+0000 to U+001F and U+007F to U+009F).
std::optional<std::string> identifier_problem(std::string_view text);

/// `mp-` and 32 lower-case hexadecimal digits: a random UUID (version 4) without dashes.
std::string generate_instance_id();

} // namespace coordinator::schema
