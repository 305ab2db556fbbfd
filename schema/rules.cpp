#include "schema/rules.hpp"

#include "schema/identifier.hpp"
#include "schema/utf8.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <system_error>

namespace coordinator::schema {

namespace {

constexpr std::size_t unlimited = std::numeric_limits<std::size_t>::max();

bool is_digit(char c) noexcept {
  return c >= '0' && c <= '9';
}

char lower_case(char c) noexcept {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

template <class Number>
std::string bound_context(std::string_view name, Number bound) {
  std::string ctx = R"({")";
  ctx.append(name).append("\":");
  append_number(ctx, bound);
  ctx.push_back('}');
  return ctx;
}

/// As in messages, where a whole number has no fraction.
std::string spelled(double value) {
  std::string text;
  append_number(text, value);
  if (text.ends_with(".0"))
    text.resize(text.size() - 2);
  return text;
}

std::string spelled(std::integral auto value) {
  return std::to_string(value);
}

template <class Number>
void add_too_small(violation_report& report, const json_value& value, Number bound) {
  report.add("greater_than_equal", "Input should be greater than or equal to " + spelled(bound), value,
             bound_context("ge", bound));
}

template <class Number>
void add_too_large(violation_report& report, const json_value& value, Number bound) {
  report.add("less_than_equal", "Input should be less than or equal to " + spelled(bound), value,
             bound_context("le", bound));
}

// -- integers ---------------------------------------------------------------

/// An integer of any size, as far as that matters when its range is at most 64 bits wide.
struct whole_number {
  enum class size { below_64_bits, fits, above_64_bits };
  size magnitude = size::fits;
  bool negative = false;
  std::uint64_t bits = 0; ///< Two's complement when negative.

  static whole_number too_low() { return {size::below_64_bits, true, 0}; }
  static whole_number too_high() { return {size::above_64_bits, false, 0}; }
  static whole_number of(std::uint64_t value) { return {size::fits, false, value}; }
  static whole_number of(std::int64_t value) { return {size::fits, value < 0, static_cast<std::uint64_t>(value)}; }

  bool is_below(std::int64_t bound) const noexcept {
    if (magnitude != size::fits)
      return magnitude == size::below_64_bits;
    return negative ? static_cast<std::int64_t>(bits) < bound : bound > 0 && bits < static_cast<std::uint64_t>(bound);
  }
  bool is_above(std::uint64_t bound) const noexcept {
    if (magnitude != size::fits)
      return magnitude == size::above_64_bits;
    return !negative && bits > bound;
  }
};

/// `value` must be finite and without a fraction.
whole_number whole(double value) {
  if (value >= 0x1p64)
    return whole_number::too_high();
  // -2^63 itself would fit, but is also what longer integers below it have been rounded to.
  if (value <= -0x1p63)
    return whole_number::too_low();
  return value < 0 ? whole_number::of(static_cast<std::int64_t>(value))
                   : whole_number::of(static_cast<std::uint64_t>(value));
}

/// `text` without underscores; empty when one is not between two digits, or when there is nothing but blanks.
std::string without_separators(std::string_view text) {
  text = stripped(text);
  std::string plain;
  plain.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '_')
      plain.push_back(text[i]);
    else if (i == 0 || i + 1 == text.size() || !is_digit(text[i - 1]) || !is_digit(text[i + 1]))
      return {};
  }
  return plain;
}

/// Cuts `.000` off; what is left when the fraction is of any other form is no integer.
std::string_view without_zero_fraction(std::string_view text) {
  const auto point = text.find('.');
  if (point == std::string_view::npos)
    return text;
  const auto fraction = text.substr(point + 1);
  return !fraction.empty() && fraction.find_first_not_of('0') == std::string_view::npos ? text.substr(0, point) : text;
}

std::optional<whole_number> whole(std::string_view text) {
  const auto plain = without_separators(text);
  auto digits = without_zero_fraction(plain);
  const bool negative = digits.starts_with('-');
  if (negative || digits.starts_with('+'))
    digits.remove_prefix(1);
  if (digits.empty() || !std::all_of(digits.begin(), digits.end(), is_digit))
    return std::nullopt;
  std::uint64_t magnitude = 0;
  const bool fits = std::from_chars(digits.data(), digits.data() + digits.size(), magnitude).ec == std::errc{};
  if (!negative)
    return fits ? whole_number::of(magnitude) : whole_number::too_high();
  constexpr std::uint64_t lowest_magnitude = std::uint64_t{1} << 63U;
  if (!fits || magnitude > lowest_magnitude)
    return whole_number::too_low();
  return whole_number::of(static_cast<std::int64_t>(std::uint64_t{0} - magnitude));
}

