#pragma once

#include "actors/member.hpp"
#include "actors/membership_journal.hpp"
#include "schema/instance.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace coordinator {

/// Names the one registration that a request is meant for, as `If-Match` does. Unset: whichever is current.
using registration_condition = std::optional<std::vector<std::string>>;

/// What a registration led to.
struct registration {
  member joined;
  bool re_registered = false;
  /// Names this registration for as long as it lasts, and no other one, of this run of the coordinator or another.
  std::string tag;
  /// Another id that is registered at the same address and port, if there is any.
  std::optional<std::string> same_address;
};

enum class outcome { done, unknown, superseded };

/// What a departure removed. `who` is set only when `result` is `done`.
struct departure {
  outcome result = outcome::unknown;
  member who;
  duration age{}; ///< Since the last heartbeat.
};

/// A member with the age of its last heartbeat.
struct aged_member {
  member who;
  duration age{};
};

/// Does not let a large share of the fleet be evicted at once (docs/architecture.md, "The eviction guard").
struct eviction_guard {
  /// Fleets smaller than this are never guarded: a share of theirs says nothing.
  static constexpr std::size_t smallest_fleet = 5;

  double ratio = 0; ///< Of the fleet; 0: the guard is off.

  bool trips(std::size_t silent, std::size_t fleet) const noexcept {
    return ratio > 0 && fleet >= smallest_fleet && static_cast<double>(silent) > ratio * static_cast<double>(fleet);
  }
};

struct sweep_result {
  std::vector<aged_member> lapsed; ///< Removed, longest silent first.
  /// All that are held back until somebody has found out whether they live; see `membership::judge`.
  std::vector<member> held_back;
};

/// What outlives the table when its owner is restarted within one run of the process.
struct membership_memory {
  std::uint64_t registrations = 0; ///< The last one's number.
  std::uint64_t version = 0;       ///< The last one of the fleet.
  std::uint64_t places = 0;        ///< The last one in the list.
  std::set<std::string, std::less<>> drained;
  std::deque<std::string> drained_and_gone; ///< Those of `drained` that are not registered, oldest first.
};

/// The fleet at one moment, in registration order.
struct snapshot {
  /// Changes whenever the rows do; also differs between runs of the coordinator.
  std::string tag;
  /// Null when the asker already knows this tag.
  std::shared_ptr<const std::vector<member>> rows;
};

/// One instance with what only the registry knows of it.
struct instance_details {
  member who;
  std::string tag; ///< Of its registration.
  duration age{};  ///< Since the last heartbeat.
};

/// The fleet with its ages, in registration order.
struct fleet_details {
  std::string tag; ///< As in `snapshot::tag`.
  std::vector<aged_member> rows;
};

/// Who is in the fleet: the rules of membership as a plain value (docs/architecture.md, "Membership").
///
/// A lease runs for `timeout` from the last heartbeat; registering counts as one. It has run out when its age is
/// strictly greater. Time comes in as an argument and must not go backwards between calls. Every operation but a
/// snapshot after a change is O(1), and `sweep` is linear in what has lapsed, with a guard in what is about to. Not
/// thread-safe: one owner.
class membership {
public:
  /// Instances that left while they were drained, and are remembered to be that.
  static constexpr std::size_t max_drained_and_gone = 4096;

  /// `run` tells this run of the coordinator from others in tags; it must be unique. `generate_id` names instances
  /// that came without an id. `memory` is that of an earlier table of the same run, or a fresh one; starting afresh
  /// counts as a change of the fleet.
  membership(duration timeout, std::string run, std::function<std::string()> generate_id,
             std::shared_ptr<membership_memory> memory);
  ~membership();
  membership(const membership&) = delete;
  membership& operator=(const membership&) = delete;

  /// Adds the instance or replaces all of it; a replaced one keeps its place in the list, and one that is drained
  /// stays so. `wall_time` is in seconds since the epoch and only shown.
  registration join(schema::register_request request, time_point now, double wall_time);

  outcome heartbeat(std::string_view id, const registration_condition& condition, time_point now);

  departure leave(std::string_view id, const registration_condition& condition, time_point now);

  /// Lengthens every lease by `by`: the time for which this process stood still and could not have noticed a
  /// heartbeat.
  void extend_leases(duration by, time_point now);

  /// Removes every instance whose lease has run out; but holds them back instead while the guard is at work. It sets in
  /// when a lease has run out and more of the fleet than its ratio has been silent for half a lease, and is at work
  /// until a whole lease after that, or while anybody is held back. One that lives on a verdict, not on a heartbeat of
  /// its own, is always held back. Neither goes for one at whose address another id registered later: what answers there
  /// says nothing of it.
  sweep_result sweep(time_point now, const eviction_guard& guard);

  /// Ends the holding back of one registration: one that was found alive has its lease renewed, another is removed and
  /// returned. Nothing happens when it is not held back any more, because a heartbeat came or it registered again.
  std::optional<aged_member> judge(std::string_view id, std::uint64_t registration, bool alive, time_point now);

  /// Takes an instance out of use, or back into it, until told otherwise: neither registering again nor leaving and
  /// coming back changes it. Draining takes an instance that is registered; resuming one that is drained.
  outcome drain(std::string_view id, bool wanted);

  /// The rows are shared with later snapshots until something changes.
  snapshot list(std::string_view known_tag);

  /// The changes so far, and their number: the version of the fleet.
  const membership_journal& journal() const noexcept { return journal_; }
  std::uint64_t latest_registration() const noexcept { return memory_->registrations; }
  /// As in `snapshot::tag`.
  std::string version_tag() const;
  /// All rows; shared likewise.
  std::shared_ptr<const std::vector<member>> rows();

  std::optional<instance_details> find(std::string_view id, time_point now) const;

  /// Every instance with its age. Linear.
  fleet_details details(time_point now) const;

  std::size_t size() const noexcept;
  duration timeout() const noexcept { return timeout_; }

private:
  struct table;

  std::string registration_tag(std::uint64_t number) const;
  bool admits(const registration_condition& condition, std::uint64_t number) const;
  time_point lease_time(time_point now) const noexcept { return now - stood_still_; }
  void record(membership_change change);
  void gone(const member& who, departure_cause cause);
  void trim_drained();

  duration timeout_;
  std::string run_;
  std::function<std::string()> generate_id_;
  std::unique_ptr<table> table_;
  std::shared_ptr<membership_memory> memory_;
  membership_journal journal_;
  time_point guarded_until_{}; ///< On the lease clock.
  /// Leases are measured on a clock that stops while the process stands still: this much behind the real one.
  duration stood_still_{};
  std::shared_ptr<const std::vector<member>> rows_;
};

} // namespace coordinator
