#include "http/membership_waits.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace coordinator::http {

void membership_waits::changed(std::string version, time_point now) {
  version_ = std::move(version);
  // Only those who wait by now: one who comes later knows at least this version.
  for (auto& wait : waits_)
    if (wait.known != version_) {
      wait.outdated = true;
      settled_ = std::min(settled_, now + settling);
    }
}

std::vector<membership_wait> membership_waits::take_ready(time_point now) {
  const bool change_settled = now >= settled_;
  if (change_settled)
    settled_ = time_point::max();
  const auto first_ready = std::ranges::stable_partition(waits_, [&](const membership_wait& wait) {
                             return now < wait.until && !wait.exchange->client_gone.load(std::memory_order_relaxed)
                                    && !(change_settled && wait.outdated);
                           }).begin();
  std::vector<membership_wait> ready{std::make_move_iterator(first_ready), std::make_move_iterator(waits_.end())};
  waits_.erase(first_ready, waits_.end());
  return ready;
}

std::vector<membership_wait> membership_waits::take_all() {
  return std::exchange(waits_, {});
}

time_point membership_waits::wake() const noexcept {
  auto result = waits_.empty() ? time_point::max() : settled_;
  for (const auto& wait : waits_)
    result = std::min(result, wait.until);
  return result;
}

} // namespace coordinator::http
