#pragma once

#include "actors/system.hpp"

#include <caf/actor_clock.hpp>
#include <caf/actor_system.hpp>
#include <caf/expected.hpp>
#include <caf/scheduler/test_coordinator.hpp>
#include <caf/scoped_actor.hpp>
#include <caf/send.hpp>

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

namespace coordinator::test {

using namespace std::chrono_literals;

/// Actors that run, and time that passes, only when a test says so.
struct actors_fixture {
  test_system_config config;
  caf::actor_system system{config};
  caf::scoped_actor self{system, true};
  caf::scheduler::test_coordinator& scheduler = dynamic_cast<caf::scheduler::test_coordinator&>(system.scheduler());
  std::vector<caf::strong_actor_ptr> started; ///< Stopped at the end, in this order.

  actors_fixture() { scheduler.clock().current_time += 1h; } // zero means "no time" to CAF

  ~actors_fixture() { stop_all(); }

  /// Ends the actors. To be called by a derived fixture whose members they still use.
  void stop_all() {
    for (auto& actor : std::exchange(started, {}))
      caf::anon_send_exit(actor, caf::exit_reason::user_shutdown);
    // An armed timer holds its actor, and the system waits for its actors.
    do
      settle();
    while (scheduler.trigger_timeouts() > 0);
  }

  template <class Handle>
  Handle stop_at_end(Handle actor) {
    started.push_back(caf::actor_cast<caf::strong_actor_ptr>(actor));
    return actor;
  }

  std::chrono::steady_clock::time_point now() const { return scheduler.clock().now(); }

  void settle() {
    while (scheduler.run() > 0) {
    }
  }

  /// Lets time pass in steps, so that a timer that is armed anew by each firing fires as often as it should.
  void advance(caf::timespan time, caf::timespan step = 50ms) {
    for (; time.count() > 0; time -= step) {
      scheduler.advance_time(std::min(time, step));
      settle();
    }
  }

  /// One jump, as after the process stood still: what was due fires once.
  void jump(caf::timespan time) {
    scheduler.advance_time(time);
    settle();
  }

  template <class Reply, class Handle, class... Ts>
  caf::expected<Reply> ask(const Handle& actor, Ts&&... message) {
    auto pending = self->request(actor, caf::infinite, std::forward<Ts>(message)...);
    settle();
    caf::expected<Reply> result{caf::sec::runtime_error};
    pending.receive([&](Reply& reply) { result = std::move(reply); },
                    [&](caf::error& error) { result = std::move(error); });
    return result;
  }

  /// For requests that are answered with "done".
  template <class Handle, class... Ts>
  caf::error tell(const Handle& actor, Ts&&... message) {
    auto pending = self->request(actor, caf::infinite, std::forward<Ts>(message)...);
    settle();
    caf::error result;
    pending.receive([] {}, [&](caf::error& error) { result = std::move(error); });
    return result;
  }
};

} // namespace coordinator::test
