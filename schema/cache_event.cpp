#include "schema/cache_event.hpp"

#include "schema/cache_declarations.hpp"

#include <fmt/format.h>

namespace coordinator::schema {

namespace {

std::optional<std::string> negative(std::string_view name, std::int64_t value) {
  return value < 0 ? std::optional{fmt::format("{} must be >= 0 (got {})", name, value)} : std::nullopt;
}

constexpr auto event_type_rule =
    choice(std::pair{cache_event_type::store, "store"}, std::pair{cache_event_type::removed, "delete"},
           std::pair{cache_event_type::access, "access"}, std::pair{cache_event_type::config, "config"});

} // namespace

std::string_view to_string(cache_event_type value) noexcept {
  return event_type_rule.names[static_cast<std::size_t>(value)];
}

std::optional<std::string> normalize(cache_event_entry& entry) {
  if (auto problem = normalize(entry.key))
    return problem;
  if (auto problem = negative("size_bytes", entry.size_bytes))
    return problem;
  if (entry.token_offset < unknown_token_offset)
    return fmt::format("token_offset must be >= 0 or UNKNOWN_TOKEN_OFFSET (-1), got {}", entry.token_offset);
  return std::nullopt;
}

template <>
struct declaration<cache_event_batch> {
  static constexpr std::string_view name = "cache_event_batch";
  static constexpr std::string_view description = "Consecutive events of one kind at one place.";
  static constexpr auto fields = std::make_tuple(
      required<"instance_id">(&cache_event_batch::instance_id, "The emitter; not empty."),
      required<"incarnation">(&cache_event_batch::incarnation, "Grows with every restart of the emitter; 0 or more."),
      required<"seq">(&cache_event_batch::seq, "Number of the batch in its incarnation, from 1."),
      required<"event_type">(&cache_event_batch::event_type, event_type_rule, "What happened."),
      required<"tier">(&cache_event_batch::tier, cache_tier_rule, "Where: `l1` or `l2`."),
      required<"backend">(&cache_event_batch::backend,
                          "What holds the objects, such as `dram` or `fs`; may be empty for `access` only."),
      optional<"entries">(&cache_event_batch::entries, "The objects; none for `config`."),
      optional<"shared">(&cache_event_batch::shared, "Whether the compartment belongs to no single server."),
      optional<"ts">(&cache_event_batch::ts, "Wall clock of the emitter in seconds since the epoch; 0: unknown."),
      optional<"capacity_bytes">(&cache_event_batch::capacity_bytes,
                                 "Size of the compartment that a `config` batch declares; 0: no limit declared."),
      optional<"capacity_revision">(&cache_event_batch::capacity_revision,
                                    "Number of the declaration that a `config` batch is part of."),
      optional<"dropped_events">(&cache_event_batch::dropped_events,
                                 "How many events the emitter has lost since its start."));

  static std::optional<std::string> check(const cache_event_batch& batch) {
    if (batch.instance_id.empty())
      return "instance_id must be non-empty";
    if (auto problem = negative("incarnation", batch.incarnation))
      return problem;
    if (batch.seq < 1)
      return fmt::format("seq must be >= 1 (got {})", batch.seq);
    if (batch.tier == cache_tier::all)
      return "cache events must target a concrete tier (got 'all')";
    if (batch.backend.empty() && batch.event_type != cache_event_type::access)
      return fmt::format("backend must be non-empty for {} batches", to_string(batch.event_type));
    if (batch.event_type == cache_event_type::config && !batch.entries.empty())
      return "config batches declare capacity and carry no entries";
    if (batch.ts < 0)
      return fmt::format("ts must be >= 0 (got {})", batch.ts);
    if (auto problem = negative("capacity_bytes", batch.capacity_bytes))
      return problem;
    if (auto problem = negative("capacity_revision", batch.capacity_revision))
      return problem;
    return negative("dropped_events", batch.dropped_events);
  }
};

template <>
struct declaration<cache_events_request> {
  static constexpr std::string_view name = "cache_events_request";
  static constexpr std::string_view description = "What happened in caches, in order.";
  static constexpr auto fields = std::make_tuple(
      optional<"batches">(&cache_events_request::batches, "Batches of any emitters; each emitter's in its order."));
};

template <>
struct declaration<cache_events_reply> {
  static constexpr std::string_view name = "cache_events_reply";
  static constexpr std::string_view description = "What became of the batches.";
  static constexpr auto fields =
      std::make_tuple(required<"applied">(&cache_events_reply::applied, "Batches that were taken."),
                      required<"duplicates">(&cache_events_reply::duplicates, "Batches that had been seen already."),
                      required<"stale">(&cache_events_reply::stale, "Batches of an earlier incarnation."));
};

template parsed<cache_events_request> parse(std::string_view, std::string_view);
template void append_json(std::string&, const cache_event_batch&);
template void append_json(std::string&, const cache_events_request&);
template void append_json(std::string&, const cache_events_reply&);
template named_schema json_schema<cache_events_request>();
template named_schema json_schema<cache_events_reply>();

} // namespace coordinator::schema
