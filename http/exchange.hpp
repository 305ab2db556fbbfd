#pragma once

#include "http/request.hpp"
#include "http/response.hpp"
#include "http/uri.hpp"

#include <caf/allowed_unsafe_message_type.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace coordinator::http {

class outbox;
struct route;

/// One request on its way through the service, with the way back.
///
/// Made by the worker that owns the connection, which leaves it alone until the answer is back; in between it belongs
/// to whoever answers, an actor on any thread. The worker checks at delivery that the connection still waits for this
/// very exchange, so an answer can come late or never, but not to somebody else. One that nobody holds any more without
/// having answered is noticed and answered with a 503.
struct exchange {
  std::string bytes; ///< What `call` points into.
  request call;
  target where;
  const route* matched = nullptr;
  std::vector<std::string> path_parameters; ///< Decoded, in the order of the route's path.

  std::shared_ptr<outbox> home;
  int descriptor = -1;
  std::uint64_t connection = 0; ///< Serial number; descriptors are reused.
  std::atomic<bool> answered = false;
  /// The answer may take this much more than the worker's limit, because the client asked to wait.
  std::atomic<std::chrono::nanoseconds> patience = std::chrono::nanoseconds::zero();
  /// Set by the worker when the client of a request with patience has closed its side: no need to wait any more.
  std::atomic<bool> client_gone = false;
};

using exchange_ptr = std::shared_ptr<exchange>;

/// Sends the answer back to the connection's worker. Any thread. Answers after the first are ignored.
void answer(const exchange_ptr& to, response reply);

} // namespace coordinator::http

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(coordinator::http::exchange_ptr)
