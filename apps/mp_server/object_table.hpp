#pragma once

#include "schema/cache_event.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

namespace mp_server {

/// What is known of an object in a cache: its bytes themselves are not kept.
struct cached_object {
  std::int64_t size_bytes = 0;
  std::vector<std::int64_t> token_ids;
  std::int64_t token_offset = coordinator::schema::unknown_token_offset;
  bool locked = false;
  bool shared = false; ///< It was stored into a part of the tier that other servers use too.
};

/// The objects of one compartment in the order in which they were last used. Keys are normalized.
class object_table {
public:
  using key_type = coordinator::schema::cache_key;

  /// Adds or replaces, as the one used last. A replaced object stays locked if it was. Sizes are not negative, and the
  /// sum of all has to stay below 2^63.
  void put(const key_type& key, cached_object object);
  /// Empty when it was not there.
  std::optional<cached_object> take(const key_type& key);
  /// Makes it the one used last. Returns whether it is there.
  bool touch(const key_type& key);
  cached_object* find(const key_type& key);
  bool contains(const key_type& key) const { return positions_.contains(key); }
  void clear();

  std::size_t size() const noexcept { return objects_.size(); }
  std::int64_t bytes() const noexcept { return bytes_; }

  struct row {
    key_type key;
    cached_object object;
  };
  /// By position: least recently used first. Positions only grow, so one names a place to go on from.
  const std::map<std::uint64_t, row>& rows() const noexcept { return objects_; }

private:
  std::map<std::uint64_t, row> objects_;
  std::unordered_map<key_type, std::uint64_t, coordinator::schema::cache_key_hash> positions_;
  std::uint64_t next_position_ = 1;
  std::int64_t bytes_ = 0;
};

} // namespace mp_server
