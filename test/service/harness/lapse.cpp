#include "lapse.hpp"

#include "fleet.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <set>

namespace coordinator::service_test {

namespace {

// What scheduling may add to a sweep.
constexpr double moment = 0.3;
// After this much beyond the promise an instance is taken to stay for good.
constexpr double patience = 5;

double seconds(monotonic_clock::duration value) {
  return std::chrono::duration<double>(value).count();
}

} // namespace

lapse_watch::lapse_watch(std::uint16_t port, double timeout_seconds, double interval_seconds)
    : api_{port}, timeout_{timeout_seconds}, interval_{interval_seconds} {}

void lapse_watch::join(const std::string& id) {
  const auto before = monotonic_clock::now();
  const auto reply = register_instance(api_, id);
  const auto after = monotonic_clock::now();
  BOOST_TEST_REQUIRE(reply.status == 200);
  leases_[id] = {before, after, after};
}

void lapse_watch::beat(const std::string& id) {
  const auto before = monotonic_clock::now();
  const auto reply = heartbeat(api_, id);
  const auto after = monotonic_clock::now();
  BOOST_TEST_REQUIRE(reply.status == 200);
  leases_[id] = {before, after, after};
}

void lapse_watch::observe_for(deadline end) {
  eventually(end, [&] {
    observe();
    return false;
  });
}

void lapse_watch::observe_until_all_are_gone() {
  while (!leases_.empty() && !is_overdue())
    observe_for(5ms);
  BOOST_TEST(leases_.empty(), leases_.size() << " instances stay; one is " << leases_.begin()->first);
}

void lapse_watch::observe_until_all_are_gone(std::list<lapse_watch>& watches) {
  const auto unfinished = [](const lapse_watch& watch) { return !watch.leases_.empty() && !watch.is_overdue(); };
  while (std::any_of(watches.begin(), watches.end(), unfinished))
    for (auto& watch : watches)
      watch.observe_for(1ms);
  for (auto& watch : watches)
    watch.observe_until_all_are_gone();
}

void lapse_watch::observe() {
  const auto asked = monotonic_clock::now();
  const auto ids = listed_ids(api_);
  const auto answered = monotonic_clock::now();
  const std::set<std::string> present{ids.begin(), ids.end()};
  for (auto entry = leases_.begin(); entry != leases_.end();) {
    auto& [id, observed] = *entry;
    if (present.contains(id)) {
      observed.last_seen = asked;
      ++entry;
      continue;
    }
    const auto longest = seconds(answered - observed.earliest_start);
    const auto shortest = seconds(observed.last_seen - observed.latest_start);
    BOOST_TEST(longest >= timeout_,
               id << " left " << longest << " s after its last heartbeat, before the timeout of " << timeout_);
    BOOST_TEST(shortest <= timeout_ + interval_ + moment,
               id << " stayed for " << shortest << " s with timeout " << timeout_ << " and interval " << interval_);
    entry = leases_.erase(entry);
  }
}

bool lapse_watch::is_overdue() const {
  const auto now = monotonic_clock::now();
  return std::any_of(leases_.begin(), leases_.end(), [&](const auto& entry) {
    return seconds(now - entry.second.earliest_start) > timeout_ + interval_ + patience;
  });
}

} // namespace coordinator::service_test
