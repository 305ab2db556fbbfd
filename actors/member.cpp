#include "actors/member.hpp"

namespace coordinator {

std::string_view to_string(change_kind value) noexcept {
  switch (value) {
  case change_kind::joined:
    return "joined";
  case change_kind::replaced:
    return "replaced";
  case change_kind::left:
    return "left";
  case change_kind::drained:
    return "drained";
  case change_kind::resumed:
    return "resumed";
  }
  return "unknown";
}

std::string_view to_string(departure_cause value) noexcept {
  switch (value) {
  case departure_cause::none:
    return "none";
  case departure_cause::deregistered:
    return "deregistered";
  case departure_cause::lapsed:
    return "lapsed";
  case departure_cause::superseded:
    return "superseded";
  }
  return "unknown";
}

} // namespace coordinator
