#pragma once

#include "schema/cache_key.hpp"
#include "schema/codec.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// What mp servers take and answer under /cache: what a coordinator sends to one. The keys in these requests come out of
// `parse` unchecked; a key that breaks a rule is answered with a 400 that names its index, not with a 422.

namespace coordinator::schema {

/// A server refuses to delete more keys than this at once.
inline constexpr std::size_t max_deleted_keys = 10'000;
/// More tokens than this in a request are refused.
inline constexpr std::size_t max_token_ids = 1'000'000;
inline constexpr std::size_t default_page_size = 500;
inline constexpr std::size_t max_page_size = 5000;

/// Body of `DELETE /cache/objects`.
struct delete_objects_request {
  std::vector<cache_key> keys;
  cache_tier tier = cache_tier::l2;
  bool force = false;                   ///< Also those in L1 that are locked.
  std::optional<std::string> adapter{}; ///< Which L2 store; unset: the first one.
};

struct delete_objects_reply {
  std::uint64_t deleted = 0; ///< From L1, plus all keys that were sent if the L2 store took them.
  std::uint64_t skipped = 0; ///< Locked in L1.
  bool ok = true;            ///< False: the L2 store failed.
  std::optional<std::string> error{};
};

/// A row of `GET /cache/objects`.
struct listed_object {
  cache_key key;
  std::int64_t size_bytes = 0;
};

/// Reply of `GET /cache/objects`: a page of what an L2 store holds.
struct object_page {
  std::string adapter;
  bool shared = false;
  std::vector<listed_object> entries;
  std::optional<std::string> next_page_token; ///< Unset, `null` on the wire: this was the last page.
};

/// Body of `POST /cache/prefetches`.
struct prefetch_request {
  std::string model_name;
  std::uint32_t world_size = 0; ///< 1 to `max_world_size`.
  std::vector<std::int64_t> token_ids;
  std::string cache_salt;
  std::string source_tier = "l2";
  std::string target_tier = "l1";
};

struct prefetch_reply {
  std::optional<std::string> request_id; ///< Unset when there is nothing to load.
  std::uint64_t chunks = 0;
  std::string status; ///< `submitted`, or `noop`: the tokens fill no chunk.
};

/// Reply of `GET /cache/prefetches/{request_id}`.
struct prefetch_status {
  std::string request_id;
  std::string status;                      ///< `pending` or `completed`.
  std::optional<std::uint64_t> found_keys; ///< Loaded by this job; only of a completed one, as is the next.
  std::optional<std::uint64_t> total_keys;
};

/// Body of `POST /cache/clear`.
struct clear_request {
  cache_tier tier = cache_tier::l1;
  bool force = false; ///< Also what is locked.
};

struct cleared_tier {
  cache_tier tier = cache_tier::l1;
};

struct clear_reply {
  std::string status = "ok";
  cleared_tier cleared;
};

} // namespace coordinator::schema
