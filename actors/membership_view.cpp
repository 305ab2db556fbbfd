#include "actors/membership_view.hpp"

#include <algorithm>
#include <optional>
#include <unordered_set>

namespace coordinator {

std::vector<membership_change> membership_view::apply(const membership_update& update) {
  std::vector<membership_change> changes;
  if (!update.whole) {
    changes = update.changes;
  } else {
    std::unordered_set<std::string_view> present;
    for (const auto& each : *update.whole)
      present.insert(each.entry->instance_id);
    for (const auto& [id, known] : members_)
      if (!present.contains(id))
        changes.push_back({change_kind::left, departure_cause::superseded, known, std::nullopt});
    for (const auto& each : *update.whole) {
      const auto* known = find(each.entry->instance_id);
      if (!known)
        changes.push_back({change_kind::joined, departure_cause::none, std::nullopt, each});
      else if (known->registration != each.registration)
        changes.push_back({change_kind::replaced, departure_cause::superseded, *known, each});
      else if (known->entry->state != each.entry->state)
        changes.push_back(
            {each.draining() ? change_kind::drained : change_kind::resumed, departure_cause::none, *known, each});
    }
  }
  for (const auto& change : changes)
    note(change);
  version_ = update.version;
  latest_registration_ = std::max(latest_registration_, update.latest_registration);
  return changes;
}

void membership_view::note(const membership_change& change) {
  if (change.before)
    members_.erase(change.before->entry->instance_id);
  if (change.after) {
    members_.erase(change.after->entry->instance_id); // its key would go on pointing into the old entry
    members_.emplace(change.after->entry->instance_id, *change.after);
    latest_registration_ = std::max(latest_registration_, change.after->registration);
  }
}

const member* membership_view::find(std::string_view id) const noexcept {
  const auto found = members_.find(id);
  return found == members_.end() ? nullptr : &found->second;
}

bool membership_view::has_ended(const member& which) const noexcept {
  if (which.registration > latest_registration_)
    return false;
  const auto* current = find(which.entry->instance_id);
  return !current || current->registration != which.registration;
}

} // namespace coordinator
