#include "actors/errors.hpp"

#include <caf/atom.hpp>
#include <caf/message.hpp>

namespace coordinator {

namespace {

constexpr auto category = caf::atom("mpc");

} // namespace

std::string to_string(ec code) {
  switch (code) {
  case ec::none:
    return "none";
  case ec::unknown_instance:
    return "unknown_instance";
  case ec::superseded:
    return "superseded";
  case ec::departed:
    return "departed";
  case ec::overloaded:
    return "overloaded";
  }
  return "unknown_error";
}

caf::error make_error(ec code) {
  return {static_cast<std::uint8_t>(code), category};
}

std::string render_error(std::uint8_t code, caf::atom_value, const caf::message&) {
  return to_string(static_cast<ec>(code));
}

bool operator==(const caf::error& left, ec right) noexcept {
  return left.category() == category && left.code() == static_cast<std::uint8_t>(right);
}

} // namespace coordinator
