#pragma once

#include "actors/member.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

namespace coordinator {

/// How far the guard has got with those that it holds back. Also what `/readyz` shows.
struct guard_status {
  std::size_t held_back = 0; ///< Not decided yet.
  std::size_t alive = 0;     ///< Since the guard set in: found alive, heard of in another way, or left by themselves.
  std::size_t dead = 0;      ///< Since then: evicted.
  time_point next_end{};     ///< By then the first of them is decided, and by the other the last.
  time_point last_end{};

  bool active() const noexcept { return held_back > 0; }
};

/// Where the health actor leaves the guard's status for those who answer readiness probes. Thread-safe.
class guard_board {
public:
  void set(const guard_status& current) {
    std::lock_guard guard{mutex_};
    current_ = current;
  }
  guard_status get() const {
    std::lock_guard guard{mutex_};
    return current_;
  }

private:
  mutable std::mutex mutex_;
  guard_status current_;
};

/// Finds out which of the held-back instances live: whom to ask, when, and what follows from the answers
/// (docs/architecture.md, "The eviction guard"). A plain value.
///
/// Every instance is decided at most `longest` after it was held back. The number asked at a time follows from that:
/// few when there is time, more when there are many.
class lapse_guard {
public:
  static constexpr std::size_t fewest_at_a_time = 64;
  static constexpr duration probe_timeout = std::chrono::seconds{2};

  explicit lapse_guard(duration longest) : longest_(longest) {}

  /// Takes over what a sweep that was asked for at `asked` holds back: adds those that are new, forgets those that are
  /// not among them any more. One that was decided after the sweep had been asked for is not new. Returns whether the
  /// guard has just set in.
  bool hold(const std::vector<member>& held_back, time_point asked, time_point now);

  /// Gives everybody so much more time, for which this process stood still and could not hear answers.
  void extend(duration by);

  /// Whom to ask now. Each is to be followed by `answered` or `not_asked`; one without either is asked again in time.
  std::vector<member> next_probes(time_point now);

  /// Decides one. Empty when it is not held back any more.
  std::optional<member> answered(std::uint64_t registration, bool alive, time_point now);

  /// Nothing is known of it after all: the question could not be put, or the time for an answer passed while this
  /// process stood still. It is to be asked again.
  void not_asked(std::uint64_t registration);

  /// Takes out those whose time is over without an answer: they count as dead. Also finds questions that were lost. To
  /// be called now and then.
  std::vector<member> overdue(time_point now);

  guard_status status() const;

private:
  struct suspect {
    member who;
    time_point decided_by{};
    std::optional<time_point> asked{};
  };
  using position = std::map<std::uint64_t, suspect>::iterator;

  void ask_again(suspect& which);
  /// Returns who it was, and the position behind.
  std::pair<member, position> remove(position which);

  duration longest_;
  std::map<std::uint64_t, suspect> suspects_;                   ///< By registration.
  std::set<std::pair<time_point, std::uint64_t>> ends_;         ///< When each is to be decided by.
  std::unordered_map<std::uint64_t, time_point> decided_since_; ///< When, for sweeps that do not know it yet.
  std::deque<std::uint64_t> to_ask_; ///< Registrations, some of which may not be held back any more.
  std::size_t at_a_time_ = fewest_at_a_time;
  std::size_t asking_ = 0;
  std::size_t alive_ = 0;
  std::size_t dead_ = 0;
};

} // namespace coordinator
