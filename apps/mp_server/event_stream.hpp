#pragma once

#include "apps/mp_server/node_cache.hpp"
#include "schema/cache_event.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

namespace mp_server {

/// The size of one compartment. 0: no limit is declared.
struct capacity {
  compartment where;
  std::int64_t bytes = 0;
};

/// A coordinator refuses nothing below this, and takes it in well under the time limit of a post.
inline constexpr std::size_t max_post_entries = 2048;
/// What is kept of posts that failed, in entries; a batch without any counts as one.
inline constexpr std::size_t max_spool_entries = 16'384;
inline constexpr duration first_backoff = std::chrono::milliseconds{500};
inline constexpr duration longest_backoff = std::chrono::seconds{30};

/// The events of one node on their way to a coordinator: numbered, in order, and kept until they are delivered or there
/// are too many. A plain value: time comes in as an argument, and posts are made by somebody else, one at a time.
class event_stream {
public:
  event_stream(std::string instance_id, std::int64_t incarnation);

  /// Changes in the order in which they happened. They leave with the next `flush`.
  void record(const changes& happened);

  /// The capacities as they are now. Replaces a declaration that was not flushed yet; leaves with the next `flush`,
  /// before the changes.
  void declare(std::vector<capacity> capacities);

  /// Makes numbered batches of what was recorded since the last time. `wall_clock` is in seconds since the epoch.
  void flush(double wall_clock);

  struct post {
    std::uint64_t id = 0;
    std::string body; ///< Of `POST /events`.
  };

  /// The post to make now, if there is one and none is under way; `on_result` must follow it.
  std::optional<post> next(time_point now);

  enum class delivery : std::uint8_t {
    done,
    failed,  ///< It may succeed later.
    refused, ///< It never will: what it carried is lost.
  };
  /// Ignores what it did not ask for, or asked for before a restart.
  void on_result(std::uint64_t post_id, delivery outcome, time_point now);

  /// When `next` will have something if nothing else happens; never while a post is under way or nothing is left.
  std::optional<time_point> wake() const noexcept;

  /// A post waits for its `on_result`.
  bool is_under_way() const noexcept { return under_way_ > 0; }

  /// Everything recorded was delivered or lost.
  bool empty() const noexcept { return recorded_.empty() && !declared_ && spool_.empty(); }

  /// The process starts anew: what was not delivered is lost without a trace, and numbers start at 1 again.
  /// `incarnation` is greater than the last one.
  void restart(std::int64_t incarnation);

  std::int64_t incarnation() const noexcept { return incarnation_; }
  /// Entries that were lost in this incarnation.
  std::uint64_t dropped_events() const noexcept { return dropped_; }
  /// Batches numbered so far in this incarnation.
  std::int64_t batches() const noexcept { return last_seq_; }

private:
  schema::cache_event_batch batch_of(schema::cache_event_type type, const compartment& where) const;
  void enqueue(schema::cache_event_batch batch, double wall_clock);
  std::size_t remove(std::size_t first, std::size_t count);
  void trim();

  std::string instance_id_;
  std::int64_t incarnation_;
  std::int64_t last_seq_ = 0;
  std::int64_t revision_ = 0; ///< Of the last declaration that was flushed.
  std::uint64_t dropped_ = 0;

  std::vector<schema::cache_event_batch> recorded_; ///< Without numbers.
  std::optional<std::vector<capacity>> declared_;

  std::deque<schema::cache_event_batch> spool_;
  std::size_t spooled_entries_ = 0;
  std::size_t under_way_ = 0; ///< So many batches at the front of the spool.
  std::uint64_t post_id_ = 0; ///< Of the post under way, or of the last one.
  std::size_t failures_ = 0;  ///< In a row.
  time_point not_before_{};
};

} // namespace mp_server
