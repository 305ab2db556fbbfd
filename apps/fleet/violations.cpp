#include "apps/fleet/violations.hpp"

#include <utility>

namespace coordinator::fleet {

std::string_view to_string(violation_kind kind) noexcept {
  switch (kind) {
  case violation_kind::live_but_evicted:
    return "live_but_evicted";
  case violation_kind::dead_but_listed:
    return "dead_but_listed";
  case violation_kind::left_but_listed:
    return "left_but_listed";
  case violation_kind::lost:
    return "lost";
  case violation_kind::duplicate:
    return "duplicate";
  case violation_kind::stranger:
    return "stranger";
  case violation_kind::wrong_row:
    return "wrong_row";
  case violation_kind::wrong_answer:
    return "wrong_answer";
  case violation_kind::coordinator_ended:
    return "coordinator_ended";
  }
  return "unknown";
}

void violation_log::add(violation_kind kind, violation_example example) {
  auto& found = entries_[index(kind)];
  if (++found.count <= max_examples)
    found.examples.push_back(std::move(example));
}

std::uint64_t violation_log::total() const noexcept {
  std::uint64_t result = 0;
  for (const auto& one : entries_)
    result += one.count;
  return result;
}

} // namespace coordinator::fleet
