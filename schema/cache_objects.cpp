#include "schema/cache_objects.hpp"

#include "schema/cache_declarations.hpp"

namespace coordinator::schema {

template <>
struct declaration<delete_objects_request> {
  static constexpr std::string_view name = "delete_objects_request";
  static constexpr std::string_view description = "Objects that a server is to delete.";
  static constexpr auto fields = std::make_tuple(
      required<"keys">(&delete_objects_request::keys, "The objects; at most 10000."),
      optional<"tier">(&delete_objects_request::tier, cache_tier_rule, "Where to delete them."),
      optional<"force">(&delete_objects_request::force, "Whether to delete those in L1 that are locked, too."),
      optional<"adapter">(&delete_objects_request::adapter, "Which L2 store; none or `null`: the first one."));
};

template <>
struct declaration<delete_objects_reply> {
  static constexpr std::string_view name = "delete_objects_reply";
  static constexpr std::string_view description = "Outcome of a deletion.";
  static constexpr auto fields = std::make_tuple(
      required<"deleted">(&delete_objects_reply::deleted,
                          "How many were deleted from L1, plus how many were sent if the L2 store took them."),
      required<"skipped">(&delete_objects_reply::skipped, "How many were left in L1 because they are locked."),
      required<"ok">(&delete_objects_reply::ok, "False when the L2 store failed."),
      optional<"error">(&delete_objects_reply::error, "How it failed."));
};

template <>
struct declaration<listed_object> {
  static constexpr std::string_view name = "listed_object";
  static constexpr std::string_view description = "An object in an L2 store.";
  static constexpr auto fields = std::make_tuple(required<"key">(&listed_object::key, "The object."),
                                                 required<"size_bytes">(&listed_object::size_bytes, "Its size."));
};

template <>
struct declaration<object_page> {
  static constexpr std::string_view name = "object_page";
  static constexpr std::string_view description = "A page of what an L2 store holds.";
  static constexpr auto fields =
      std::make_tuple(required<"adapter">(&object_page::adapter, "The store."),
                      optional<"shared">(&object_page::shared, "Whether other servers use the same store."),
                      required<"entries">(&object_page::entries, "The objects."),
                      required<"next_page_token">(&object_page::next_page_token, nullable_rule<text_rule>{},
                                                  "For the next page; `null` when there is none."));
};

template <>
struct declaration<prefetch_request> {
  static constexpr std::string_view name = "prefetch_request";
  static constexpr std::string_view description = "Tokens whose objects a server is to load.";
  static constexpr auto fields = std::make_tuple(
      required<"model_name">(&prefetch_request::model_name, "The model, as the servers call it."),
      required<"world_size">(&prefetch_request::world_size,
                             integer_rule<std::uint32_t>{.min = 1, .max = max_world_size},
                             "How many workers hold a part of each chunk."),
      required<"token_ids">(&prefetch_request::token_ids, "The tokens, from the start of the sequence."),
      optional<"cache_salt">(&prefetch_request::cache_salt, "The tenant; empty: none."),
      optional<"source_tier">(&prefetch_request::source_tier, "From where; `l2` is what there is."),
      optional<"target_tier">(&prefetch_request::target_tier, "To where; `l1` is what there is."));
};

template <>
struct declaration<prefetch_reply> {
  static constexpr std::string_view name = "prefetch_reply";
  static constexpr std::string_view description = "A load that was submitted.";
  static constexpr auto fields = std::make_tuple(
      optional<"request_id">(&prefetch_reply::request_id, "To ask for its state; none when there is nothing to load."),
      required<"chunks">(&prefetch_reply::chunks, "Complete chunks in the tokens."),
      required<"status">(&prefetch_reply::status, "`submitted`, or `noop` when there is nothing to load."));
};

template <>
struct declaration<prefetch_status> {
  static constexpr std::string_view name = "prefetch_status";
  static constexpr std::string_view description = "State of a load.";
  static constexpr auto fields =
      std::make_tuple(required<"request_id">(&prefetch_status::request_id, "The load."),
                      required<"status">(&prefetch_status::status, "`pending` or `completed`."),
                      optional<"found_keys">(&prefetch_status::found_keys, "Objects that this load brought into L1."),
                      optional<"total_keys">(&prefetch_status::total_keys, "Objects that the tokens stand for."));
};

template <>
struct declaration<clear_request> {
  static constexpr std::string_view name = "clear_request";
  static constexpr std::string_view description = "A tier that a server is to empty.";
  static constexpr auto fields =
      std::make_tuple(optional<"tier">(&clear_request::tier, cache_tier_rule, "Only `l1` can be emptied."),
                      optional<"force">(&clear_request::force, "Whether to delete what is locked, too."));
};

template <>
struct declaration<cleared_tier> {
  static constexpr std::string_view name = "cleared_tier";
  static constexpr std::string_view description = "What was emptied.";
  static constexpr auto fields = std::make_tuple(required<"tier">(&cleared_tier::tier, cache_tier_rule, "The tier."));
};

template <>
struct declaration<clear_reply> {
  static constexpr std::string_view name = "clear_reply";
  static constexpr std::string_view description = "A tier was emptied.";
  static constexpr auto fields = std::make_tuple(required<"status">(&clear_reply::status, "Always `ok`."),
                                                 required<"cleared">(&clear_reply::cleared, "What was emptied."));
};

template parsed<delete_objects_request> parse(std::string_view, std::string_view);
template parsed<delete_objects_reply> parse(std::string_view, std::string_view);
template parsed<prefetch_request> parse(std::string_view, std::string_view);
template parsed<prefetch_reply> parse(std::string_view, std::string_view);
template parsed<clear_request> parse(std::string_view, std::string_view);
template void append_json(std::string&, const delete_objects_request&);
template void append_json(std::string&, const delete_objects_reply&);
template void append_json(std::string&, const object_page&);
template void append_json(std::string&, const prefetch_request&);
template void append_json(std::string&, const prefetch_reply&);
template void append_json(std::string&, const prefetch_status&);
template void append_json(std::string&, const clear_reply&);

} // namespace coordinator::schema
