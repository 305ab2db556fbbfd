#pragma once

#include "http/exchange.hpp"

#include <functional>
#include <mutex>
#include <vector>

namespace coordinator::http {

/// What is to be done on one worker's thread: answers to write, and commands of the server.
///
/// Posts by the worker itself need neither lock nor wake-up; those by others cost one wake-up a batch. Outlives the
/// worker for as long as an exchange may still be answered.
class outbox {
public:
  struct reply {
    exchange_ptr to;
    response answer;
  };
  using command = std::function<void()>;

  outbox();
  ~outbox();
  outbox(const outbox&) = delete;
  outbox& operator=(const outbox&) = delete;

  /// Becomes readable when something was posted from another thread.
  int wake_descriptor() const noexcept { return wake_descriptor_; }

  /// Tells that the calling thread is the worker. Called by the worker before anything else.
  void adopt_thread() noexcept;

  /// Any thread.
  void post(reply item);
  void post(command task);

  /// Moves what was posted so far to the end of the arguments. Worker thread.
  void take(std::vector<reply>& replies, std::vector<command>& commands);

private:
  void wake() noexcept;

  int wake_descriptor_;
  std::vector<reply> own_; ///< Worker thread only.
  std::mutex mutex_;       ///< Guards what follows.
  std::vector<reply> replies_;
  std::vector<command> commands_;
  bool armed_ = false; ///< A wake-up is on its way.
};

} // namespace coordinator::http