std::optional<whole_number> whole(const json_value& value, violation_report& report) {
  if (value.IsUint64())
    return whole_number::of(std::uint64_t{value.GetUint64()});
  if (value.IsInt64())
    return whole_number::of(std::int64_t{value.GetInt64()});
  if (value.IsBool())
    return whole_number::of(std::uint64_t{value.GetBool()});
  if (value.IsDouble()) {
    if (std::trunc(value.GetDouble()) == value.GetDouble())
      return whole(value.GetDouble());
    report.add("int_from_float", "Input should be a valid integer, got a number with a fractional part", value);
    return std::nullopt;
  }
  if (value.IsString()) {
    const auto number = whole(text_of(value));
    if (!number)
      report.add("int_parsing", "Input should be a valid integer, unable to parse string as an integer", value);
    return number;
  }
  report.add("int_type", "Input should be a valid integer", value);
  return std::nullopt;
}

// -- other numbers ----------------------------------------------------------

/// The number that a whole string holds; may be NaN or infinite.
std::optional<double> number_in(std::string_view text) {
  const auto plain = without_separators(text);
  std::string_view rest = plain;
  if (rest.starts_with('+') && !rest.starts_with("+-"))
    rest.remove_prefix(1);
  double number = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
  if (error != std::errc{} || end != rest.data() + rest.size())
    return std::nullopt;
  return number;
}

std::optional<double> read_number(const json_value& value, violation_report& report) {
  if (value.IsNumber())
    return value.GetDouble();
  if (value.IsBool())
    return value.GetBool() ? 1 : 0;
  if (!value.IsString()) {
    report.add("float_type", "Input should be a valid number", value);
    return std::nullopt;
  }
  const auto number = number_in(text_of(value));
  if (!number) {
    report.add("float_parsing", "Input should be a valid number, unable to parse string as a number", value);
    return std::nullopt;
  }
  if (!std::isfinite(*number)) {
    report.add("finite_number", "Input should be a finite number", value);
    return std::nullopt;
  }
  return number;
}

// -- choices ----------------------------------------------------------------

/// `'a', 'b' or 'c'`
std::string enumerated(std::span<const std::string_view> names) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0)
      text.append(i + 1 == names.size() ? " or " : ", ");
    text.append("'").append(names[i]).append("'");
  }
  return text;
}

} // namespace

// -- text_rule --------------------------------------------------------------

void text_rule::read(const json_value& value, std::string& target, violation_report& report) const {
  if (!value.IsString())
    return report.add("string_type", "Input should be a valid string", value);
  const auto text = strip ? stripped(text_of(value)) : text_of(value);
  if (min_length > 0 && utf8_length(text) < min_length)
    return report.add("string_too_short",
                      "String should have at least " + std::to_string(min_length)
                          + (min_length == 1 ? " character" : " characters"),
                      value, bound_context("min_length", min_length));
  if (text.size() > max_bytes)
    return report.add("string_too_long", "String should have at most " + std::to_string(max_bytes) + " bytes", value,
                      bound_context("max_length", max_bytes));
  if (problem != nullptr)
    if (const auto found = problem(text))
      return report.add_value_error(*found, value);
  target = kept != nullptr ? kept(text) : text;
}

void text_rule::describe(json_writer& out) const {
  write_key(out, "type");
  write_string(out, "string");
  if (min_length > 0) {
    write_key(out, "minLength");
    out.Uint64(min_length);
  }
  if (max_bytes != unlimited) {
    write_key(out, "maxLength");
    out.Uint64(max_bytes);
  }
}

// -- integer_rule -----------------------------------------------------------

std::optional<std::uint64_t> read_integer(const json_value& value, const integer_range& range,
                                          violation_report& report) {
  const auto number = whole(value, report);
  if (!number)
    return std::nullopt;
  if (number->is_below(range.min)) {
    add_too_small(report, value, range.min);
    return std::nullopt;
  }
  if (number->is_above(range.max)) {
    add_too_large(report, value, range.max);
    return std::nullopt;
  }
  return number->bits;
}

void integer_range::describe(json_writer& out) const {
  write_key(out, "type");
  write_string(out, "integer");
  write_key(out, "minimum");
  out.Int64(min);
  write_key(out, "maximum");
  out.Uint64(max);
}

// -- number_rule ------------------------------------------------------------

void number_rule::read(const json_value& value, double& target, violation_report& report) const {
  const auto number = read_number(value, report);
  if (!number)
    return;
  if (*number < min)
    return add_too_small(report, value, min);
  if (*number > max)
    return add_too_large(report, value, max);
  target = *number;
}

