#include "apps/mp_server/fault_plan.hpp"

#include <algorithm>

namespace mp_server {

std::optional<fault> fault_plan::next(std::string_view method, std::string_view target) {
  const auto found = std::ranges::find_if(faults_, [&](const fault& each) {
    return each.times.value_or(1) > 0 && (each.method.empty() || each.method == method)
           && target.starts_with(each.path);
  });
  if (found == faults_.end())
    return std::nullopt;
  if (found->times)
    --*found->times;
  return *found;
}

} // namespace mp_server
