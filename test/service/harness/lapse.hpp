#pragma once

#include "client.hpp"
#include "deadline.hpp"

#include <cstdint>
#include <list>
#include <map>
#include <string>

namespace coordinator::service_test {

/// Watches when silent instances leave the list, and checks each against the promise: not before its timeout, and at
/// the latest one sweep interval (and a moment for scheduling) after it.
///
/// What is measured from outside is an interval on either side, so the checks are made such that a slow test machine
/// can't fail a service that is right: a lease starts at the earliest when the heartbeat was sent and at the latest
/// when its reply was there; an instance left after the last list that showed it was asked for, and before the first
/// that did not had arrived.
class lapse_watch {
public:
  lapse_watch(std::uint16_t port, double timeout_seconds, double interval_seconds);

  /// Registers that id: its lease starts.
  void join(const std::string& id);
  /// Its lease starts anew.
  void beat(const std::string& id);

  /// Asks for the list again and again for that long.
  void observe_for(deadline end);

  /// Observes until nobody is left, and checks that this takes no longer than promised.
  void observe_until_all_are_gone();
  static void observe_until_all_are_gone(std::list<lapse_watch>& watches);

private:
  struct lease {
    monotonic_clock::time_point earliest_start;
    monotonic_clock::time_point latest_start;
    monotonic_clock::time_point last_seen; ///< When a list was asked for that showed it.
  };

  void observe();
  bool is_overdue() const;

  client api_;
  double timeout_;
  double interval_;
  std::map<std::string, lease> leases_;
};

} // namespace coordinator::service_test