void number_rule::describe(json_writer& out) const {
  write_key(out, "type");
  write_string(out, "number");
  const auto bound = [&out](std::string_view name, double value) {
    write_key(out, name);
    std::string text;
    append_number(text, value);
    write_json(out, text);
  };
  if (min != std::numeric_limits<double>::lowest())
    bound("minimum", min);
  if (max != std::numeric_limits<double>::max())
    bound("maximum", max);
}

// -- boolean_rule -----------------------------------------------------------

void boolean_rule::read(const json_value& value, bool& target, violation_report& report) const {
  if (value.IsBool()) {
    target = value.GetBool();
    return;
  }
  if (value.IsString()) {
    std::string word{text_of(value).substr(0, sizeof "false")};
    std::transform(word.begin(), word.end(), word.begin(), lower_case);
    for (const std::string_view yes : {"true", "yes", "on", "t", "y", "1"})
      if (word == yes) {
        target = true;
        return;
      }
    for (const std::string_view no : {"false", "no", "off", "f", "n", "0"})
      if (word == no) {
        target = false;
        return;
      }
  } else if (value.IsNumber()) {
    const double number = value.GetDouble();
    if (number == 0 || number == 1) {
      target = number == 1;
      return;
    }
  }
  if (value.IsString() || value.IsInt64())
    report.add("bool_parsing", "Input should be a valid boolean, unable to interpret input", value);
  else
    report.add("bool_type", "Input should be a valid boolean", value);
}

void boolean_rule::describe(json_writer& out) const {
  write_key(out, "type");
  write_string(out, "boolean");
}

// -- choice_rule ------------------------------------------------------------

std::optional<std::size_t> read_choice(const json_value& value, std::span<const std::string_view> names,
                                       violation_report& report) {
  if (value.IsString())
    if (const auto found = std::find(names.begin(), names.end(), text_of(value)); found != names.end())
      return static_cast<std::size_t>(found - names.begin());
  const auto expected = enumerated(names);
  std::string ctx = R"({"expected":)";
  append_quoted(ctx, expected);
  ctx.push_back('}');
  report.add("enum", "Input should be " + expected, value, std::move(ctx));
  return std::nullopt;
}

void describe_choice(json_writer& out, std::span<const std::string_view> names) {
  write_key(out, "type");
  write_string(out, "string");
  write_key(out, "enum");
  out.StartArray();
  for (const auto name : names)
    write_string(out, name);
  out.EndArray();
}

// -- string_map_rule --------------------------------------------------------

void string_map_rule::read(const json_value& value, map& target, violation_report& report) const {
  if (!value.IsObject())
    return report.add("dict_type", "Input should be a valid dictionary", value);
  // The values are not looked at then: one answer is clearer than thousands.
  if (const std::size_t count = value.MemberCount(); count > max_entries)
    return report.add("too_long",
                      "Dictionary should have at most " + std::to_string(max_entries) + " items after validation, not "
                          + std::to_string(count),
                      value,
                      R"({"field_type":"Dictionary","max_length":)" + std::to_string(max_entries)
                          + R"(,"actual_length":)" + std::to_string(count) + "}");
  target.clear();
  target.reserve(value.MemberCount());
  std::size_t bytes = 0;
  const auto violations_before = report.count();
  for (auto member = value.MemberBegin(); member != value.MemberEnd(); ++member) {
    const auto name = text_of(member->name);
    const auto here = report.inside(name);
    if (!member->value.IsString()) {
      report.add("string_type", "Input should be a valid string", member->value);
      continue;
    }
    const auto text = text_of(member->value);
    bytes += name.size() + text.size();
    if (bytes <= max_bytes)
      target.emplace_back(name, text);
  }
  if (report.count() == violations_before && bytes > max_bytes)
    report.add_value_error("names and values have " + std::to_string(bytes) + " bytes together, at most "
                               + std::to_string(max_bytes) + " are allowed",
                           value);
}

void string_map_rule::write(std::string& out, const map& value) const {
  char separator = '{';
  for (const auto& [name, text] : value) {
    out.push_back(std::exchange(separator, ','));
    append_quoted(out, name);
    out.push_back(':');
    append_quoted(out, text);
  }
  out.append(separator == '{' ? "{}" : "}");
}

void string_map_rule::describe(json_writer& out) const {
  write_key(out, "type");
  write_string(out, "object");
  write_key(out, "additionalProperties");
  out.StartObject();
  text_rule{}.describe(out);
  out.EndObject();
  if (max_entries != unlimited) {
    write_key(out, "maxProperties");
    out.Uint64(max_entries);
  }
}

} // namespace coordinator::schema
