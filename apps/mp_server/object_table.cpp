#include "apps/mp_server/object_table.hpp"

#include <utility>

namespace mp_server {

void object_table::put(const key_type& key, cached_object object) {
  if (const auto before = take(key))
    object.locked = object.locked || before->locked;
  bytes_ += object.size_bytes;
  positions_.emplace(key, next_position_);
  objects_.emplace_hint(objects_.end(), next_position_++, row{key, std::move(object)});
}

std::optional<cached_object> object_table::take(const key_type& key) {
  const auto found = positions_.find(key);
  if (found == positions_.end())
    return std::nullopt;
  auto node = objects_.extract(found->second);
  positions_.erase(found);
  bytes_ -= node.mapped().object.size_bytes;
  return std::move(node.mapped().object);
}

bool object_table::touch(const key_type& key) {
  const auto found = positions_.find(key);
  if (found == positions_.end())
    return false;
  auto node = objects_.extract(found->second);
  node.key() = found->second = next_position_++;
  objects_.insert(objects_.end(), std::move(node));
  return true;
}

cached_object* object_table::find(const key_type& key) {
  const auto found = positions_.find(key);
  return found == positions_.end() ? nullptr : &objects_.at(found->second).object;
}

void object_table::clear() {
  objects_.clear();
  positions_.clear();
  bytes_ = 0;
}

} // namespace mp_server
