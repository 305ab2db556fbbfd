#pragma once

// Declarations that several wire types are made of: keys, tiers and the objects of an event. For files that declare
// wire types; users of the types include cache_key.hpp and cache_event.hpp.

#include "schema/cache_event.hpp"
#include "schema/cache_key.hpp"
#include "schema/codec_impl.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

namespace coordinator::schema {

inline constexpr auto cache_tier_rule =
    choice(std::pair{cache_tier::l1, "l1"}, std::pair{cache_tier::l2, "l2"}, std::pair{cache_tier::all, "all"});

template <>
struct declaration<cache_key> {
  static constexpr std::string_view name = "cache_key";
  static constexpr std::string_view description =
      "What names a cached object. Keys are equal when all five fields are.";
  static constexpr auto fields = std::make_tuple(
      required<"chunk_hash_hex">(&cache_key::chunk_hash_hex,
                                 "Hash of the tokens up to the end of the chunk, in hexadecimal."),
      required<"model_name">(&cache_key::model_name, "The model, as the servers call it; without `@`."),
      required<"kv_rank">(
          &cache_key::kv_rank,
          "World size and rank of the worker, packed: `world_size<<24 | rank<<16 | local_world_size<<8 | "
          "local_rank`."),
      optional<"object_group_id">(&cache_key::object_group_id, "Group of objects in one chunk; 0 or more."),
      optional<"cache_salt">(&cache_key::cache_salt,
                             "The tenant; at most 128 characters without `@`, `/`, `\\` and NUL. Empty: none."));
};

template <>
struct declaration<cache_event_entry> {
  static constexpr std::string_view name = "cache_event_entry";
  static constexpr std::string_view description = "One object of a batch of events.";
  static constexpr auto fields = std::make_tuple(
      required<"key">(&cache_event_entry::key, "The object."),
      optional<"size_bytes">(&cache_event_entry::size_bytes, "Its size; means something for `store` only."),
      optional<"token_ids">(&cache_event_entry::token_ids, "Tokens of the key's chunk; empty: not reported."),
      optional<"token_offset">(&cache_event_entry::token_offset,
                               "Position of the chunk's first token in its sequence; -1: not reported."));

  static std::optional<std::string> check(cache_event_entry& entry) { return normalize(entry); }
};

} // namespace coordinator::schema
