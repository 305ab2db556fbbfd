#pragma once

#include <optional>
#include <string_view>

namespace coordinator::schema {

// Numbers that are given as text: on a command line, in a header, in a query. All of the text has to be the number, in
// decimal, and without blanks or a plus sign.

/// Empty also for NaN, the infinities, and what is too large or too small for a double.
std::optional<double> number_in(std::string_view text) noexcept;

/// A number from `least` to `most`. For the unsigned and signed types of 16, 32 and 64 bits.
template <class Int>
std::optional<Int> whole_number_in(std::string_view text, Int least, Int most) noexcept;

} // namespace coordinator::schema
