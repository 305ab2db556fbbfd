#pragma once

#include <caf/execution_unit.hpp>
#include <caf/intrusive_ptr.hpp>
#include <caf/resumable.hpp>

#include <cstddef>
#include <deque>

namespace coordinator::http {

/// Runs actors on an HTTP worker's thread.
///
/// CAF hands an idle actor that gets a message to the execution unit named by the sender. With this one it waits until
/// the worker has read its batch of requests, and is then run once for all of them: no wake-up, no hop between threads.
/// An actor is in at most one unit's queue, so actor semantics hold; while another thread runs it, messages are
/// handled there. Used by its worker's thread only.
class worker_unit : public caf::execution_unit {
public:
  using caf::execution_unit::execution_unit;

  void exec_later(caf::resumable* job) override { ready_.push_back(job); }

  /// Runs what is ready, and what that makes ready, until nothing is. Returns whether anything was.
  bool run() {
    constexpr std::size_t messages_per_turn = 300;
    const bool any = !ready_.empty();
    while (!ready_.empty()) {
      auto* job = ready_.front();
      ready_.pop_front();
      switch (job->resume(this, messages_per_turn)) {
      case caf::resumable::resume_later:
        ready_.push_back(job);
        break;
      case caf::resumable::done:
      case caf::resumable::awaiting_message:
        caf::intrusive_ptr_release(job);
        break;
      case caf::resumable::shutdown_execution_unit:
        break;
      }
    }
    return any;
  }

private:
  std::deque<caf::resumable*> ready_;
};

} // namespace coordinator::http
