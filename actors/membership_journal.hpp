#pragma once

#include "actors/member.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

namespace coordinator {

/// The latest changes, as many as fit a bound. A plain value.
class membership_journal {
public:
  static constexpr std::size_t most_changes = 16 * 1024;
  static constexpr std::size_t most_bytes = std::size_t{16} << 20; ///< Roughly, of entries that only it keeps alive.
  static constexpr std::size_t most_changes_at_once = 1024;

  /// `version` is that of the fleet before the first change.
  explicit membership_journal(std::uint64_t version) : version_(version) {}

  /// Counts the version up by one.
  void add(membership_change change);

  std::uint64_t version() const noexcept { return version_; }

  /// The next changes for one who knows `version`, `most_changes_at_once` at most. Empty when they are not all here any
  /// more: it has to be told the whole.
  std::optional<membership_update> since(std::uint64_t version) const;

private:
  struct kept {
    membership_change change;
    std::size_t bytes;
  };

  std::uint64_t version_;
  std::deque<kept> changes_; ///< The last one led to `version_`.
  std::size_t bytes_ = 0;
};

} // namespace coordinator
