#pragma once

#include "actors/token_hash.hpp"
#include "apps/mp_server/object_table.hpp"
#include "schema/cache_event.hpp"
#include "schema/cache_objects.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

namespace mp_server {

namespace schema = coordinator::schema;

using time_point = std::chrono::steady_clock::time_point;
using duration = std::chrono::nanoseconds;

/// Chunks times workers of a request about a sequence.
inline constexpr std::size_t most_objects_of_a_request = std::size_t{1} << 18;
/// Of all loads that are not done.
inline constexpr std::size_t most_pending_objects = 2 * most_objects_of_a_request;
/// Those included that are done and that nobody has asked for since.
inline constexpr std::size_t most_loads = 1000;

/// Where objects lie: a tier, and what holds them there.
struct compartment {
  schema::cache_tier tier = schema::cache_tier::l1;
  std::string backend; ///< The L2 adapter's name, `dram` in L1.
  bool shared = false;

  bool operator==(const compartment&) const = default;
};

/// One thing that happened to one object.
struct change {
  schema::cache_event_type type = schema::cache_event_type::store;
  compartment where;
  schema::cache_event_entry what;

  bool operator==(const change&) const = default;
};

using changes = std::vector<change>;

struct adapter_options {
  std::string name;
  bool shared = false; ///< Other servers use the same store.
};

struct cache_options {
  std::size_t chunk_size = coordinator::default_chunk_size;
  std::int64_t l1_capacity_bytes = 0;           ///< Least recently used objects go when there are more; 0: no limit.
  std::vector<adapter_options> adapters;        ///< The first one is the primary.
  std::function<std::string()> make_request_id; ///< Of a prefetch.
};

/// Why a request is declined; service_api.cpp turns it into a status.
enum class refusal_reason : std::uint8_t { invalid, not_found, unavailable };

struct refusal {
  refusal_reason reason = refusal_reason::invalid;
  std::string detail;
};

/// What an operation came to, or why it was declined, and what it changed on the way: a declined one may have.
template <class T>
struct result {
  std::variant<T, refusal> outcome;
  changes changed{};

  const T* value() const noexcept { return std::get_if<T>(&outcome); }
  const refusal* declined() const noexcept { return std::get_if<refusal>(&outcome); }
};

/// How many objects an operation was for, and how many it left alone.
struct tally {
  std::uint64_t done = 0;
  std::uint64_t skipped = 0; ///< Locked.
};

/// The cache of one node, as far as its HTTP interface shows it: which objects are in memory (L1) and in the stores
/// behind it (L2 adapters), the loads from there, and quotas. A plain value: time comes in as an argument.
class node_cache {
public:
  explicit node_cache(cache_options options);

  // -- what a coordinator and its tools ask for --

  /// `fail_l2`: the L2 store fails.
  result<schema::delete_objects_reply> delete_objects(schema::delete_objects_request request, bool fail_l2 = false);

  struct page_query {
    std::optional<std::string> adapter;
    std::string model_name; ///< Empty: all.
    std::size_t page_size = schema::default_page_size;
    std::optional<std::string> page_token;
  };
  result<schema::object_page> list_objects(const page_query& query) const;

  /// Submits a load that is done `takes` later. When there are too many, the oldest that is done is forgotten.
  result<schema::prefetch_reply> prefetch(const schema::prefetch_request& request, duration takes, time_point now);
  /// The state of a load; a completed one is forgotten.
  result<schema::prefetch_status> poll_prefetch(const std::string& request_id);
  /// Does the loads that are due. To be called before anything that depends on them.
  changes advance(time_point now);

  result<schema::clear_reply> clear(const schema::clear_request& request);

  /// Only kept and shown; nothing is evicted by it. In bytes.
  void set_quota(const std::string& salt, double limit_gb) { quotas_[salt] = limit_gb; }
  bool remove_quota(const std::string& salt) { return quotas_.erase(salt) > 0; }
  std::optional<double> quota(const std::string& salt) const;
  const std::map<std::string, double>& quotas() const noexcept { return quotas_; }
  /// Bytes of that tenant in all L2 stores.
  std::int64_t l2_bytes_of(const std::string& salt) const;

  // -- what an engine would do --

  /// Stores objects in L1 or in one L2 store. `shared` unset: as the store is, and L1 is not.
  result<tally> store(std::vector<schema::cache_event_entry> entries, schema::cache_tier tier,
                      const std::optional<std::string>& adapter, std::optional<bool> shared);
  /// Stores the chunks of a sequence, one object of that size for each worker, and returns how many objects.
  result<tally> store_tokens(const schema::prefetch_request& request, std::int64_t size_bytes, schema::cache_tier tier,
                             const std::optional<std::string>& adapter, std::optional<bool> shared);
  /// Removes objects from L1 or from one L2 store. Locked ones stay.
  result<tally> evict(std::vector<schema::cache_key> keys, schema::cache_tier tier,
                      const std::optional<std::string>& adapter);
  /// Marks objects as used. Those that are not there are skipped.
  result<tally> access(std::vector<schema::cache_key> keys, schema::cache_tier tier,
                       const std::optional<std::string>& adapter);
  /// Locks objects in L1 or unlocks them. Those that are not there are skipped.
  result<tally> set_locked(std::vector<schema::cache_key> keys, bool locked);
  /// The process starts anew: L1, its locks and loads are lost, without any events; L2 is what it was.
  void restart();

  // -- for status and capacity declarations --

  const object_table& l1() const noexcept { return l1_; }
  const std::vector<adapter_options>& adapters() const noexcept { return options_.adapters; }
  const object_table& l2(std::size_t adapter) const { return l2_[adapter]; }
  std::size_t loads_under_way() const noexcept { return loads_.size(); }

private:
  struct load {
    std::string request_id;
    std::vector<schema::cache_key> keys; ///< None once it is done.
    std::size_t total_keys;
    time_point due;
    std::optional<std::uint64_t> found; ///< Set when it is done.
  };

  std::variant<std::size_t, refusal> find_adapter(const std::optional<std::string>& name) const;
  compartment l1_compartment(bool shared) const { return {schema::cache_tier::l1, "dram", shared}; }
  compartment l2_compartment(std::size_t adapter) const;
  /// How many bytes more can be counted there.
  std::int64_t countable_bytes(schema::cache_tier tier) const;
  bool put_into_l1(const schema::cache_key& key, cached_object object, changes& changed);
  tally remove_from_l1(std::span<const schema::cache_key> keys, bool force, changes& changed);
  void remove_from_l2(std::size_t adapter, std::span<const schema::cache_key> keys, changes& changed);
  /// Makes room for another load of so many objects, or says why there is none.
  std::optional<refusal> make_room_for_load(std::size_t objects);
  void perform(load& job, changes& changed);
  void learn_layout(const schema::cache_key& key);

  cache_options options_;
  object_table l1_;
  std::vector<object_table> l2_; ///< In the order of the adapters.
  /// Models and world sizes of which objects were stored: only for these can be loaded.
  std::set<std::pair<std::string, std::uint32_t>> layouts_;
  std::vector<load> loads_;
  std::map<std::string, double> quotas_;
};

} // namespace mp_server
