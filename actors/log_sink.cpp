#include "actors/log_sink.hpp"

#include "actors/log.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>

namespace coordinator {

namespace {

/// How long a waiting writer may take to notice `stop_waiting`.
constexpr int wait_milliseconds = 50;

} // namespace

log_sink::log_sink(int descriptor) : descriptor_(descriptor) {}

log_sink::int_type log_sink::overflow(int_type character) {
  if (!traits_type::eq_int_type(character, traits_type::eof()))
    line_.push_back(traits_type::to_char_type(character));
  return traits_type::not_eof(character);
}

std::streamsize log_sink::xsputn(const char* text, std::streamsize size) {
  line_.append(text, static_cast<std::size_t>(size));
  return size;
}

int log_sink::sync() {
  if (!line_.starts_with(mark)) {
    line_.clear();
    return 0;
  }
  line_.erase(0, mark.size());
  const auto lost = lost_.exchange(0, std::memory_order_relaxed);
  bool written = true;
  if (lost > 0)
    written = write_line(log::render(log::level::warning, {"log", 0}, "log.lost", std::array{log::field{"lines", lost}})
                         + '\n');
  if (!written)
    lost_.fetch_add(lost, std::memory_order_relaxed);
  if (!written || !write_line(line_))
    count_lost();
  line_.clear();
  lines_.fetch_add(1, std::memory_order_release);
  if (after_line_)
    after_line_();
  return 0; // a stream that went bad would never write again
}

bool log_sink::write_line(const std::string& line) {
  std::string mended;
  if (torn_)
    mended = '\n' + line;
  const std::string& text = torn_ ? mended : line;
  std::size_t done = 0;
  while (done < text.size()) {
    if (!wait_writable())
      break;
    // A pipe that polls writable takes this much without blocking, even when its descriptor is in blocking mode.
    const auto chunk = std::min<std::size_t>(text.size() - done, PIPE_BUF);
    const auto n = ::write(descriptor_, text.data() + done, chunk);
    if (n > 0)
      done += static_cast<std::size_t>(n);
    else if (n < 0 && errno != EINTR && errno != EAGAIN)
      break;
  }
  if (done > 0)
    torn_ = done < text.size();
  return done == text.size();
}

bool log_sink::wait_writable() const {
  while (true) {
    pollfd waited{descriptor_, POLLOUT, 0};
    const bool last_try = stopping_.load(std::memory_order_relaxed);
    const int ready = ::poll(&waited, 1, last_try ? 0 : wait_milliseconds);
    if (ready > 0)
      return true; // also on an error condition: write() then tells which
    if (last_try || (ready < 0 && errno != EINTR))
      return false;
  }
}

} // namespace coordinator
