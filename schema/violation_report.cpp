#include "schema/violation_report.hpp"

#include "schema/utf8.hpp"

#include <utility>

namespace coordinator::schema {

namespace {

std::string bounded_name(std::string_view name) {
  if (name.size() <= max_location_name)
    return std::string{name};
  return std::string{utf8_prefix(name, max_location_name)}.append(ellipsis);
}

std::vector<location_step> location_of(const std::vector<std::variant<std::string_view, std::size_t>>& path) {
  std::vector<location_step> location;
  location.reserve(path.size());
  for (const auto& step : path) {
    if (const auto* name = std::get_if<std::string_view>(&step))
      location.emplace_back(bounded_name(*name));
    else
      location.emplace_back(std::get<std::size_t>(step));
  }
  return location;
}

} // namespace

void violation_report::add(std::string_view type, std::string msg, const json_value& input, std::string ctx) {
  ++count_;
  if (listed_.size() < max_listed_violations)
    listed_.push_back({std::string{type}, location_of(path_), std::move(msg), echo(input), std::move(ctx)});
}

void violation_report::add_value_error(std::string_view text, const json_value& input) {
  add("value_error", std::string{"Value error, "}.append(text), input, R"({"error":{}})");
}

violations violation_report::take() {
  if (count_ > listed_.size()) {
    const auto total = std::to_string(count_);
    const auto listed = std::to_string(listed_.size());
    listed_.push_back({"too_many_violations",
                       {location_of({path_.front()})},
                       total + " violations in all, of which the first " + listed + " are listed",
                       "null",
                       R"({"total":)" + total + R"(,"listed":)" + listed + "}"});
  }
  return std::exchange(listed_, {});
}

} // namespace coordinator::schema
