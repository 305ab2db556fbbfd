#include "http/registrar/settings.hpp"

#include "http/registrar/configuration.hpp"
#include "schema/address.hpp"
#include "schema/identifier.hpp"
#include "schema/json_text.hpp"
#include "schema/number_text.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>

namespace mp_registrar {

namespace {

namespace schema = coordinator::schema;
using problem = std::optional<std::string>;

problem apply_urls(options& to, std::string_view text) {
  std::vector<std::string> urls;
  while (!text.empty()) {
    const auto end = std::min(text.find(','), text.size());
    if (std::string url{schema::stripped(text.substr(0, end))}; !url.empty()) {
      if (auto wrong = coordinator_url_problem(url))
        return wrong;
      urls.push_back(std::move(url));
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  to.coordinator_urls = std::move(urls);
  return std::nullopt;
}

problem apply_advertise_ip(options& to, std::string_view text) {
  text = schema::stripped(text);
  if (!text.empty())
    if (const auto wrong = schema::address_problem(text))
      return "must be an address that others reach: " + *wrong + ": " + schema::echo(text);
  to.advertise_ip = std::string{text};
  return std::nullopt;
}

problem apply_interval(options& to, std::string_view text) {
  text = schema::stripped(text);
  const auto seconds = schema::number_in(text);
  if (!seconds || heartbeat_interval_problem(std::chrono::duration<double>{*seconds}))
    return "must be a number of seconds from 0.001 to 31622400, not " + schema::echo(text);
  to.heartbeat_interval = std::chrono::round<std::chrono::nanoseconds>(std::chrono::duration<double>{*seconds});
  return std::nullopt;
}

constexpr std::array<setting, 3> all_settings{
    setting{"--coordinator-url", "LMCACHE_COORDINATOR_URL",
            "coordinator to register with; several, separated by commas, in order of preference; empty: none", "",
            apply_urls},
    setting{"--coordinator-advertise-ip", "LMCACHE_COORDINATOR_ADVERTISE_IP",
            "address under which others reach this server; empty: that of the interface that leads to the coordinator",
            "", apply_advertise_ip},
    setting{"--coordinator-heartbeat-interval", "LMCACHE_COORDINATOR_HEARTBEAT_INTERVAL",
            "seconds between heartbeats to the coordinator", "5", apply_interval},
};

} // namespace

std::span<const setting> settings() noexcept {
  return all_settings;
}

configuration_problems apply_settings(options& to, const flag_lookup& given_flag) {
  configuration_problems found;
  const auto apply = [&](const setting& which, std::string_view name, std::string_view text) {
    if (auto wrong = which.apply(to, text))
      found.push_back({std::string{name}, std::move(*wrong)});
  };
  for (const auto& each : all_settings) {
    if (const auto flag = given_flag(each.flag))
      apply(each, each.flag, *flag);
    else if (const char* const variable = std::getenv(each.environment.data())) // its text ends in NUL: it is a literal
      apply(each, each.environment, variable);
  }
  return found;
}

configuration_problems apply_environment(options& to) {
  return apply_settings(to, [](std::string_view) { return std::nullopt; });
}

} // namespace mp_registrar
