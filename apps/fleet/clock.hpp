#pragma once

#include <chrono>

namespace coordinator::fleet {

using time_point = std::chrono::steady_clock::time_point;
using duration = std::chrono::nanoseconds;

constexpr double to_seconds(duration value) noexcept {
  return std::chrono::duration<double>{value}.count();
}

constexpr duration from_seconds(double value) noexcept {
  return std::chrono::round<duration>(std::chrono::duration<double>{value});
}

/// The clock of one simulated server, which runs fast or slow from `origin` on.
class skewed_clock {
public:
  skewed_clock() = default;
  /// `rate` is above 0: at 2, its seconds take half a second.
  skewed_clock(time_point origin, double rate) : origin_{origin}, rate_{rate} {}

  time_point shows(time_point real) const noexcept { return scaled(real, rate_); }
  /// When it shows that; `time_point::max()` is never.
  time_point real(time_point shown) const noexcept {
    return shown == time_point::max() ? shown : scaled(shown, 1 / rate_);
  }

private:
  time_point scaled(time_point time, double by) const noexcept {
    return origin_ + from_seconds(to_seconds(time - origin_) * by);
  }

  time_point origin_{};
  double rate_ = 1;
};

} // namespace coordinator::fleet
