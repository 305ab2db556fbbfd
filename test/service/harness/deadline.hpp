#pragma once

#include <algorithm>
#include <chrono>
#include <thread>

namespace coordinator::service_test {

using namespace std::chrono_literals;

using monotonic_clock = std::chrono::steady_clock;

/// Until when something is waited for. Made from a duration, counted from now.
class deadline {
public:
  // NOLINTNEXTLINE(google-explicit-constructor): so that a call reads `eventually(2s, …)`
  template <class Rep, class Period>
  deadline(std::chrono::duration<Rep, Period> from_now)
      : when_{monotonic_clock::now() + std::chrono::duration_cast<monotonic_clock::duration>(from_now)} {}

  bool passed() const { return monotonic_clock::now() >= when_; }

  /// For poll(2): milliseconds left, rounded up, so that a wait never ends before its deadline.
  int poll_timeout() const {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(when_ - monotonic_clock::now());
    return static_cast<int>(std::max<std::chrono::milliseconds::rep>(left.count(), 0));
  }

private:
  monotonic_clock::time_point when_;
};

/// Bounds on how long the service takes hold for a machine that has nothing else to do and a build without a sanitizer.
/// Tests run beside each other, some under sanitizers: this many times as long is still taken for as promised.
inline constexpr double leniency = TEST_LENIENCY;

/// Whether `condition` becomes true in time. It is asked at least once, and every few milliseconds.
template <class Condition>
bool eventually(deadline limit, Condition&& condition) {
  for (;;) {
    const bool last_chance = limit.passed();
    if (condition())
      return true;
    if (last_chance)
      return false;
    std::this_thread::sleep_for(5ms);
  }
}

/// Whether `condition` stays true for all of that time, as far as asking every few milliseconds can tell.
template <class Condition>
bool holds_for(deadline end, Condition&& condition) {
  return !eventually(end, [&] { return !condition(); });
}

/// For a stimulus that is itself a span of time, such as a pause of the service. Never to wait for a result: that is
/// `eventually`.
inline void let_pass(std::chrono::milliseconds time) {
  std::this_thread::sleep_for(time);
}

/// Seconds since `start`.
inline double seconds_since(monotonic_clock::time_point start) {
  return std::chrono::duration<double>(monotonic_clock::now() - start).count();
}

} // namespace coordinator::service_test
