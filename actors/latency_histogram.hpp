#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace coordinator {

/// How long things took, in buckets of fixed bounds: 16 to each doubling, so that what is told is at most a sixteenth
/// too much. Takes 5 KiB however much is recorded, and recording is a few instructions. Not thread-safe: one owner.
class latency_histogram {
public:
  using duration = std::chrono::nanoseconds;

  /// Less than nothing counts as nothing, more than a day as a day.
  void record(duration value) noexcept;

  std::uint64_t count() const noexcept { return count_; }
  /// Exact; 0 when nothing was recorded.
  duration max() const noexcept { return max_; }

  /// The least bound that this share of the values does not exceed, 0 when nothing was recorded. `share` is from 0
  /// to 1: 0.5 is the median.
  duration quantile(double share) const noexcept;

private:
  static constexpr std::size_t buckets = 544;

  std::array<std::uint64_t, buckets> counts_{};
  std::uint64_t count_ = 0;
  duration max_{};
};

} // namespace coordinator
