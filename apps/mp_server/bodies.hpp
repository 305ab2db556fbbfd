#pragma once

#include "apps/mp_server/fault_plan.hpp"
#include "schema/cache_event.hpp"
#include "schema/cache_key.hpp"
#include "schema/codec.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

// Wire types of this server's own: its quotas, its state, and its control port (docs/mp-server.md). What a coordinator
// sends to any mp server is in schema/.

namespace mp_server {

namespace schema = coordinator::schema;

// -- service port --

/// Body of `PUT /quota/{cache_salt}`.
struct quota_request {
  double limit_gb = 0;
};

struct quota_reply {
  std::string cache_salt;
  double limit_gb = 0;
  std::string status = "ok";
};

struct quota_status {
  std::string cache_salt;
  double limit_gb = 0;
  double current_usage_gb = 0;
  bool exists = false;
};

struct quota_removal {
  std::string cache_salt;
  std::string status; ///< `removed` or `not_found`.
};

struct version_reply {
  std::string version;
};

struct compartment_status {
  schema::cache_tier tier = schema::cache_tier::l1;
  std::string backend;
  bool shared = false;
  std::uint64_t keys = 0;
  std::int64_t bytes = 0;
  std::int64_t capacity_bytes = 0;
};

/// Reply of `GET /status`.
struct node_status {
  std::string instance_id;
  std::int64_t incarnation = 0;
  std::vector<compartment_status> compartments;
  std::uint64_t prefetches = 0; ///< Submitted, and their completion not yet told.
  std::int64_t event_batches = 0;
  std::uint64_t dropped_events = 0;
};

// -- control port --

/// Body of `POST /store`.
struct store_request {
  std::vector<schema::cache_event_entry> entries;
  schema::cache_tier tier = schema::cache_tier::l1;
  std::optional<std::string> adapter;
  std::optional<bool> shared;
};

/// Body of `POST /store_tokens`.
struct store_tokens_request {
  std::string model_name;
  std::uint32_t world_size = 1;
  std::vector<std::int64_t> token_ids;
  std::string cache_salt;
  std::int64_t size_bytes = 0; ///< Of each object.
  schema::cache_tier tier = schema::cache_tier::l1;
  std::optional<std::string> adapter;
  std::optional<bool> shared;
};

/// Body of `POST /evict`, `/access`, `/lock` and `/unlock`; the latter two are about L1 whatever the tier.
struct keys_request {
  std::vector<schema::cache_key> keys;
  schema::cache_tier tier = schema::cache_tier::l1;
  std::optional<std::string> adapter;
};

struct tally_reply {
  std::uint64_t affected = 0;
  std::uint64_t skipped = 0;
};

struct restart_reply {
  std::int64_t incarnation = 0;
};

/// Body of `PUT /faults`, and reply of `GET /faults`.
struct fault_list {
  std::vector<fault> faults;
};

enum class socket_mode : std::uint8_t {
  serve,
  refuse, ///< Connections are refused.
  silent, ///< Connections are accepted, and nothing is sent.
  drip,   ///< Of a response, one byte a second is sent.
  reset,  ///< Connections are reset once the first bytes of a request have come.
  cut,    ///< Connections end in the middle of a response.
};

/// Body of `PUT /socket`.
struct socket_request {
  socket_mode mode = socket_mode::serve;
};

/// Reply of `GET` and `PUT /socket`.
struct socket_status {
  socket_mode mode = socket_mode::serve;
  std::uint64_t connections = 0; ///< Accepted since the mode was set; 0 while serving.
};

/// Body of `PUT /heartbeats`, and its reply.
struct heartbeats_request {
  bool enabled = true;
};

/// A request that came in on the service port.
struct recorded_call {
  std::string method;
  std::string target;
  std::uint64_t body_bytes = 0;
  std::optional<std::string> body; ///< Unset when it is long.
};

/// Reply of `GET /calls`.
struct call_list {
  std::uint64_t count = 0;          ///< All since the last `DELETE`.
  std::vector<recorded_call> calls; ///< The last of them, oldest first.
};

} // namespace mp_server
