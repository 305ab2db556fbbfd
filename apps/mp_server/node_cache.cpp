#include "apps/mp_server/node_cache.hpp"

#include "schema/number_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace mp_server {

namespace {

using schema::cache_event_type;
using schema::cache_tier;

refusal invalid(std::string detail) {
  return {refusal_reason::invalid, std::move(detail)};
}

/// Normalizes all keys, or says which one breaks a rule.
std::optional<refusal> normalize_all(std::vector<schema::cache_key>& keys) {
  for (std::size_t i = 0; i < keys.size(); ++i)
    if (const auto problem = schema::normalize(keys[i]))
      return invalid(fmt::format("keys[{}]: {}", i, *problem));
  return std::nullopt;
}

/// Events of deletions and accesses say nothing but which object.
schema::cache_event_entry entry_of(const schema::cache_key& key) {
  return {key, 0, {}, schema::unknown_token_offset};
}

schema::cache_event_entry entry_of(const schema::cache_key& key, const cached_object& object) {
  return {key, object.size_bytes, object.token_ids, object.token_offset};
}

/// Why a request about a sequence is declined. To be asked before any keys are made, which may be many.
std::optional<refusal> sequence_problem(const schema::prefetch_request& request, std::size_t chunk_size) {
  if (request.token_ids.size() > schema::max_token_ids)
    return invalid(fmt::format("too many token_ids in a single request (limit={}, got={})", schema::max_token_ids,
                               request.token_ids.size()));
  if (const auto problem = schema::cache_salt_problem(request.cache_salt))
    return invalid(*problem);
  if (const auto problem = schema::model_name_problem(request.model_name))
    return invalid(*problem);
  for (std::size_t i = 0; i < request.token_ids.size(); ++i)
    if (const auto id = request.token_ids[i]; id < 0 || id > std::numeric_limits<std::uint32_t>::max())
      return invalid(fmt::format("token_ids[{}] must be from 0 to 4294967295 (got {})", i, id));
  const auto chunks = request.token_ids.size() / chunk_size;
  if (const auto objects = chunks * request.world_size; objects > most_objects_of_a_request)
    return invalid(fmt::format("too many objects in a single request (limit={}, got={}: {} chunks for {} workers)",
                               most_objects_of_a_request, objects, chunks, request.world_size));
  return std::nullopt;
}

/// Of a sequence without problems.
std::vector<schema::cache_key> keys_of(const schema::prefetch_request& request, std::size_t chunk_size) {
  std::vector<std::uint32_t> tokens;
  tokens.reserve(request.token_ids.size());
  for (const auto id : request.token_ids)
    tokens.push_back(static_cast<std::uint32_t>(id));
  return coordinator::chunk_keys(coordinator::chunk_hashes(tokens, chunk_size), request.model_name, request.world_size,
                                 request.cache_salt);
}

} // namespace

node_cache::node_cache(cache_options options) : options_(std::move(options)), l2_(options_.adapters.size()) {}

std::variant<std::size_t, refusal> node_cache::find_adapter(const std::optional<std::string>& name) const {
  if (options_.adapters.empty())
    return refusal{refusal_reason::unavailable, "no L2 adapter is configured"};
  if (!name)
    return std::size_t{0};
  const auto found = std::ranges::find(options_.adapters, *name, &adapter_options::name);
  if (found == options_.adapters.end())
    return refusal{refusal_reason::not_found, fmt::format("no L2 adapter is named '{}'", *name)};
  return static_cast<std::size_t>(found - options_.adapters.begin());
}

compartment node_cache::l2_compartment(std::size_t adapter) const {
  return {cache_tier::l2, options_.adapters[adapter].name, options_.adapters[adapter].shared};
}

void node_cache::learn_layout(const schema::cache_key& key) {
  layouts_.emplace(key.model_name, schema::world_size_of(key.kv_rank));
}

// -- the coordinator's side --------------------------------------------------

