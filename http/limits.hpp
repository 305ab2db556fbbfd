#pragma once

#include "http/request_parser.hpp"

#include <chrono>
#include <cstddef>

namespace coordinator::http {

/// Bounds on connections and requests (docs/http.md). Nothing a client does makes the server wait longer, unless it
/// asked to wait for a change, or read more.
struct server_limits {
  using duration = std::chrono::nanoseconds;

  request_limits request;           ///< Its body bound is the route's (see `route::max_body`).
  std::size_t connections = 60'000; ///< In all; 503 and close past it. Lowered to what the descriptor limit allows.

  duration idle = std::chrono::seconds{75}; ///< Between requests on a connection that is kept alive.
  /// From the first byte of a request, or from the start of the connection, to the end of its head.
  duration head = std::chrono::seconds{10};
  /// For a body: this, and more as bytes arrive, so that only senders slower than `slowest_body` are cut off.
  duration body = std::chrono::seconds{10};
  std::size_t slowest_body = 64 * 1024; ///< Bytes per second.
  /// Without a byte of the response taken by the client.
  duration write_stall = std::chrono::seconds{30};
  /// From a complete request to its answer, besides what the client asked to wait (`exchange::patience`); 503 past it.
  duration answer = std::chrono::seconds{30};
  /// After the last response on a connection, for the client to have read it.
  duration linger = std::chrono::seconds{2};
};

} // namespace coordinator::http
