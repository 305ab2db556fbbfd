#pragma once

#include "schema/instance.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace coordinator {

using time_point = std::chrono::steady_clock::time_point;
using duration = std::chrono::nanoseconds;

/// Names the one registration that a request is meant for, as `If-Match` does. Unset: whichever is current.
using registration_condition = std::optional<std::vector<std::string>>;

/// Immutable once made, so that lists share it instead of copying it.
using instance_ptr = std::shared_ptr<const schema::instance>;

/// What a registration led to.
struct registration {
  instance_ptr entry;
  bool re_registered = false;
  /// Names this registration for as long as it lasts, and no other one, of this run of the coordinator or another.
  std::string tag;
  /// Other ids that are registered at the same address and port; at most `membership::max_reported_neighbours`.
  std::vector<std::string> same_address;
};

enum class outcome { done, unknown, superseded };

/// What a departure removed. `entry` is set only when `result` is `done`.
struct departure {
  outcome result = outcome::unknown;
  instance_ptr entry;
  duration age{}; ///< Since the last heartbeat.
};

/// An instance whose lease ran out.
struct lapse {
  instance_ptr entry;
  duration age{};
};

/// The fleet at one moment, in registration order.
struct snapshot {
  /// Changes whenever the rows do; also differs between runs of the coordinator.
  std::string tag;
  /// Null when the asker already knows this tag.
  std::shared_ptr<const std::vector<instance_ptr>> rows;
};

/// One instance with what only the registry knows of it.
struct instance_details {
  instance_ptr entry;
  std::string tag; ///< Of its registration.
  duration age{};  ///< Since the last heartbeat.
};

/// Who is in the fleet: the rules of membership as a plain value (docs/architecture.md, "Membership").
///
/// A lease runs for `timeout` from the last heartbeat; registering counts as one. It has run out when its age is
/// strictly greater. Time comes in as an argument and must not go backwards between calls. Every operation but a
/// snapshot after a change is O(1), and `expire` is linear in what expired. Not thread-safe: one owner.
class membership {
public:
  static constexpr std::size_t max_reported_neighbours = 3;

  /// `run` tells this run of the coordinator from others in tags; it must be unique. `generate_id` names instances
  /// that came without an id.
  membership(duration timeout, std::string run, std::function<std::string()> generate_id);
  ~membership();
  membership(const membership&) = delete;
  membership& operator=(const membership&) = delete;

  /// Adds the instance or replaces all of it; a replaced one keeps its place in the list. `wall_time` is in seconds
  /// since the epoch and only shown.
  registration join(schema::register_request request, time_point now, double wall_time);

  outcome heartbeat(std::string_view id, const registration_condition& condition, time_point now);

  departure leave(std::string_view id, const registration_condition& condition, time_point now);

  /// Lengthens every lease by `by`: the time for which this process stood still and could not have noticed a
  /// heartbeat.
  void extend_leases(duration by, time_point now);

  /// Removes every instance whose lease has run out and returns them, longest silent first.
  std::vector<lapse> expire(time_point now);

  /// The rows are shared with later snapshots until something changes.
  snapshot list(std::string_view known_tag);

  std::optional<instance_details> find(std::string_view id, time_point now) const;

  /// Every instance with its age, in registration order. Linear.
  std::vector<instance_details> details(time_point now) const;

  std::size_t size() const noexcept;
  duration timeout() const noexcept { return timeout_; }

private:
  struct table;

  std::string registration_tag(std::uint64_t number) const;
  bool admits(const registration_condition& condition, std::uint64_t number) const;
  time_point lease_time(time_point now) const noexcept { return now - stood_still_; }
  void changed() noexcept;

  duration timeout_;
  std::string run_;
  std::function<std::string()> generate_id_;
  std::unique_ptr<table> table_;
  std::uint64_t registrations_ = 0;
  std::uint64_t version_ = 0;
  /// Leases are measured on a clock that stops while the process stands still: this much behind the real one.
  duration stood_still_{};
  std::shared_ptr<const std::vector<instance_ptr>> rows_;
};

} // namespace coordinator
