#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace coordinator {

/// When one activity (an actor's turns, a worker's loop, the sweep) was last seen to make progress.
///
/// Written by the activity itself, read by whoever answers a readiness probe, without a lock and without asking: an
/// activity that is stuck could not answer.
class progress_mark {
public:
  using time_point = std::chrono::steady_clock::time_point;
  using duration = std::chrono::nanoseconds;

  progress_mark(std::string name, duration limit, time_point now)
      : name_(std::move(name)), limit_(limit), last_(now.time_since_epoch()) {}

  /// Any thread.
  void stamp(time_point now) noexcept { last_.store(now.time_since_epoch(), std::memory_order_relaxed); }

  const std::string& name() const noexcept { return name_; }
  duration limit() const noexcept { return limit_; }
  duration age(time_point now) const noexcept { return now.time_since_epoch() - last_.load(std::memory_order_relaxed); }
  bool late(time_point now) const noexcept { return age(now) > limit_; }

private:
  std::string name_;
  duration limit_;
  std::atomic<duration> last_;
};

/// All activities that the service depends on. Thread-safe.
class progress_board {
public:
  /// Starts watching an activity, which counts as having progressed just now.
  std::shared_ptr<progress_mark> watch(std::string name, progress_mark::duration limit, progress_mark::time_point now);

  /// The activities without progress within their limits, in the order in which they were added.
  std::vector<std::shared_ptr<const progress_mark>> late(progress_mark::time_point now) const;

  /// From now on the service is not ready, whatever its activities do.
  void begin_stopping() noexcept { stopping_.store(true, std::memory_order_relaxed); }
  bool stopping() const noexcept { return stopping_.load(std::memory_order_relaxed); }

private:
  mutable std::mutex mutex_; ///< Guards the list; the marks need none.
  std::vector<std::shared_ptr<progress_mark>> marks_;
  std::atomic<bool> stopping_ = false;
};

} // namespace coordinator
