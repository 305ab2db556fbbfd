#pragma once

#include "schema/cache_key.hpp"
#include "schema/codec.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace coordinator::schema {

enum class cache_event_type : std::uint8_t {
  store,   ///< Objects are there now.
  removed, ///< On the wire: `delete`. Objects are gone, evicted ones included.
  access,  ///< Objects were used; says nothing of where they are.
  config,  ///< Declares the capacity of one compartment, and carries no entries.
};

std::string_view to_string(cache_event_type value) noexcept;

/// "Not reported", which is not the same as 0.
inline constexpr std::int64_t unknown_token_offset = -1;

/// One object of a batch. Its key is normalized when it comes out of `parse`.
struct cache_event_entry {
  cache_key key;
  std::int64_t size_bytes = 0;                      ///< Means something for `store` only.
  std::vector<std::int64_t> token_ids;              ///< The tokens of the key's chunk; empty: not reported.
  std::int64_t token_offset = unknown_token_offset; ///< Of the chunk's first token in its sequence.

  bool operator==(const cache_event_entry&) const = default;
};

/// Brings the entry's key into its normal form, or returns which field breaks which rule.
std::optional<std::string> normalize(cache_event_entry& entry);

/// Consecutive events of one kind at one place.
struct cache_event_batch {
  std::string instance_id;      ///< The emitter, registered or not.
  std::int64_t incarnation = 0; ///< Grows with every restart of the emitter.
  std::int64_t seq = 0;         ///< From 1 in each incarnation, one a batch.
  cache_event_type event_type = cache_event_type::store;
  cache_tier tier = cache_tier::l1; ///< Never `all`.
  std::string backend;              ///< Such as `dram` or `fs`; an open set.
  std::vector<cache_event_entry> entries;
  bool shared = false;                ///< The compartment belongs to no single server.
  double ts = 0;                      ///< Wall clock of the emitter, seconds since the epoch; 0: unknown.
  std::int64_t capacity_bytes = 0;    ///< Of the compartment, for `config`; 0: no limit declared.
  std::int64_t capacity_revision = 0; ///< Which declaration this is part of, for `config`.
  std::int64_t dropped_events = 0;    ///< How many events the emitter has lost since its start.

  bool operator==(const cache_event_batch&) const = default;
};

/// Body of `POST /events`. Refused whole when any batch breaks a rule.
struct cache_events_request {
  std::vector<cache_event_batch> batches;

  bool operator==(const cache_events_request&) const = default;
};

/// Reply of `POST /events`: what became of the batches. Adds up to their number.
struct cache_events_reply {
  std::uint64_t applied = 0;
  std::uint64_t duplicates = 0; ///< Seen already.
  std::uint64_t stale = 0;      ///< Of an earlier incarnation.
};

} // namespace coordinator::schema
