#include "actors/lapse_guard.hpp"

#include <algorithm>
#include <unordered_set>
#include <utility>

namespace coordinator {

namespace {

/// After this a question counts as lost: the courier answers within the time limit, unless it was restarted.
constexpr duration lost_after = 2 * lapse_guard::probe_timeout;

} // namespace

bool lapse_guard::hold(const std::vector<member>& held_back, time_point asked, time_point now) {
  std::erase_if(decided_since_, [&](const auto& decided) { return decided.second < asked; });
  std::unordered_set<std::uint64_t> held;
  for (const auto& each : held_back)
    held.insert(each.registration);
  for (auto each = suspects_.begin(); each != suspects_.end();) {
    if (held.contains(each->first)) {
      ++each;
      continue;
    }
    // A heartbeat or a registration came, or it left by itself.
    ++alive_;
    each = remove(each).second;
  }
  const bool was_idle = suspects_.empty();
  for (const auto& each : held_back)
    if (!decided_since_.contains(each.registration)
        && suspects_.try_emplace(each.registration, suspect{each, now + longest_}).second) {
      ends_.emplace(now + longest_, each.registration);
      to_ask_.push_back(each.registration);
    }
  const bool sets_in = was_idle && !suspects_.empty();
  if (sets_in) {
    alive_ = dead_ = 0;
    at_a_time_ = fewest_at_a_time;
  }
  // Half of the time has to be enough when nobody answers: then a question that is lost can be put again.
  const auto rounds = std::max<duration::rep>(longest_ / 2 / probe_timeout, 1);
  at_a_time_ = std::max(at_a_time_, suspects_.size() / static_cast<std::size_t>(rounds) + 1);
  return sets_in;
}

void lapse_guard::extend(duration by) {
  ends_.clear();
  for (auto& [registration, each] : suspects_) {
    each.decided_by += by;
    ends_.emplace(each.decided_by, registration);
  }
}

std::vector<member> lapse_guard::next_probes(time_point now) {
  std::vector<member> result;
  while (asking_ < at_a_time_ && !to_ask_.empty()) {
    const auto found = suspects_.find(to_ask_.front());
    to_ask_.pop_front();
    if (found == suspects_.end() || found->second.asked)
      continue;
    found->second.asked = now;
    ++asking_;
    result.push_back(found->second.who);
  }
  return result;
}

std::optional<member> lapse_guard::answered(std::uint64_t registration, bool alive, time_point now) {
  const auto found = suspects_.find(registration);
  if (found == suspects_.end())
    return std::nullopt;
  decided_since_.insert_or_assign(registration, now);
  ++(alive ? alive_ : dead_);
  return remove(found).first;
}

void lapse_guard::not_asked(std::uint64_t registration) {
  const auto found = suspects_.find(registration);
  if (found == suspects_.end() || !found->second.asked)
    return;
  ask_again(found->second);
}

void lapse_guard::ask_again(suspect& which) {
  which.asked.reset();
  --asking_;
  to_ask_.push_back(which.who.registration);
}

std::pair<member, lapse_guard::position> lapse_guard::remove(position which) {
  asking_ -= which->second.asked ? 1 : 0;
  ends_.erase({which->second.decided_by, which->first});
  auto who = std::move(which->second.who);
  return {std::move(who), suspects_.erase(which)};
}

std::vector<member> lapse_guard::overdue(time_point now) {
  std::vector<member> result;
  while (!ends_.empty() && ends_.begin()->first <= now) {
    const auto found = suspects_.find(ends_.begin()->second);
    decided_since_.insert_or_assign(found->first, now);
    ++dead_;
    result.push_back(remove(found).first);
  }
  for (auto& [registration, each] : suspects_)
    if (each.asked && now - *each.asked > lost_after)
      ask_again(each);
  return result;
}

guard_status lapse_guard::status() const {
  guard_status result{suspects_.size(), alive_, dead_, {}, {}};
  if (!ends_.empty()) {
    result.next_end = ends_.begin()->first;
    result.last_end = ends_.rbegin()->first;
  }
  return result;
}

} // namespace coordinator
