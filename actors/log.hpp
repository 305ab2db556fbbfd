#pragma once

#include <caf/fwd.hpp>

#include <chrono>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace coordinator {
class log_sink;
}

/// The service's log: lines of time, level, actor and key=value fields, written by CAF's logger.
///
/// CAF's own macros compile to nothing in the packaged build, and its logger blocks the caller once 128 events wait. So
/// this front builds the events itself, filters them by level and component before any text is made, keeps a burst back
/// until the logger has room for it, and drops and counts what is more than `max_waiting_bytes`. All functions may be
/// called from any thread and none waits, but for `flush`.
namespace coordinator::log {

enum class level : std::uint8_t { error, warning, info, debug, trace };

std::string_view to_string(level value) noexcept;
std::optional<level> parse_level(std::string_view text) noexcept;

/// Who logs: an actor, or another part of the service with id 0.
struct source {
  std::string_view name;
  std::uint64_t id = 0;
};

source of(const caf::local_actor* self) noexcept;

/// A key and its value, rendered only when the line is.
class field {
public:
  field(std::string_view key, std::string_view value) : key_(key), value_(value) {}
  field(std::string_view key, const char* value) : key_(key), value_(std::string_view{value}) {}
  field(std::string_view key, const std::string& value) : key_(key), value_(std::string_view{value}) {}
  field(std::string_view key, bool value) : key_(key), value_(std::string_view{value ? "true" : "false"}) {}
  template <std::integral T>
  field(std::string_view key, T value) : key_(key), value_(static_cast<std::int64_t>(value)) {}
  /// In seconds, to the millisecond.
  field(std::string_view key, std::chrono::nanoseconds value) : key_(key), value_(value) {}

  void append_to(std::string& out) const;

private:
  std::string_view key_;
  std::variant<std::string_view, std::int64_t, std::chrono::nanoseconds> value_;
};

/// Whether a line of that level by that component would be written. One relaxed load when it would not.
bool enabled(level severity, std::string_view component) noexcept;

/// `event` is a stable name such as `registry.join`: something to search for that survives a change of wording.
void write(level severity, source who, std::string_view event, std::span<const field> fields);

inline void write(level severity, source who, std::string_view event, std::initializer_list<field> fields = {}) {
  write(severity, who, event, std::span{fields.begin(), fields.size()});
}

/// One line without its line end. Values with blanks, quotes or control characters are quoted as JSON strings, so a
/// hostile id can't forge a line.
std::string render(level severity, source who, std::string_view event, std::span<const field> fields);

struct options {
  level threshold = level::info;
  /// Below warning, only lines of these components, and those of the service itself. Empty: all.
  std::vector<std::string> components;
};

/// Starts writing through the logger of `system`, whose output `sink` receives (see actors/system.hpp). Both must
/// outlive the matching `close`.
void open(caf::actor_system& system, log_sink& sink, options chosen);

/// Waits until everything written so far is out, or for `patience`.
void flush(std::chrono::nanoseconds patience) noexcept;

/// Lines written from now on, and those still waiting, are lost.
void close() noexcept;

/// A sweep that evicts a large fleet at once writes about 130 bytes an instance; this is room for 100,000 of them.
inline constexpr std::size_t max_waiting_bytes = std::size_t{16} << 20;

} // namespace coordinator::log
