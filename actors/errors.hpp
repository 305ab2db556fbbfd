#pragma once

#include <caf/error.hpp>

#include <cstdint>
#include <string>

namespace coordinator {

/// Why an actor declines a request. The value names the situation; http/problems.cpp alone turns it into a status.
enum class ec : std::uint8_t {
  none,
  /// No instance of that id is registered.
  unknown_instance,
  /// The id is registered, but not by the registration that the request was meant for.
  superseded,
  /// The registration that a call was for has ended.
  departed,
  /// More is waiting than can be kept.
  overloaded,
};

std::string to_string(ec code);

caf::error make_error(ec code);

/// Makes errors of this category readable in `actor_system::render`.
std::string render_error(std::uint8_t code, caf::atom_value category, const caf::message& context);

bool operator==(const caf::error& left, ec right) noexcept;

} // namespace coordinator
