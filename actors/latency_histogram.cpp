#include "actors/latency_histogram.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace coordinator {

namespace {

using duration = latency_histogram::duration;

// Values are kept in units of 2^10 ns, about a microsecond. The first 16 buckets are as wide as that; then each
// doubling has 16 buckets of equal width.
constexpr unsigned unit_bits = 10;
constexpr unsigned fraction_bits = 4;
constexpr std::uint64_t fractions = std::uint64_t{1} << fraction_bits;
constexpr duration longest = std::chrono::hours{24};

constexpr std::size_t bucket_of(duration value) noexcept {
  const auto units = static_cast<std::uint64_t>(value.count()) >> unit_bits;
  if (units < fractions)
    return static_cast<std::size_t>(units);
  const auto shift = static_cast<unsigned>(std::bit_width(units)) - 1 - fraction_bits;
  return static_cast<std::size_t>((shift + 1) * fractions + ((units >> shift) - fractions));
}

/// The largest value of the bucket.
constexpr duration bound_of(std::size_t bucket) noexcept {
  const auto next = static_cast<std::uint64_t>(bucket) + 1;
  const auto units = next < 2 * fractions ? next : (next % fractions + fractions) << (next / fractions - 1);
  return duration{static_cast<duration::rep>((units << unit_bits) - 1)};
}

} // namespace

void latency_histogram::record(duration value) noexcept {
  static_assert(bucket_of(longest) < buckets);
  value = std::clamp(value, duration::zero(), longest);
  ++counts_[bucket_of(value)];
  ++count_;
  max_ = std::max(max_, value);
}

duration latency_histogram::quantile(double share) const noexcept {
  if (count_ == 0)
    return duration::zero();
  const auto wanted = std::max(std::ceil(std::clamp(share, 0.0, 1.0) * static_cast<double>(count_)), 1.0);
  std::uint64_t seen = 0;
  for (std::size_t bucket = 0; bucket < counts_.size(); ++bucket) {
    seen += counts_[bucket];
    if (static_cast<double>(seen) >= wanted)
      return std::min(bound_of(bucket), max_);
  }
  return max_;
}

} // namespace coordinator
