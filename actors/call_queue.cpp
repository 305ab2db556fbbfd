#include "actors/call_queue.hpp"

#include <algorithm>
#include <utility>

namespace coordinator {

std::optional<call_queue::call_number> call_queue::ask(instance_call call, time_point now) {
  ++counts_.asked;
  const auto& address = *call.target.entry;
  const auto place = targets_.try_emplace({address.ip, address.http_port}).first;
  const bool must_wait = running_ >= limits_.running || place->second.running >= limits_.running_per_target;
  if (must_wait
      && (waiting() >= limits_.waiting
          || call.body.size() > limits_.waiting_bytes - std::min(waiting_bytes_, limits_.waiting_bytes))) {
    ++counts_.overloaded;
    reorder(place);
    return std::nullopt;
  }
  const auto number = ++last_number_;
  const auto deadline = now + std::clamp(call.timeout, duration::zero(), longest_timeout);
  deadlines_.emplace(deadline, number);
  registrations_.emplace(call.target.registration, number);
  waiting_bytes_ += call.body.size();
  place->second.waiting.insert(number);
  calls_.emplace(number, kept{{number, std::move(call), now, deadline, false}, place});
  reorder(place);
  if (must_wait)
    counts_.most_waiting = std::max<std::uint64_t>(counts_.most_waiting, waiting());
  return number;
}

void call_queue::note_departed() noexcept {
  ++counts_.asked;
  ++counts_.departed;
}

std::optional<call_queue::turn> call_queue::start_next(time_point now) {
  if (ready_.empty() || running_ >= limits_.running)
    return std::nullopt;
  const auto [number, place] = *ready_.begin();
  auto& next = calls_.find(number)->second.what;
  next.running = true;
  next.started = now;
  ++running_;
  counts_.most_running = std::max<std::uint64_t>(counts_.most_running, running_);
  waits_.record(now - next.asked_at);
  waiting_bytes_ -= next.call.body.size();
  place->second.waiting.erase(number);
  ++place->second.running;
  reorder(place);
  return turn{next, std::exchange(next.call.body, {})};
}

std::optional<call_queue::entry> call_queue::finish(call_number number, const outbound_reply& reply, time_point now) {
  const auto found = calls_.find(number);
  if (found == calls_.end())
    return std::nullopt;
  switch (reply.outcome) {
  case outbound_outcome::answered: {
    const auto digit = static_cast<std::size_t>(std::max(reply.status, 0) / 100);
    ++counts_.answered[digit < counts_.answered.size() ? digit : 0];
    latencies_.record(now - found->second.what.asked_at);
    break;
  }
  case outbound_outcome::unreachable:
    ++counts_.unreachable;
    break;
  case outbound_outcome::refused:
    ++counts_.refused;
    break;
  case outbound_outcome::timed_out:
    ++counts_.timed_out;
    break;
  case outbound_outcome::failed:
    ++counts_.failed;
    break;
  }
  return remove(found);
}

std::vector<call_queue::entry> call_queue::expire(time_point now) {
  std::vector<entry> result;
  while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
    ++counts_.timed_out;
    result.push_back(remove(calls_.find(deadlines_.begin()->second)));
  }
  return result;
}

std::vector<call_queue::entry> call_queue::give_up(std::uint64_t registration) {
  std::vector<entry> result;
  for (auto next = registrations_.lower_bound({registration, 0});
       next != registrations_.end() && next->first == registration;
       next = registrations_.lower_bound({registration, 0})) {
    ++counts_.departed;
    result.push_back(remove(calls_.find(next->second)));
  }
  return result;
}

std::vector<call_queue::entry> call_queue::give_up_if(const std::function<bool(const member&)>& ended) {
  std::vector<entry> result;
  for (auto next = calls_.begin(); next != calls_.end();) {
    const auto current = next++;
    if (!ended(current->second.what.call.target))
      continue;
    ++counts_.departed;
    result.push_back(remove(current));
  }
  return result;
}

std::optional<time_point> call_queue::next_deadline() const noexcept {
  if (deadlines_.empty())
    return std::nullopt;
  return deadlines_.begin()->first;
}

call_queue::entry call_queue::remove(calls::iterator which) {
  auto [what, place] = std::move(which->second);
  calls_.erase(which);
  deadlines_.erase({what.deadline, what.number});
  registrations_.erase({what.call.target.registration, what.number});
  if (what.running) {
    --running_;
    --place->second.running;
  } else {
    waiting_bytes_ -= what.call.body.size();
    place->second.waiting.erase(what.number);
  }
  reorder(place);
  return what;
}

void call_queue::reorder(targets::iterator which) {
  auto& place = which->second;
  const bool may_run = !place.waiting.empty() && place.running < limits_.running_per_target;
  const auto first = may_run ? *place.waiting.begin() : 0;
  if (place.ready != first) {
    if (place.ready != 0)
      ready_.erase(place.ready);
    if (first != 0)
      ready_.emplace(first, which);
    place.ready = first;
  }
  if (place.running == 0 && place.waiting.empty())
    targets_.erase(which);
}

} // namespace coordinator
