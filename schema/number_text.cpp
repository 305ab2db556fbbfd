#include "schema/number_text.hpp"

#include <charconv>
#include <cmath>
#include <cstdint>
#include <system_error>

namespace coordinator::schema {

namespace {

template <class Number>
std::optional<Number> read_all(std::string_view text) noexcept {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size())
    return std::nullopt;
  return value;
}

} // namespace

std::optional<double> number_in(std::string_view text) noexcept {
  const auto value = read_all<double>(text);
  return value && std::isfinite(*value) ? value : std::nullopt;
}

template <class Int>
std::optional<Int> whole_number_in(std::string_view text, Int least, Int most) noexcept {
  const auto value = read_all<Int>(text);
  return value && *value >= least && *value <= most ? value : std::nullopt;
}

template std::optional<std::int16_t> whole_number_in(std::string_view, std::int16_t, std::int16_t) noexcept;
template std::optional<std::int32_t> whole_number_in(std::string_view, std::int32_t, std::int32_t) noexcept;
template std::optional<std::int64_t> whole_number_in(std::string_view, std::int64_t, std::int64_t) noexcept;
template std::optional<std::uint16_t> whole_number_in(std::string_view, std::uint16_t, std::uint16_t) noexcept;
template std::optional<std::uint32_t> whole_number_in(std::string_view, std::uint32_t, std::uint32_t) noexcept;
template std::optional<std::uint64_t> whole_number_in(std::string_view, std::uint64_t, std::uint64_t) noexcept;

} // namespace coordinator::schema
