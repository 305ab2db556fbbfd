#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace coordinator::schema {

/// Why `text` can't be an address that other machines reach, as a sentence without a full stop; empty when it can.
///
/// Accepted: IPv4, IPv6 with or without brackets (a zone id is allowed), host names of letters, digits, hyphens and
/// underscores. Refused: URLs, `host:port`, blanks, anything longer than 253 bytes, and the wildcard addresses in all
/// their spellings (`0.0.0.0`, `::`, `::ffff:0.0.0.0`, `0`), which mean "every interface" and so lead nowhere.
std::optional<std::string> address_problem(std::string_view text);

/// The form in which an accepted address is stored: as sent, without brackets.
std::string_view without_brackets(std::string_view text) noexcept;

/// One spelling for all spellings of an accepted address, to tell whether two are the same.
std::string canonical_address(std::string_view text);

} // namespace coordinator::schema