result<schema::delete_objects_reply> node_cache::delete_objects(schema::delete_objects_request request, bool fail_l2) {
  if (request.keys.size() > schema::max_deleted_keys)
    return {invalid(fmt::format("too many keys in a single request (limit={}, got={})", schema::max_deleted_keys,
                                request.keys.size()))};
  if (auto problem = normalize_all(request.keys))
    return {std::move(*problem)};
  schema::delete_objects_reply reply;
  changes changed;
  if (request.tier != cache_tier::l2) {
    const auto removed = remove_from_l1(request.keys, request.force, changed);
    reply.deleted = removed.done;
    reply.skipped = removed.skipped;
  }
  if (request.tier != cache_tier::l1) {
    const auto adapter = find_adapter(request.adapter);
    if (const auto* problem = std::get_if<refusal>(&adapter))
      return {*problem, std::move(changed)};
    if (fail_l2) {
      reply.ok = false;
      reply.error = "the L2 adapter failed";
    } else {
      remove_from_l2(std::get<std::size_t>(adapter), request.keys, changed);
      reply.deleted += request.keys.size();
    }
  }
  return {std::move(reply), std::move(changed)};
}

result<schema::object_page> node_cache::list_objects(const page_query& query) const {
  const auto adapter = find_adapter(query.adapter);
  if (const auto* problem = std::get_if<refusal>(&adapter))
    return {*problem};
  std::uint64_t after = 0;
  if (query.page_token) {
    const auto position =
        schema::whole_number_in<std::uint64_t>(*query.page_token, 0, std::numeric_limits<std::uint64_t>::max());
    if (!position)
      return {invalid("page_token is none that this server gave out")};
    after = *position;
  }
  const auto index = std::get<std::size_t>(adapter);
  schema::object_page page{options_.adapters[index].name, options_.adapters[index].shared, {}, {}};
  const auto& rows = l2_[index].rows();
  std::uint64_t last = after;
  for (auto row = rows.upper_bound(after); row != rows.end(); ++row) {
    if (!query.model_name.empty() && row->second.key.model_name != query.model_name)
      continue;
    if (page.entries.size() == query.page_size) {
      page.next_page_token = std::to_string(last);
      break;
    }
    page.entries.push_back({row->second.key, row->second.object.size_bytes});
    last = row->first;
  }
  return {std::move(page)};
}

result<schema::prefetch_reply> node_cache::prefetch(const schema::prefetch_request& request, duration takes,
                                                    time_point now) {
  if (request.source_tier != "l2" || request.target_tier != "l1")
    return {invalid(fmt::format("objects can be prefetched from l2 to l1 only, not from {} to {}", request.source_tier,
                                request.target_tier))};
  if (auto problem = sequence_problem(request, options_.chunk_size))
    return {std::move(*problem)};
  if (!layouts_.contains({request.model_name, request.world_size}))
    return {refusal{refusal_reason::unavailable, fmt::format("no layout is registered for model '{}' and world size {}",
                                                             request.model_name, request.world_size)}};
  const auto chunks = request.token_ids.size() / options_.chunk_size;
  if (chunks == 0)
    return {schema::prefetch_reply{std::nullopt, 0, "noop"}};
  const auto objects = chunks * request.world_size;
  if (auto problem = make_room_for_load(objects))
    return {std::move(*problem)};
  const auto id = options_.make_request_id();
  loads_.push_back({id, keys_of(request, options_.chunk_size), objects, now + takes, std::nullopt});
  return {schema::prefetch_reply{id, chunks, "submitted"}, advance(now)};
}

std::optional<refusal> node_cache::make_room_for_load(std::size_t objects) {
  for (const auto& job : loads_)
    objects += job.keys.size();
  if (objects > most_pending_objects)
    return refusal{refusal_reason::unavailable,
                   fmt::format("too many objects are being loaded (limit={}, got={})", most_pending_objects, objects)};
  if (loads_.size() < most_loads)
    return std::nullopt;
  const auto oldest = std::ranges::find_if(loads_, [](const load& job) { return job.found.has_value(); });
  if (oldest == loads_.end())
    return refusal{refusal_reason::unavailable, fmt::format("too many prefetches are pending (limit={})", most_loads)};
  loads_.erase(oldest);
  return std::nullopt;
}

changes node_cache::advance(time_point now) {
  changes changed;
  for (auto& job : loads_)
    if (!job.found && job.due <= now)
      perform(job, changed);
  return changed;
}

