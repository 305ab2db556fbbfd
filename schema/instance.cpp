#include "schema/instance.hpp"

#include "schema/address.hpp"
#include "schema/codec_impl.hpp"
#include "schema/identifier.hpp"

namespace coordinator::schema {

namespace {

/// Unlike an id in general, the one in a request may be empty.
std::optional<std::string> requested_id_problem(std::string_view text) {
  return text.empty() ? std::nullopt : identifier_problem(text);
}

/// Says only what is out of the ordinary, so that the rows of a fleet in service are those of the Python coordinator.
struct instance_state_rule : choice_rule<instance_state, 2> {
  bool omits(instance_state value) const noexcept { return value == instance_state::active; }
};

} // namespace

template <>
struct declaration<register_request> {
  static constexpr std::string_view name = "register_request";
  static constexpr std::string_view description = "A cache server that joins the fleet, or joins again.";
  static constexpr auto fields = std::make_tuple(
      required<"ip">(&register_request::ip,
                     text_rule{.strip = true, .min_length = 1, .problem = address_problem, .kept = without_brackets},
                     "IPv4 address, IPv6 address or host name under which other machines reach the server. "
                     "Wildcard addresses and URLs are refused."),
      required<"http_port">(&register_request::http_port, integer_rule<std::uint16_t>{.min = 1},
                            "Port of the server's HTTP interface."),
      optional<"instance_id">(&register_request::instance_id, text_rule{.strip = true, .problem = requested_id_problem},
                              "Id of the server: at most 256 bytes of UTF-8 without control characters. "
                              "Empty: the coordinator assigns one."),
      optional<"metadata">(&register_request::labels,
                           string_map_rule{.max_entries = max_metadata_entries, .max_bytes = max_metadata_bytes},
                           "Free-form labels; names and values have at most 65536 bytes together."),
      optional<"p2p_advertised_url">(&register_request::p2p_advertised_url,
                                     text_rule{.strip = true, .max_bytes = max_advertised_url_bytes},
                                     "Where peers reach the server's transfer interface, such as `192.0.2.17:7700`."),
      optional<"mq_port">(&register_request::mq_port, "Port of the server's message queue; 0: peer-to-peer is off."));
};

template <>
struct declaration<register_reply> {
  static constexpr std::string_view name = "register_reply";
  static constexpr std::string_view description = "Outcome of a registration.";
  static constexpr auto fields = std::make_tuple(
      required<"instance_id">(&register_reply::instance_id, "Id under which the server is now registered."),
      required<"re_registered">(&register_reply::re_registered, "Whether an earlier registration was replaced."));
};

template <>
struct declaration<heartbeat_reply> {
  static constexpr std::string_view name = "heartbeat_reply";
  static constexpr std::string_view description = "The heartbeat has been counted.";
  static constexpr auto fields =
      std::make_tuple(required<"instance_id">(&heartbeat_reply::instance_id, "Id of the server."));
};

template <>
struct declaration<instance> {
  static constexpr std::string_view name = "instance";
  static constexpr std::string_view description = "A member of the fleet.";
  static constexpr auto fields = std::make_tuple(
      required<"instance_id">(&instance::instance_id, "Id of the server, unique in the fleet."),
      required<"ip">(&instance::ip, "IPv4 address, IPv6 address without brackets, or host name."),
      required<"http_port">(&instance::http_port, "Port of the server's HTTP interface."),
      required<"registration_time">(&instance::registration_time,
                                    "When it registered last: wall clock, in seconds since the epoch."),
      required<"metadata">(&instance::labels, "Free-form labels, as they were registered."),
      required<"p2p_advertised_url">(&instance::p2p_advertised_url,
                                     "Where peers reach the server's transfer interface; empty when nowhere."),
      required<"mq_port">(&instance::mq_port, "Port of the server's message queue; 0: peer-to-peer is off."),
      optional<"state">(&instance::state,
                        instance_state_rule{choice(std::pair{instance_state::active, "active"},
                                                   std::pair{instance_state::draining, "draining"})},
                        "`draining`: it is to get no new work. Missing otherwise."),
      optional<"seconds_since_heartbeat">(&instance::seconds_since_heartbeat,
                                          "Age of the last sign of life; only where it was asked for."));
};

template <>
struct declaration<instance_list> {
  static constexpr std::string_view name = "instance_list";
  static constexpr std::string_view description = "The fleet, in the order of first registration.";
  static constexpr auto fields = std::make_tuple(
      required<"instances">(&instance_list::instances, "Those members that were asked for."),
      required<"version">(&instance_list::version,
                          "Changes whenever membership does; `since` takes it, and it differs between coordinators."),
      optional<"next">(&instance_list::next, "For `after`, when `limit` has cut the list."));
};

template parsed<register_request> parse(std::string_view, std::string_view);
template parsed<register_reply> parse(std::string_view, std::string_view);
template parsed<heartbeat_reply> parse(std::string_view, std::string_view);
template parsed<instance_list> parse(std::string_view, std::string_view);
template void append_json(std::string&, const register_request&);
template void append_json(std::string&, const register_reply&);
template void append_json(std::string&, const heartbeat_reply&);
template void append_json(std::string&, const instance&);
template void append_json(std::string&, const instance_list&);
template named_schema json_schema<register_request>();
template named_schema json_schema<register_reply>();
template named_schema json_schema<heartbeat_reply>();
template named_schema json_schema<instance>();
template named_schema json_schema<instance_list>();

} // namespace coordinator::schema
