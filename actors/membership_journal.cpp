#include "actors/membership_journal.hpp"

#include <algorithm>
#include <utility>

namespace coordinator {

namespace {

constexpr std::size_t change_overhead = 512;

std::size_t weight(const membership_change& change) {
  std::size_t result = change_overhead;
  if (change.before) {
    const auto& entry = *change.before->entry;
    result += entry.instance_id.size() + entry.ip.size() + entry.p2p_advertised_url.size();
    for (const auto& [name, value] : entry.labels)
      result += name.size() + value.size();
  }
  return result;
}

} // namespace

void membership_journal::add(membership_change change) {
  ++version_;
  const auto bytes = weight(change);
  bytes_ += bytes;
  changes_.push_back({std::move(change), bytes});
  while (changes_.size() > most_changes || bytes_ > most_bytes) {
    bytes_ -= changes_.front().bytes;
    changes_.pop_front();
  }
}

std::optional<membership_update> membership_journal::since(std::uint64_t version) const {
  if (version > version_ || version_ - version > changes_.size())
    return std::nullopt;
  const auto missing = static_cast<std::size_t>(version_ - version);
  const auto told = std::min(missing, most_changes_at_once);
  membership_update result;
  result.version = version + told;
  result.changes.reserve(told);
  const auto first = changes_.end() - static_cast<std::ptrdiff_t>(missing);
  for (auto each = first; each != first + static_cast<std::ptrdiff_t>(told); ++each)
    result.changes.push_back(each->change);
  return result;
}

} // namespace coordinator
