#pragma once

#include "schema/codec.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace coordinator::schema {

/// Free-form labels of an instance, in the order in which they were sent.
using metadata = std::vector<std::pair<std::string, std::string>>;

inline constexpr std::size_t max_metadata_entries = 1024;
/// Of all names and values of an instance together.
inline constexpr std::size_t max_metadata_bytes = 64 * 1024;
inline constexpr std::size_t max_advertised_url_bytes = 1024;

/// Body of `POST /instances` (docs/api.md). Already checked and normalised when it comes out of `parse`.
struct register_request {
  std::string ip;              ///< IPv4, IPv6 without brackets, or a host name; never a wildcard address.
  std::uint16_t http_port = 0; ///< 1 to 65535.
  std::string instance_id;     ///< Empty: the coordinator assigns one.
  metadata labels;             ///< On the wire: `metadata`.
  std::string p2p_advertised_url;
  std::uint16_t mq_port = 0; ///< 0: peer-to-peer transfer is off.

  bool operator==(const register_request&) const = default;
};

/// Reply to `POST /instances`.
struct register_reply {
  std::string instance_id;
  bool re_registered = false;
};

/// Reply to a heartbeat.
struct heartbeat_reply {
  std::string instance_id;
};

/// Whether an instance may be given work.
enum class instance_state : std::uint8_t {
  active,
  draining, ///< No new work; it stays registered and goes on with what it has.
};

/// A member of the fleet as others see it; a row of `GET /instances`.
struct instance {
  std::string instance_id;
  std::string ip;
  std::uint16_t http_port = 0;
  double registration_time = 0; ///< Wall clock, seconds since the epoch. For display only.
  metadata labels;              ///< On the wire: `metadata`.
  std::string p2p_advertised_url;
  std::uint16_t mq_port = 0;
  instance_state state = instance_state::active; ///< Left out of the JSON when active, as clients expect.
  /// Left out of the JSON when unset, which it is in an unadorned list.
  std::optional<double> seconds_since_heartbeat{};
};

/// Reply of `GET /instances`, for its schema; the list itself is written row by row.
struct instance_list {
  std::vector<instance> instances;
  std::string version{};             ///< Changes whenever membership does.
  std::optional<std::string> next{}; ///< For `after`, when a `limit` has cut the list.
};

} // namespace coordinator::schema
