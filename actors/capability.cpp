#include "actors/capability.hpp"

#include "schema/number_text.hpp"

#include <fmt/format.h>

#include <chrono>
#include <utility>

namespace coordinator {

capability_setting seconds_setting(std::string name, std::string description, std::string default_value, double least,
                                   double most) {
  return {std::move(name), std::move(description), std::move(default_value),
          [least, most](const std::string& text) -> std::optional<std::string> {
            const auto value = schema::number_in(text);
            if (value && *value >= least && *value <= most)
              return std::nullopt;
            return fmt::format("must be a number of seconds from {} to {}", least, most);
          }};
}

duration configuration::seconds(std::string_view name) const {
  return std::chrono::round<duration>(std::chrono::duration<double>{schema::number_in(text(name)).value_or(0)});
}

} // namespace coordinator
