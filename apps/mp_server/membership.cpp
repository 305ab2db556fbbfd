#include "apps/mp_server/membership.hpp"

#include <caf/send.hpp>

#include <cstdio>
#include <string>
#include <utility>
#include <variant>

namespace mp_server {

fleet_membership::fleet_membership(mp_registrar::options how, node_actor to) : how_(std::move(how)) {
  how_.on_event = [to = std::move(to)](const mp_registrar::event& what) {
    if (what.kind == mp_registrar::event_kind::registered)
      caf::anon_send(to, registered_atom::value, what.coordinator_url);
  };
  how_.log = [](mp_registrar::log_level level, std::string_view line) {
    std::fprintf(stderr, "mp-server: %s%.*s\n", level == mp_registrar::log_level::warning ? "warning: " : "",
                 static_cast<int>(line.size()), line.data());
  };
}

mp_registrar::configuration_problems fleet_membership::start() {
  auto started = mp_registrar::start(how_);
  if (auto* problems = std::get_if<mp_registrar::configuration_problems>(&started))
    return std::move(*problems);
  running_.emplace(std::move(std::get<mp_registrar::registrar>(started)));
  return {};
}

std::optional<std::string> fleet_membership::set_heartbeats(bool enabled) {
  if (enabled == running_.has_value())
    return std::nullopt;
  if (!enabled) {
    running_->abandon();
    running_.reset();
    return std::nullopt;
  }
  // The options were fine before, but there may be no descriptors, no thread or no network by now.
  const auto problems = start();
  if (problems.empty())
    return std::nullopt;
  std::string result = "heartbeats can't go on";
  for (const auto& [field, message] : problems)
    result += ": " + field + (field.empty() ? "" : ": ") + message;
  return result;
}

std::optional<std::string> fleet_membership::register_anew() {
  if (!running_)
    return std::nullopt;
  set_heartbeats(false);
  return set_heartbeats(true);
}

} // namespace mp_server