void node_cache::perform(load& job, changes& changed) {
  job.found = 0;
  const auto keys = std::exchange(job.keys, {});
  for (const auto& key : keys) {
    if (l1_.touch(key)) {
      changed.push_back({cache_event_type::access, {cache_tier::l1, "", false}, entry_of(key)});
      continue;
    }
    for (std::size_t adapter = 0; adapter < l2_.size(); ++adapter)
      if (l2_[adapter].touch(key)) {
        changed.push_back({cache_event_type::access, l2_compartment(adapter), entry_of(key)});
        auto object = *l2_[adapter].find(key);
        object.shared = false;
        if (put_into_l1(key, std::move(object), changed))
          ++*job.found;
        break;
      }
  }
}

result<schema::prefetch_status> node_cache::poll_prefetch(const std::string& request_id) {
  const auto job = std::ranges::find(loads_, request_id, &load::request_id);
  if (job == loads_.end())
    return {refusal{refusal_reason::not_found, fmt::format("no prefetch has the id '{}'", request_id)}};
  if (!job->found)
    return {schema::prefetch_status{request_id, "pending", {}, {}}};
  schema::prefetch_status done{request_id, "completed", job->found, job->total_keys};
  loads_.erase(job);
  return {std::move(done)};
}

result<schema::clear_reply> node_cache::clear(const schema::clear_request& request) {
  if (request.tier != cache_tier::l1)
    return {invalid(fmt::format("only l1 can be cleared, not {}", to_string(request.tier)))};
  std::vector<schema::cache_key> keys;
  for (const auto& [position, row] : l1_.rows())
    keys.push_back(row.key);
  changes changed;
  remove_from_l1(keys, request.force, changed);
  return {schema::clear_reply{}, std::move(changed)};
}

std::optional<double> node_cache::quota(const std::string& salt) const {
  const auto found = quotas_.find(salt);
  return found == quotas_.end() ? std::nullopt : std::optional{found->second};
}

std::int64_t node_cache::l2_bytes_of(const std::string& salt) const {
  std::int64_t bytes = 0;
  for (const auto& table : l2_)
    for (const auto& [position, row] : table.rows())
      if (row.key.cache_salt == salt)
        bytes += row.object.size_bytes;
  return bytes;
}

// -- the engine's side -------------------------------------------------------

result<tally> node_cache::store(std::vector<schema::cache_event_entry> entries, cache_tier tier,
                                const std::optional<std::string>& adapter, std::optional<bool> shared) {
  if (tier == cache_tier::all)
    return {invalid("objects are stored in l1 or in l2")};
  std::size_t index = 0;
  if (tier == cache_tier::l2) {
    const auto found = find_adapter(adapter);
    if (const auto* problem = std::get_if<refusal>(&found))
      return {*problem};
    index = std::get<std::size_t>(found);
  }
  auto countable = countable_bytes(tier);
  for (const auto& entry : entries) {
    if (entry.size_bytes > countable)
      return {invalid("size_bytes add up to more than a signed 64-bit number holds")};
    countable -= entry.size_bytes;
  }
  changes changed;
  for (auto& entry : entries) {
    cached_object object{entry.size_bytes, entry.token_ids, entry.token_offset};
    learn_layout(entry.key);
    if (tier == cache_tier::l1) {
      object.shared = shared.value_or(false);
      put_into_l1(entry.key, std::move(object), changed);
    } else {
      auto where = l2_compartment(index);
      where.shared = object.shared = shared.value_or(where.shared);
      changed.push_back({cache_event_type::store, where, entry});
      l2_[index].put(entry.key, std::move(object));
    }
  }
  return {tally{entries.size(), 0}, std::move(changed)};
}

result<tally> node_cache::store_tokens(const schema::prefetch_request& request, std::int64_t size_bytes,
                                       cache_tier tier, const std::optional<std::string>& adapter,
                                       std::optional<bool> shared) {
  if (auto problem = sequence_problem(request, options_.chunk_size))
    return {std::move(*problem)};
  std::vector<schema::cache_event_entry> entries;
  const auto keys = keys_of(request, options_.chunk_size);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const auto offset = i / request.world_size * options_.chunk_size;
    const auto first = request.token_ids.begin() + static_cast<std::ptrdiff_t>(offset);
    entries.push_back({keys[i],
                       size_bytes,
                       {first, first + static_cast<std::ptrdiff_t>(options_.chunk_size)},
                       static_cast<std::int64_t>(offset)});
  }
  return store(std::move(entries), tier, adapter, shared);
}

