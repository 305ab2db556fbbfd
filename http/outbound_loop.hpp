#pragma once

#include "actors/outbound.hpp"

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>

namespace coordinator::http {

struct outbound_loop_options {
  /// Open connections in all; further calls wait for one, within their time limit.
  std::size_t max_connections = 1024;
  /// Idle connections that are kept for later calls.
  std::size_t max_idle_connections = 1024;
};

/// libcurl's multi interface on one thread of its own, with timers: what outbound HTTP needs, and no actors.
///
/// No redirects, no proxies, HTTP/1.1 with keep-alive, certificates verified. The thread takes no signals, and its
/// writes raise none, so that a library that uses it leaves no trace in the process around it. The destructor gives up
/// what is under way, without completions, and joins; it must not run on the loop's own thread.
class outbound_loop : public outbound_client {
public:
  using time_point = std::chrono::steady_clock::time_point;
  using task = std::function<void()>;

  explicit outbound_loop(outbound_loop_options options = {});
  ~outbound_loop() override;
  outbound_loop(const outbound_loop&) = delete;
  outbound_loop& operator=(const outbound_loop&) = delete;

  call_id start(outbound_request request, completion done) override;
  void cancel(call_id call) override;

  /// Runs `what` on the loop's thread soon, or not before `when`. Any thread. Tasks must neither block nor throw; those
  /// of one thread run in the order in which they were posted.
  void post(task what);
  void post_at(time_point when, task what);

private:
  struct state;
  std::unique_ptr<state> state_;
};

} // namespace coordinator::http
