#pragma once

#include "apps/fleet/clock.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace coordinator::fleet {

/// In which way the coordinator broke its word. docs/fleet.md says what each means.
enum class violation_kind : std::uint8_t {
  live_but_evicted,  ///< Absent from a list although its lease surely ran.
  dead_but_listed,   ///< In a list although its lease was surely over, and the sweep after that.
  left_but_listed,   ///< In a list although its DELETE had been answered.
  lost,              ///< Running and within reach of the coordinator, and still not back in the list.
  duplicate,         ///< More than once in one list.
  stranger,          ///< In a list under an id of ours that never registered.
  wrong_row,         ///< In a list with what it did not register.
  wrong_answer,      ///< A reply that can't be right.
  coordinator_ended, ///< The coordinator died, did not stop cleanly, or gave no lists any more.
};

inline constexpr std::size_t violation_kinds = 9;

std::string_view to_string(violation_kind kind) noexcept;

struct violation_example {
  duration at{}; ///< Since the start of the simulation.
  std::string instance_id;
  std::string detail;
};

/// Counts violations by kind and keeps the first few of each.
class violation_log {
public:
  static constexpr std::size_t max_examples = 20;

  void add(violation_kind kind, violation_example example);

  std::uint64_t count(violation_kind kind) const noexcept { return entries_[index(kind)].count; }
  const std::vector<violation_example>& examples(violation_kind kind) const noexcept {
    return entries_[index(kind)].examples;
  }
  std::uint64_t total() const noexcept;

private:
  static constexpr std::size_t index(violation_kind kind) noexcept { return static_cast<std::size_t>(kind); }

  struct entry {
    std::uint64_t count = 0;
    std::vector<violation_example> examples;
  };
  std::array<entry, violation_kinds> entries_;
};

} // namespace coordinator::fleet