result<tally> node_cache::evict(std::vector<schema::cache_key> keys, cache_tier tier,
                                const std::optional<std::string>& adapter) {
  if (auto problem = normalize_all(keys))
    return {std::move(*problem)};
  changes changed;
  if (tier == cache_tier::l1) {
    const auto removed = remove_from_l1(keys, false, changed);
    return {removed, std::move(changed)};
  }
  if (tier == cache_tier::all)
    return {invalid("objects are evicted from l1 or from l2")};
  const auto found = find_adapter(adapter);
  if (const auto* problem = std::get_if<refusal>(&found))
    return {*problem};
  remove_from_l2(std::get<std::size_t>(found), keys, changed);
  return {tally{changed.size(), 0}, std::move(changed)};
}

result<tally> node_cache::access(std::vector<schema::cache_key> keys, cache_tier tier,
                                 const std::optional<std::string>& adapter) {
  if (auto problem = normalize_all(keys))
    return {std::move(*problem)};
  if (tier == cache_tier::all)
    return {invalid("objects are accessed in l1 or in l2")};
  object_table* table = &l1_;
  compartment where{cache_tier::l1, "", false}; // an access in L1 names no medium
  if (tier == cache_tier::l2) {
    const auto found = find_adapter(adapter);
    if (const auto* problem = std::get_if<refusal>(&found))
      return {*problem};
    table = &l2_[std::get<std::size_t>(found)];
    where = l2_compartment(std::get<std::size_t>(found));
  }
  changes changed;
  for (const auto& key : keys)
    if (table->touch(key))
      changed.push_back({cache_event_type::access, where, entry_of(key)});
  return {tally{changed.size(), keys.size() - changed.size()}, std::move(changed)};
}

result<tally> node_cache::set_locked(std::vector<schema::cache_key> keys, bool locked) {
  if (auto problem = normalize_all(keys))
    return {std::move(*problem)};
  tally counted;
  for (const auto& key : keys) {
    auto* object = l1_.find(key);
    if (object)
      object->locked = locked;
    ++(object ? counted.done : counted.skipped);
  }
  return {counted};
}

void node_cache::restart() {
  l1_.clear();
  loads_.clear();
  layouts_.clear();
  for (const auto& table : l2_)
    for (const auto& [position, row] : table.rows())
      learn_layout(row.key);
}

// -- what both do ------------------------------------------------------------

/// All L2 stores count as one, since they are summed up for quotas.
std::int64_t node_cache::countable_bytes(cache_tier tier) const {
  auto countable = std::numeric_limits<std::int64_t>::max();
  if (tier == cache_tier::l1)
    return countable - l1_.bytes();
  for (const auto& table : l2_)
    countable -= table.bytes();
  return countable;
}

/// Makes room and stores. Returns whether it is there afterwards: it may be larger than the room that there is.
bool node_cache::put_into_l1(const schema::cache_key& key, cached_object object, changes& changed) {
  if (object.size_bytes > countable_bytes(cache_tier::l1))
    return false;
  const auto where = l1_compartment(object.shared);
  changed.push_back({cache_event_type::store, where, entry_of(key, object)});
  l1_.put(key, std::move(object));
  if (options_.l1_capacity_bytes <= 0)
    return true;
  std::vector<schema::cache_key> victims;
  auto excess = l1_.bytes() - options_.l1_capacity_bytes;
  for (auto row = l1_.rows().begin(); row != l1_.rows().end() && excess > 0; ++row)
    if (!row->second.object.locked) {
      excess -= row->second.object.size_bytes;
      victims.push_back(row->second.key);
    }
  remove_from_l1(victims, false, changed);
  return l1_.contains(key);
}

tally node_cache::remove_from_l1(std::span<const schema::cache_key> keys, bool force, changes& changed) {
  tally counted;
  for (const auto& key : keys) {
    const auto* object = l1_.find(key);
    if (!object)
      continue;
    if (object->locked && !force) {
      ++counted.skipped;
      continue;
    }
    changed.push_back({cache_event_type::removed, l1_compartment(object->shared), entry_of(key)});
    l1_.take(key);
    ++counted.done;
  }
  return counted;
}

void node_cache::remove_from_l2(std::size_t adapter, std::span<const schema::cache_key> keys, changes& changed) {
  for (const auto& key : keys)
    if (const auto object = l2_[adapter].take(key)) {
      auto where = l2_compartment(adapter);
      where.shared = object->shared;
      changed.push_back({cache_event_type::removed, where, entry_of(key)});
    }
}

} // namespace mp_server
