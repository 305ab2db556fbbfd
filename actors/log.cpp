#include "actors/log.hpp"

#include "actors/log_sink.hpp"

#include <caf/actor_system.hpp>
#include <caf/atom.hpp>
#include <caf/local_actor.hpp>
#include <caf/logger.hpp>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <deque>
#include <iterator>
#include <memory>
#include <mutex>
#include <thread>

namespace coordinator::log {

namespace {

constexpr std::array<std::string_view, 5> level_names{"error", "warning", "info", "debug", "trace"};
/// Below CAF's queue size, so that its blocking push never has to wait.
constexpr std::uint64_t max_queued_lines = 100;
/// What CAF numbers its levels by (`caf::logger` knows no names for them in this build).
constexpr std::array<unsigned, 5> caf_levels{3, 6, 9, 12, 15};
constexpr std::uint8_t closed = 0;
/// Start and stop, the port and the settings: what every log needs to be understood.
constexpr std::string_view always_shown = "service";

struct waiting_line {
  level severity;
  std::uint64_t id;
  std::string text;
};

struct front {
  std::mutex mutex; ///< Orders pushes with `close`, and makes "room left?" and "push" one step.
  caf::actor_system* system = nullptr;
  log_sink* sink = nullptr;
  std::uint64_t pushed = 0;
  std::uint64_t rendered_before = 0; ///< Lines that the sink had seen when the front was opened.
  std::deque<waiting_line> waiting;  ///< Newer than all that CAF's queue holds.
  std::size_t waiting_bytes = 0;
  std::vector<std::string> components;
  /// 0 when closed, else the threshold + 1: the whole filter in one load for lines that are off.
  std::atomic<std::uint8_t> open_level = closed;
  std::atomic<bool> filters_components = false;
};

front& the_front() {
  static front instance;
  return instance;
}

/// Lines in CAF's queue, the one being written included. With the mutex held.
std::uint64_t queued(const front& front) {
  return front.pushed - (front.sink->lines() - front.rendered_before);
}

/// With the mutex held, and room in CAF's queue.
void push(front& front, waiting_line line) {
  ++front.pushed;
  front.system->logger().log({caf_levels[static_cast<std::size_t>(line.severity)], 0, caf::atom("mpc"), "", "", "",
                              std::move(line.text), std::this_thread::get_id(), line.id, caf::make_timestamp()});
}

/// Hands on what waits, as far as there is room.
void refill() {
  auto& front = the_front();
  std::lock_guard guard{front.mutex};
  while (front.system != nullptr && !front.waiting.empty() && queued(front) < max_queued_lines) {
    front.waiting_bytes -= front.waiting.front().text.size();
    push(front, std::move(front.waiting.front()));
    front.waiting.pop_front();
  }
}

bool needs_quotes(std::string_view text) noexcept {
  return text.empty() || std::ranges::any_of(text, [](char c) {
           const auto byte = static_cast<unsigned char>(c);
           return byte <= ' ' || byte == '"' || byte == '=' || byte == '\\' || byte == 0x7f;
         });
}

void append_quoted(std::string& out, std::string_view text) {
  out += '"';
  for (char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (byte < 0x20 || byte == 0x7f) {
      fmt::format_to(std::back_inserter(out), "\\u{:04x}", byte);
    } else {
      out += c;
    }
  }
  out += '"';
}

} // namespace

std::string_view to_string(level value) noexcept {
  return level_names[static_cast<std::size_t>(value)];
}

std::optional<level> parse_level(std::string_view text) noexcept {
  const auto found = std::ranges::find(level_names, text);
  if (found == level_names.end())
    return std::nullopt;
  return static_cast<level>(found - level_names.begin());
}

source of(const caf::local_actor* self) noexcept {
  return {self->name(), self->id()};
}

void field::append_to(std::string& out) const {
  out += ' ';
  out += key_;
  out += '=';
  if (auto* text = std::get_if<std::string_view>(&value_)) {
    if (needs_quotes(*text))
      append_quoted(out, *text);
    else
      out += *text;
  } else if (auto* number = std::get_if<std::int64_t>(&value_)) {
    fmt::format_to(std::back_inserter(out), "{}", *number);
  } else {
    const auto nanoseconds = std::get<std::chrono::nanoseconds>(value_).count();
    fmt::format_to(std::back_inserter(out), "{:.3f}s", static_cast<double>(nanoseconds) / 1e9);
  }
}

std::string render(level severity, source who, std::string_view event, std::span<const field> fields) {
  const auto now = std::chrono::time_point_cast<std::chrono::milliseconds>(std::chrono::system_clock::now());
  std::string line =
      fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z {} {}", fmt::gmtime(std::chrono::system_clock::to_time_t(now)),
                  now.time_since_epoch().count() % 1000, to_string(severity), who.name);
  if (who.id != 0)
    fmt::format_to(std::back_inserter(line), "#{}", who.id);
  line += ' ';
  line += event;
  for (const auto& field : fields)
    field.append_to(line);
  return line;
}

bool enabled(level severity, std::string_view component) noexcept {
  auto& front = the_front();
  if (static_cast<std::uint8_t>(severity) >= front.open_level.load(std::memory_order_relaxed))
    return false;
  if (severity <= level::warning || component == always_shown
      || !front.filters_components.load(std::memory_order_relaxed))
    return true;
  std::lock_guard guard{front.mutex};
  return std::ranges::find(front.components, component) != front.components.end();
}

void write(level severity, source who, std::string_view event, std::span<const field> fields) {
  if (!enabled(severity, who.name))
    return;
  auto line = render(severity, who, event, fields);
  auto& front = the_front();
  std::lock_guard guard{front.mutex};
  if (front.system == nullptr)
    return;
  waiting_line made{severity, who.id, std::move(line)};
  if (front.waiting.empty() && queued(front) < max_queued_lines) {
    push(front, std::move(made));
  } else if (front.waiting_bytes + made.text.size() <= max_waiting_bytes) {
    front.waiting_bytes += made.text.size();
    front.waiting.push_back(std::move(made)); // there are lines on their way, whose end calls `refill`
  } else {
    front.sink->count_lost();
  }
}

void open(caf::actor_system& system, log_sink& sink, options chosen) {
  auto& front = the_front();
  std::lock_guard guard{front.mutex};
  front.system = &system;
  front.sink = &sink;
  front.pushed = 0;
  front.rendered_before = sink.lines();
  sink.after_line(refill);
  front.components = std::move(chosen.components);
  front.filters_components = !front.components.empty();
  front.open_level = static_cast<std::uint8_t>(static_cast<std::uint8_t>(chosen.threshold) + 1);
}

void flush(std::chrono::nanoseconds patience) noexcept {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  auto& front = the_front();
  while (std::chrono::steady_clock::now() < deadline) {
    {
      std::lock_guard guard{front.mutex};
      if (front.system == nullptr || (front.waiting.empty() && queued(front) == 0))
        return;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds{1});
  }
}

void close() noexcept {
  auto& front = the_front();
  std::lock_guard guard{front.mutex};
  front.waiting.clear();
  front.waiting_bytes = 0;
  front.open_level = closed;
  front.system = nullptr;
  front.sink = nullptr;
}

} // namespace coordinator::log
