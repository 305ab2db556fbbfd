#pragma once

#include "apps/fleet/figures.hpp"
#include "apps/fleet/options.hpp"

#include <cstddef>
#include <string>

namespace coordinator::fleet {

/// The simulation as a person wants to watch it. Remembers what it was shown last, for rates.
class live_view {
public:
  explicit live_view(const options& asked) : asked_{asked} {}

  /// A few lines for a terminal, which replace those of the last call.
  std::string screen(const figures& current, duration length);
  /// One line, for a log.
  std::string line(const figures& current, duration length);

private:
  double rate(const figures& current);

  const options& asked_;
  std::size_t drawn_lines_ = 0;
  duration last_elapsed_{};
  std::uint64_t last_answered_ = 0;
};

} // namespace coordinator::fleet
