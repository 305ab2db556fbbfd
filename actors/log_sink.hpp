#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <streambuf>
#include <string>
#include <string_view>
#include <utility>

namespace coordinator {

/// Where CAF's logger writes its lines to: a stream buffer over a descriptor that gives up lines rather than block.
///
/// CAF's logger thread is the only writer. While the reader of a pipe stalls, that thread waits here, and the front
/// (actors/log.hpp) drops what it can't queue; a line that the descriptor refuses (full disk, closed pipe) is lost.
/// Either way the service goes on, and the number of lost lines is written once a line gets through again.
class log_sink : public std::streambuf {
public:
  /// What our lines start with on their way through CAF's logger (see actors/system.cpp for the format); CAF's own
  /// start and end lines lack it and are left out.
  static constexpr std::string_view mark = "mpc ";

  /// `descriptor` stays owned by the caller and must outlive the sink.
  explicit log_sink(int descriptor);

  /// From now on a line is written only if that is possible at once. Any thread; makes a waiting writer go on.
  void stop_waiting() noexcept { stopping_.store(true, std::memory_order_relaxed); }

  /// Lines that went in so far, written or lost. Any thread.
  std::uint64_t lines() const noexcept { return lines_.load(std::memory_order_acquire); }

  /// Counts a line that was lost before it came here. Any thread.
  void count_lost() noexcept { lost_.fetch_add(1, std::memory_order_relaxed); }

  /// Called on the logger's thread after each line. To be set while no line is on its way.
  void after_line(std::function<void()> action) { after_line_ = std::move(action); }

protected:
  int_type overflow(int_type character) override;
  std::streamsize xsputn(const char* text, std::streamsize size) override;
  int sync() override; ///< CAF's logger flushes once a line.

private:
  bool write_line(const std::string& line);
  bool wait_writable() const;

  int descriptor_;
  std::function<void()> after_line_;
  std::string line_;
  bool torn_ = false; ///< The last line was written in part.
  std::atomic<bool> stopping_ = false;
  std::atomic<std::uint64_t> lines_ = 0;
  std::atomic<std::uint64_t> lost_ = 0;
};

} // namespace coordinator
