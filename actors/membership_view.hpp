#pragma once

#include "actors/member.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace coordinator {

/// The fleet as one follower knows it. Turns updates into changes without a gap: after an update that tells the whole,
/// it works out what must have happened. A plain value.
class membership_view {
public:
  /// The changes that the update brings, in order. Of an id that came and went between two updates nothing is told, and
  /// what happened in several steps is told as one.
  std::vector<membership_change> apply(const membership_update& update);

  /// Null when it is not registered, as far as is known here.
  const member* find(std::string_view id) const noexcept;

  /// Whether this registration is known to have ended. One that is too new to be known here has not.
  bool has_ended(const member& which) const noexcept;

  std::size_t size() const noexcept { return members_.size(); }
  std::uint64_t version() const noexcept { return version_; }

  template <class Action>
  void for_each(Action action) const {
    for (const auto& [id, each] : members_)
      action(each);
  }

private:
  void note(const membership_change& change);

  std::unordered_map<std::string_view, member> members_; ///< Keys point into the entries.
  std::uint64_t version_ = 0;
  std::uint64_t latest_registration_ = 0;
};

} // namespace coordinator
