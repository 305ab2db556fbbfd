#include "apps/mp_server/bodies.hpp"

#include "schema/cache_declarations.hpp"

namespace mp_server {

namespace {

constexpr auto mode_rule =
    schema::choice(std::pair{socket_mode::serve, "serve"}, std::pair{socket_mode::refuse, "refuse"},
                   std::pair{socket_mode::silent, "silent"}, std::pair{socket_mode::drip, "drip"},
                   std::pair{socket_mode::reset, "reset"}, std::pair{socket_mode::cut, "cut"});

/// Up to a day.
constexpr schema::integer_rule<std::chrono::milliseconds::rep> milliseconds_rule{.min = 0, .max = 86'400'000};

} // namespace

} // namespace mp_server

namespace coordinator::schema {

using namespace mp_server;

template <>
struct declaration<quota_request> {
  static constexpr std::string_view name = "quota_request";
  static constexpr std::string_view description = "A quota to set.";
  static constexpr auto fields =
      std::make_tuple(required<"limit_gb">(&quota_request::limit_gb, number_rule{.min = 0}, "GiB; 0 or more."));
};

template <>
struct declaration<quota_reply> {
  static constexpr std::string_view name = "quota_reply";
  static constexpr std::string_view description = "A quota that was set.";
  static constexpr auto fields = std::make_tuple(required<"cache_salt">(&quota_reply::cache_salt, "The tenant."),
                                                 required<"limit_gb">(&quota_reply::limit_gb, "GiB."),
                                                 required<"status">(&quota_reply::status, "Always `ok`."));
};

template <>
struct declaration<quota_status> {
  static constexpr std::string_view name = "quota_status";
  static constexpr std::string_view description = "A quota and what is used of it.";
  static constexpr auto fields =
      std::make_tuple(required<"cache_salt">(&quota_status::cache_salt, "The tenant."),
                      required<"limit_gb">(&quota_status::limit_gb, "GiB; 0 when there is no quota."),
                      required<"current_usage_gb">(&quota_status::current_usage_gb, "GiB in all L2 stores."),
                      required<"exists">(&quota_status::exists, "Whether there is a quota."));
};

template <>
struct declaration<quota_removal> {
  static constexpr std::string_view name = "quota_removal";
  static constexpr std::string_view description = "A quota that was removed.";
  static constexpr auto fields =
      std::make_tuple(required<"cache_salt">(&quota_removal::cache_salt, "The tenant."),
                      required<"status">(&quota_removal::status, "`removed` or `not_found`."));
};

template <>
struct declaration<version_reply> {
  static constexpr std::string_view name = "version_reply";
  static constexpr std::string_view description = "The version of this server.";
  static constexpr auto fields = std::make_tuple(required<"version">(&version_reply::version, "The version."));
};

template <>
struct declaration<compartment_status> {
  static constexpr std::string_view name = "compartment_status";
  static constexpr std::string_view description = "What one compartment holds.";
  static constexpr auto fields =
      std::make_tuple(required<"tier">(&compartment_status::tier, schema::cache_tier_rule, "The tier."),
                      required<"backend">(&compartment_status::backend, "What holds it."),
                      required<"shared">(&compartment_status::shared, "Whether other servers use it too."),
                      required<"keys">(&compartment_status::keys, "Objects."),
                      required<"bytes">(&compartment_status::bytes, "Their sizes together."),
                      required<"capacity_bytes">(&compartment_status::capacity_bytes, "0: no limit."));
};

template <>
struct declaration<node_status> {
  static constexpr std::string_view name = "node_status";
  static constexpr std::string_view description = "State of this server.";
  static constexpr auto fields = std::make_tuple(
      required<"instance_id">(&node_status::instance_id, "Its id."),
      required<"incarnation">(&node_status::incarnation, "Grows with every restart."),
      required<"compartments">(&node_status::compartments, "L1 and the L2 stores."),
      required<"prefetches">(&node_status::prefetches, "Submitted, and their completion not yet told."),
      required<"event_batches">(&node_status::event_batches, "Batches of events made in this incarnation."),
      required<"dropped_events">(&node_status::dropped_events, "Events lost in this incarnation."));
};

template <>
struct declaration<store_request> {
  static constexpr std::string_view name = "store_request";
  static constexpr std::string_view description = "Objects to store.";
  static constexpr auto fields =
      std::make_tuple(required<"entries">(&store_request::entries, "The objects."),
                      optional<"tier">(&store_request::tier, schema::cache_tier_rule, "`l1` or `l2`."),
                      optional<"adapter">(&store_request::adapter, "Which L2 store; none: the first one."),
                      optional<"shared">(&store_request::shared, "None: as the store is."));
};

template <>
struct declaration<store_tokens_request> {
  static constexpr std::string_view name = "store_tokens_request";
  static constexpr std::string_view description = "A sequence whose chunks are to be stored.";
  static constexpr auto fields = std::make_tuple(
      required<"model_name">(&store_tokens_request::model_name, "The model."),
      optional<"world_size">(&store_tokens_request::world_size,
                             schema::integer_rule<std::uint32_t>{.min = 1, .max = schema::max_world_size}, "Workers."),
      required<"token_ids">(&store_tokens_request::token_ids, "The tokens."),
      optional<"cache_salt">(&store_tokens_request::cache_salt, "The tenant."),
      optional<"size_bytes">(&store_tokens_request::size_bytes, schema::integer_rule<std::int64_t>{.min = 0},
                             "Of each object."),
      optional<"tier">(&store_tokens_request::tier, schema::cache_tier_rule, "`l1` or `l2`."),
      optional<"adapter">(&store_tokens_request::adapter, "Which L2 store; none: the first one."),
      optional<"shared">(&store_tokens_request::shared, "None: as the store is."));
};

template <>
struct declaration<keys_request> {
  static constexpr std::string_view name = "keys_request";
  static constexpr std::string_view description = "Objects that something is to happen to.";
  static constexpr auto fields =
      std::make_tuple(required<"keys">(&keys_request::keys, "The objects."),
                      optional<"tier">(&keys_request::tier, schema::cache_tier_rule, "`l1` or `l2`."),
                      optional<"adapter">(&keys_request::adapter, "Which L2 store; none: the first one."));
};

template <>
struct declaration<tally_reply> {
  static constexpr std::string_view name = "tally_reply";
  static constexpr std::string_view description = "To how many objects it happened.";
  static constexpr auto fields =
      std::make_tuple(required<"affected">(&tally_reply::affected, "To so many."),
                      required<"skipped">(&tally_reply::skipped, "Not to so many: locked, or not there."));
};

template <>
struct declaration<restart_reply> {
  static constexpr std::string_view name = "restart_reply";
  static constexpr std::string_view description = "The server has restarted.";
  static constexpr auto fields = std::make_tuple(required<"incarnation">(&restart_reply::incarnation, "The new one."));
};

template <>
struct declaration<fault> {
  static constexpr std::string_view name = "fault";
  static constexpr std::string_view description = "What goes wrong with the requests that match.";
  static constexpr auto fields = std::make_tuple(
      optional<"method">(&fault::method, "Empty: any."), optional<"path">(&fault::path, "What the target starts with."),
      optional<"times">(&fault::times, "So many requests; none: all."),
      optional<"delay_ms">(&fault::delay_ms, milliseconds_rule, "Before anything else is done."),
      optional<"hang">(&fault::hang, "No answer, ever."),
      optional<"status">(&fault::status,
                         schema::optional_rule{schema::integer_rule<std::uint16_t>{.min = 200, .max = 599}},
                         "Answered instead of doing anything."),
      optional<"body">(&fault::body, "Answered as it stands instead of doing anything."),
      optional<"ok_false">(&fault::ok_false, "The L2 store fails."),
      optional<"drop_events">(&fault::drop_events, "What changes is not reported."),
      optional<"load_ms">(&fault::load_ms, milliseconds_rule, "How long the prefetch takes that is submitted."));
};

template <>
struct declaration<fault_list> {
  static constexpr std::string_view name = "fault_list";
  static constexpr std::string_view description = "What goes wrong.";
  static constexpr auto fields =
      std::make_tuple(required<"faults">(&fault_list::faults, "The first that matches a request is used."));
};

template <>
struct declaration<socket_request> {
  static constexpr std::string_view name = "socket_request";
  static constexpr std::string_view description = "What the service port is to do.";
  static constexpr auto fields = std::make_tuple(required<"mode">(&socket_request::mode, mode_rule, "What it does."));
};

template <>
struct declaration<socket_status> {
  static constexpr std::string_view name = "socket_status";
  static constexpr std::string_view description = "What the service port does.";
  static constexpr auto fields =
      std::make_tuple(required<"mode">(&socket_status::mode, mode_rule, "What it does."),
                      required<"connections">(&socket_status::connections, "Accepted since then; 0 while serving."));
};

template <>
struct declaration<heartbeats_request> {
  static constexpr std::string_view name = "heartbeats_request";
  static constexpr std::string_view description = "Whether heartbeats are sent.";
  static constexpr auto fields =
      std::make_tuple(required<"enabled">(&heartbeats_request::enabled, "Whether they are."));
};

template <>
struct declaration<recorded_call> {
  static constexpr std::string_view name = "recorded_call";
  static constexpr std::string_view description = "A request that came in.";
  static constexpr auto fields =
      std::make_tuple(required<"method">(&recorded_call::method, "Its method."),
                      required<"target">(&recorded_call::target, "Its target, as it was sent."),
                      required<"body_bytes">(&recorded_call::body_bytes, "Length of its body."),
                      optional<"body">(&recorded_call::body, "The body, when it is not long."));
};

template <>
struct declaration<call_list> {
  static constexpr std::string_view name = "call_list";
  static constexpr std::string_view description = "Requests that came in.";
  static constexpr auto fields =
      std::make_tuple(required<"count">(&call_list::count, "All since the last DELETE."),
                      required<"calls">(&call_list::calls, "The last of them, oldest first."));
};

template parsed<quota_request> parse(std::string_view, std::string_view);
template parsed<store_request> parse(std::string_view, std::string_view);
template parsed<store_tokens_request> parse(std::string_view, std::string_view);
template parsed<keys_request> parse(std::string_view, std::string_view);
template parsed<fault_list> parse(std::string_view, std::string_view);
template parsed<socket_request> parse(std::string_view, std::string_view);
template parsed<heartbeats_request> parse(std::string_view, std::string_view);
template void append_json(std::string&, const quota_reply&);
template void append_json(std::string&, const quota_status&);
template void append_json(std::string&, const quota_removal&);
template void append_json(std::string&, const version_reply&);
template void append_json(std::string&, const node_status&);
template void append_json(std::string&, const tally_reply&);
template void append_json(std::string&, const restart_reply&);
template void append_json(std::string&, const fault_list&);
template void append_json(std::string&, const socket_status&);
template void append_json(std::string&, const heartbeats_request&);
template void append_json(std::string&, const call_list&);

} // namespace coordinator::schema
