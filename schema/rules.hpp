#pragma once

#include "schema/json.hpp"
#include "schema/json_text.hpp"
#include "schema/violation_report.hpp"

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace coordinator::schema {

// A rule says how one kind of value is read, written and described. It has
//   read(value, target, report)  sets `target`, or adds to the report why it can't (then `target` is unspecified);
//   write(out, value)            appends JSON text;
//   describe(out)                writes its JSON Schema keywords into an object that is already open;
// and, if values may be left out of what is written, `omits(value)`. The rules for values that hold other values are in
// declaration.hpp. Leniency follows pydantic's lax mode: what a Python client may send, it may send here.

/// A string; no other type of value is taken for one.
struct text_rule {
  bool strip = false;         ///< Surrounding white space is dropped before anything else is looked at.
  std::size_t min_length = 0; ///< In characters.
  std::size_t max_bytes = std::numeric_limits<std::size_t>::max();
  /// What is wrong with a text, as a sentence without a full stop; empty when nothing is.
  std::optional<std::string> (*problem)(std::string_view text) = nullptr;
  /// The part of a good text that is kept.
  std::string_view (*kept)(std::string_view text) noexcept = nullptr;

  void read(const json_value& value, std::string& target, violation_report& report) const;
  void write(std::string& out, std::string_view value) const { append_quoted(out, value); }
  void describe(json_writer& out) const;
};

/// The bounds of an integer, both included.
struct integer_range {
  std::int64_t min;
  std::uint64_t max;

  void describe(json_writer& out) const;
};

/// The integer in `value`, in two's complement when negative; empty when a violation was reported instead.
///
/// Taken for integers are numbers without a fraction, booleans, and strings of decimal digits with, optionally,
/// surrounding white space, a sign, single underscores between digits and a fraction of zeros. Nothing ever wraps: what
/// does not fit in 64 bits is out of range like any other number.
std::optional<std::uint64_t> read_integer(const json_value& value, const integer_range& range,
                                          violation_report& report);

template <std::integral Int>
struct integer_rule {
  Int min = std::numeric_limits<Int>::min();
  Int max = std::numeric_limits<Int>::max();

  constexpr integer_range range() const { return {static_cast<std::int64_t>(min), static_cast<std::uint64_t>(max)}; }
  void read(const json_value& value, Int& target, violation_report& report) const {
    if (const auto bits = read_integer(value, range(), report))
      target = static_cast<Int>(*bits);
  }
  void write(std::string& out, Int value) const { append_number(out, value); }
  void describe(json_writer& out) const { range().describe(out); }
};

/// A finite number; also a boolean or a string that holds a number.
struct number_rule {
  double min = std::numeric_limits<double>::lowest();
  double max = std::numeric_limits<double>::max();

  void read(const json_value& value, double& target, violation_report& report) const;
  void write(std::string& out, double value) const { append_number(out, value); }
  void describe(json_writer& out) const;
};

/// A boolean; also 0, 1 and the strings true/false, yes/no, on/off, t/f, y/n, 1/0 in upper or lower case.
struct boolean_rule {
  void read(const json_value& value, bool& target, violation_report& report) const;
  void write(std::string& out, bool value) const { append_boolean(out, value); }
  void describe(json_writer& out) const;
};

/// Which of `names` the value is; empty when a violation was reported instead.
std::optional<std::size_t> read_choice(const json_value& value, std::span<const std::string_view> names,
                                       violation_report& report);
void describe_choice(json_writer& out, std::span<const std::string_view> names);

/// An enumeration whose values have names on the wire. All values must be listed.
template <class Enum, std::size_t Count>
struct choice_rule {
  std::array<Enum, Count> values;
  std::array<std::string_view, Count> names;

  void read(const json_value& value, Enum& target, violation_report& report) const {
    if (const auto index = read_choice(value, names, report))
      target = values[*index];
  }
  void write(std::string& out, Enum value) const {
    for (std::size_t i = 0; i < Count; ++i)
      if (values[i] == value)
        return append_quoted(out, names[i]);
    append_quoted(out, "");
  }
  void describe(json_writer& out) const { describe_choice(out, names); }
};

template <class Enum, class... Names>
constexpr auto choice(std::pair<Enum, Names>... listed) {
  return choice_rule<Enum, sizeof...(listed)>{{listed.first...}, {std::string_view{listed.second}...}};
}

/// An object whose members are all strings, kept in the order in which they were sent.
struct string_map_rule {
  using map = std::vector<std::pair<std::string, std::string>>;

  std::size_t max_entries = std::numeric_limits<std::size_t>::max();
  std::size_t max_bytes = std::numeric_limits<std::size_t>::max(); ///< Of all names and values together.

  void read(const json_value& value, map& target, violation_report& report) const;
  void write(std::string& out, const map& value) const;
  void describe(json_writer& out) const;
};

} // namespace coordinator::schema
