#pragma once

#include "actors/latency_histogram.hpp"
#include "actors/messages.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace coordinator {

struct call_limits {
  std::size_t running = 1024;         ///< At least 1.
  std::size_t running_per_target = 8; ///< At least 1. A target is an address with its port.
  std::size_t waiting = 65'536;
  std::size_t waiting_bytes = std::size_t{64} << 20; ///< Of bodies.
};

/// What became of the calls. Each call that was asked for is in exactly one of the others, or still running or waiting.
struct call_counts {
  std::uint64_t asked = 0;
  std::array<std::uint64_t, 6> answered{}; ///< By the first digit of the status; [0]: any other status.
  std::uint64_t refused = 0;
  std::uint64_t unreachable = 0;
  std::uint64_t timed_out = 0;
  std::uint64_t failed = 0;
  std::uint64_t departed = 0;
  std::uint64_t overloaded = 0;
  std::uint64_t most_running = 0;
  std::uint64_t most_waiting = 0;
};

/// The calls to mp servers that are running or wait for their turn, and when their time is over. A plain value.
///
/// A target at its limit holds up nobody else: of the calls that may run, the one asked for first is next. Every step
/// takes logarithmic time at most, however many calls wait.
class call_queue {
public:
  using call_number = std::uint64_t;

  /// A call that was asked for and has not ended.
  struct entry {
    call_number number = 0;
    instance_call call; ///< Once it runs: without its body.
    time_point asked_at{};
    time_point deadline{};
    bool running = false;
    time_point started{}; ///< When its turn came, once it runs.
  };

  /// A call whose turn it is.
  struct turn {
    const entry& which; ///< Valid until the call ends.
    std::string body;
  };

  /// Longer time limits are shortened to this, so that a deadline can be computed from any.
  static constexpr duration longest_timeout = std::chrono::hours{24};

  explicit call_queue(call_limits limits) : limits_(limits) {}
  call_queue(const call_queue&) = delete; // the orders point into the targets
  call_queue& operator=(const call_queue&) = delete;

  /// Empty when the call would have to wait and there is no room for it. `start_next` must have been called until
  /// nothing could start, so that a call that need not wait is told from one that must.
  std::optional<call_number> ask(instance_call call, time_point now);

  /// Counts a call that was refused because its registration had ended before.
  void note_departed() noexcept;

  /// Takes the next call that may run now, if any. To be called after `expire`, or it starts calls without time left.
  std::optional<turn> start_next(time_point now);

  /// Empty when the call has ended before.
  std::optional<entry> finish(call_number number, const outbound_reply& reply, time_point now);

  /// Takes out the calls whose deadline has come, earliest first. They count as timed out.
  std::vector<entry> expire(time_point now);

  /// Takes out all calls for a registration.
  std::vector<entry> give_up(std::uint64_t registration);

  /// Takes out the calls for which `ended` holds. Linear.
  std::vector<entry> give_up_if(const std::function<bool(const member&)>& ended);

  /// The earliest one.
  std::optional<time_point> next_deadline() const noexcept;

  const call_counts& counts() const noexcept { return counts_; }
  /// From asking to the answer, of the calls that got one.
  const latency_histogram& latencies() const noexcept { return latencies_; }
  /// From asking to the start, of the calls that started.
  const latency_histogram& waits() const noexcept { return waits_; }
  std::size_t running() const noexcept { return running_; }
  std::size_t waiting() const noexcept { return calls_.size() - running_; }
  std::size_t waiting_bytes() const noexcept { return waiting_bytes_; }

private:
  using target_key = std::pair<std::string, std::uint16_t>;

  struct target {
    std::size_t running = 0;
    std::set<call_number> waiting;
    /// The call under which this target is in `ready_`, 0 when it is not.
    call_number ready = 0;
  };

  using targets = std::map<target_key, target>;

  struct kept {
    entry what;
    targets::iterator target;
  };

  using calls = std::unordered_map<call_number, kept>;

  /// Takes a call out of all orders.
  entry remove(calls::iterator which);
  /// To be called after each change of a target.
  void reorder(targets::iterator which);

  call_limits limits_;
  call_counts counts_;
  latency_histogram latencies_;
  latency_histogram waits_;
  calls calls_;
  targets targets_; ///< Those that have calls.
  /// The targets for which a call waits that may run, by the number of that call.
  std::map<call_number, targets::iterator> ready_;
  std::set<std::pair<time_point, call_number>> deadlines_;
  std::set<std::pair<std::uint64_t, call_number>> registrations_;
  call_number last_number_ = 0;
  std::size_t running_ = 0;
  std::size_t waiting_bytes_ = 0;
};

} // namespace coordinator
