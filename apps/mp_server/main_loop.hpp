#pragma once

#include <pthread.h>

#include <csignal>
#include <functional>
#include <mutex>
#include <utility>
#include <vector>

namespace mp_server {

/// Lets other threads have something done by the main thread, which owns the listening sockets, between its waits for a
/// signal to stop.
class main_loop {
public:
  using task = std::function<void()>;

  /// To be made by the main thread before any other thread exists: blocks the signals for all of them.
  main_loop() : main_(::pthread_self()) {
    sigemptyset(&awaited_);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, task_signal})
      sigaddset(&awaited_, signal);
    ::pthread_sigmask(SIG_BLOCK, &awaited_, nullptr);
    std::signal(SIGPIPE, SIG_IGN);
  }

  /// Any thread. Tasks must not throw. Those that come after the end are forgotten.
  void post(task what) {
    {
      std::lock_guard guard{mutex_};
      tasks_.push_back(std::move(what));
    }
    ::pthread_kill(main_, task_signal);
  }

  /// Main thread: does tasks until a signal to stop comes.
  void run() {
    for (;;) {
      int signal = 0;
      if (::sigwait(&awaited_, &signal) != 0)
        continue;
      if (signal != task_signal)
        return;
      for (auto& each : take())
        each();
    }
  }

private:
  static constexpr int task_signal = SIGUSR1;

  std::vector<task> take() {
    std::lock_guard guard{mutex_};
    return std::exchange(tasks_, {});
  }

  pthread_t main_;
  sigset_t awaited_{};
  std::mutex mutex_;
  std::vector<task> tasks_;
};

} // namespace mp_server
