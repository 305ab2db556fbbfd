#pragma once

#include "actors/member.hpp"
#include "http/exchange.hpp"

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace coordinator::http {

/// A request whose answer waits until membership changes.
struct membership_wait {
  exchange_ptr exchange;
  std::string known; ///< The version that its client has.
  time_point until{};
  std::function<void()> go_on; ///< Answers with what there is then.
  bool outdated = false;       ///< What the client knows is not current any more.
};

/// The requests of one worker that wait. They cost no thread and no timer of their own. A plain value.
class membership_waits {
public:
  static constexpr std::size_t most = 10'000;
  /// After a change, for further ones to be answered along with it.
  static constexpr duration settling = std::chrono::milliseconds{50};

  /// The version to be told the successor of.
  const std::string& version() const noexcept { return version_; }
  bool settling_down() const noexcept { return settled_ != time_point::max(); }

  bool empty() const noexcept { return waits_.empty(); }
  std::size_t size() const noexcept { return waits_.size(); }

  void add(membership_wait wait) { waits_.push_back(std::move(wait)); }

  /// Membership is at that version now.
  void changed(std::string version, time_point now);

  /// Those to go on with: a change has settled, their time is over, or their clients have gone.
  std::vector<membership_wait> take_ready(time_point now);
  std::vector<membership_wait> take_all();

  /// When `take_ready` may find the next; `time_point::max()` when nothing is foreseeable.
  time_point wake() const noexcept;

private:
  std::vector<membership_wait> waits_;
  std::string version_; ///< The latest that is known to be.
  time_point settled_ = time_point::max();
};

} // namespace coordinator::http
