#pragma once

#include "schema/codec.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace coordinator::schema {

/// Where a cached object lies.
enum class cache_tier : std::uint8_t {
  l1,  ///< The server's own memory.
  l2,  ///< A store behind it, private or shared.
  all, ///< Both; in requests only.
};

std::string_view to_string(cache_tier value) noexcept;

/// What names a cached object: the tokens up to the end of a chunk (by their hash), the model, and the part of the
/// model's state that one worker holds. On the wire an object of these five fields.
///
/// As it comes out of `parse` it may break rules, since requests that carry keys differ in how they answer that: see
/// `normalize`.
struct cache_key {
  std::string chunk_hash_hex;
  std::string model_name;
  std::int64_t kv_rank = 0; ///< Packed; see `pack_kv_rank`.
  std::int64_t object_group_id = 0;
  std::string cache_salt; ///< The tenant; empty: none.

  bool operator==(const cache_key&) const = default;
};

inline constexpr std::size_t max_cache_salt_characters = 128;

/// Brings a key into the form in which equal keys are equal values (the hash in lower case, without white space), or
/// returns which field breaks which rule: a sentence without a full stop.
std::optional<std::string> normalize(cache_key& key);

/// The rules of a salt and of a model name by themselves; empty when kept.
std::optional<std::string> cache_salt_problem(std::string_view salt);
std::optional<std::string> model_name_problem(std::string_view name);

/// World size and rank have eight bits each.
inline constexpr std::uint32_t max_world_size = 255;

/// The `kv_rank` of a worker in a group where local rank and size equal the global ones. Both at most `max_world_size`.
std::int64_t pack_kv_rank(std::uint32_t world_size, std::uint32_t rank) noexcept;

/// The world size that a `kv_rank` was packed with.
std::uint32_t world_size_of(std::int64_t kv_rank) noexcept;

/// Hash of a normalized key, for unordered containers.
struct cache_key_hash {
  std::size_t operator()(const cache_key& key) const noexcept;
};

} // namespace coordinator::schema
