#include "apps/coordinator/settings.hpp"

#include "schema/number_text.hpp"
#include "version.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <thread>

namespace coordinator {

namespace {

constexpr std::string_view environment_prefix = "LMCACHE_MP_COORDINATOR_";
constexpr double shortest_seconds = 0.001; // below it, sweeps and timers would do nothing but run
constexpr double longest_seconds = 366.0 * 24 * 3600;
constexpr std::size_t most_http_threads = 256;
constexpr std::size_t most_courier_connections = 16'384;
/// What log lines come from, besides capabilities, and the service itself, whose lines always show.
constexpr std::array<std::string_view, 6> core_components{"supervisor", "registry", "health",
                                                          "courier",    "gateway",  "http"};

/// Why a text can't be the value of a setting; empty when it can and was taken.
using problem = std::optional<std::string>;

struct setting {
  std::string name; ///< Without dashes.
  std::string description;
  std::function<problem(settings&, const std::string&)> take;
  std::function<std::string(const settings&)> show;
};

using capability_values = std::map<std::string, std::string, std::less<>>;

problem take_seconds(settings::duration& to, const std::string& text, bool zero_allowed) {
  const auto complaint = fmt::format("must be {}a number of seconds from {} to {:.0f}", zero_allowed ? "0 or " : "",
                                     shortest_seconds, longest_seconds);
  const auto value = schema::number_in(text);
  if (!value || *value > longest_seconds || (*value < shortest_seconds && !(*value == 0 && zero_allowed)))
    return complaint;
  to = std::chrono::round<settings::duration>(std::chrono::duration<double>{*value});
  return std::nullopt;
}

template <class Int>
problem take_whole(Int& to, const std::string& text, Int least, Int most) {
  const auto value = schema::whole_number_in<Int>(text, least, most);
  if (!value)
    return fmt::format("must be a whole number from {} to {}", least, most);
  to = *value;
  return std::nullopt;
}

std::vector<std::string> split_list(std::string_view text) {
  std::vector<std::string> result;
  while (!text.empty()) {
    const auto end = std::min(text.find(','), text.size());
    if (end > 0)
      result.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return result;
}

std::string show_seconds(settings::duration value) {
  return fmt::format("{}", std::chrono::duration<double>{value}.count());
}

std::vector<setting> core_settings(const std::vector<std::string>& components) {
  return {
      {"host", "address to listen on",
       [](settings& to, const std::string& text) -> problem {
         if (text.empty() || text.find_first_of(" \t\r\n") != std::string::npos)
           return "must be an address or a host name";
         to.host = text;
         return std::nullopt;
       },
       [](const settings& from) { return from.host; }},
      {"port", "port to listen on; 0 takes any free one and logs it",
       [](settings& to, const std::string& text) { return take_whole<std::uint16_t>(to.port, text, 0, 65535); },
       [](const settings& from) { return std::to_string(from.port); }},
      {"instance-timeout", "seconds without a heartbeat after which an instance is evicted",
       [](settings& to, const std::string& text) { return take_seconds(to.instance_timeout, text, false); },
       [](const settings& from) { return show_seconds(from.instance_timeout); }},
      {"health-check-interval", "seconds between two sweeps for instances to evict; 0 evicts none",
       [](settings& to, const std::string& text) { return take_seconds(to.health_check_interval, text, true); },
       [](const settings& from) { return show_seconds(from.health_check_interval); }},
      {"eviction-guard",
       "share of the fleet, 0 to 1: when more than it falls silent together, each is asked at its address "
       "first; 0 "
       "switches that off",
       [](settings& to, const std::string& text) -> problem {
         const auto value = schema::number_in(text);
         if (!value || *value < 0 || *value > 1)
           return "must be a number from 0 to 1";
         to.eviction_guard = *value;
         return std::nullopt;
       },
       [](const settings& from) { return fmt::format("{}", from.eviction_guard); }},
      {"eviction-guard-max", "seconds within which an instance that the eviction guard holds back is decided",
       [](settings& to, const std::string& text) { return take_seconds(to.eviction_guard_max, text, false); },
       [](const settings& from) { return show_seconds(from.eviction_guard_max); }},
      {"courier-connections", "calls to mp servers under way at a time",
       [](settings& to, const std::string& text) {
         return take_whole<std::size_t>(to.courier_connections, text, 1, most_courier_connections);
       },
       [](const settings& from) { return std::to_string(from.courier_connections); }},
      {"courier-connections-per-instance", "calls to one mp server under way at a time",
       [](settings& to, const std::string& text) {
         return take_whole<std::size_t>(to.courier_connections_per_instance, text, 1, most_courier_connections);
       },
       [](const settings& from) { return std::to_string(from.courier_connections_per_instance); }},
      {"timeout-keep-alive", "seconds for which an idle connection is kept; more than the servers' heartbeat interval",
       [](settings& to, const std::string& text) { return take_seconds(to.timeout_keep_alive, text, false); },
       [](const settings& from) { return show_seconds(from.timeout_keep_alive); }},
      {"http-threads", "threads that serve HTTP",
       [](settings& to, const std::string& text) {
         return take_whole<std::size_t>(to.http_threads, text, 1, most_http_threads);
       },
       [](const settings& from) { return std::to_string(from.http_threads); }},
      {"shutdown-grace", "seconds for requests under way to be answered when the service stops",
       [](settings& to, const std::string& text) { return take_seconds(to.shutdown_grace, text, true); },
       [](const settings& from) { return show_seconds(from.shutdown_grace); }},
      {"log-level", "error, warning, info, debug (actors, ticks) or trace (every message)",
       [](settings& to, const std::string& text) -> problem {
         const auto level = log::parse_level(text);
         if (!level)
           return "must be error, warning, info, debug or trace";
         to.log_level = *level;
         return std::nullopt;
       },
       [](const settings& from) { return std::string{log::to_string(from.log_level)}; }},
      {"log-file", "file to append the log to instead of standard error",
       [](settings& to, const std::string& text) -> problem {
         to.log_file = text;
         return std::nullopt;
       },
       [](const settings& from) { return from.log_file; }},
      {"log-components", "only these components below warning, separated by commas, such as registry,health",
       [components](settings& to, const std::string& text) -> problem {
         to.log_components = split_list(text);
         for (const auto& name : to.log_components)
           if (std::ranges::find(components, name) == components.end())
             return fmt::format("must be names out of {}", fmt::join(components, ", "));
         return std::nullopt;
       },
       [](const settings& from) { return fmt::format("{}", fmt::join(from.log_components, ",")); }},
  };
}

/// Those of the service and those of its capabilities.
std::vector<setting> all_settings(const std::vector<capability>& known,
                                  const std::shared_ptr<capability_values>& values) {
  std::vector<std::string> components{core_components.begin(), core_components.end()};
  for (const auto& each : known)
    components.push_back(each.name);
  auto result = core_settings(components);
  for (const auto& each : known)
    for (const auto& added : each.settings) {
      values->emplace(added.name, added.default_value);
      result.push_back({added.name, added.description,
                        [=](settings&, const std::string& text) -> problem {
                          if (auto wrong = added.problem(text))
                            return wrong;
                          values->insert_or_assign(added.name, text);
                          return std::nullopt;
                        },
                        [=](const settings&) { return values->find(added.name)->second; }});
    }
  return result;
}

std::string environment_name(std::string_view name) {
  std::string result{environment_prefix};
  for (char c : name)
    result += c == '-' ? '_' : static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  return result;
}

std::string usage_error(const std::string& problems) {
  return fmt::format("mp-coordinator: {}\nRun mp-coordinator --help for the settings.\n", problems);
}

/// What was given for a setting, and by whom.
struct given {
  std::string value;
  std::string source;
  std::string called; ///< The name that the operator used.
};

class reader {
public:
  explicit reader(const std::vector<capability>& known) : all_(all_settings(known, values_)) {
    app_.set_version_flag("--version", std::string{"mp-coordinator "} + version, "print the version and exit");
    for (const auto& setting : all_)
      add(setting.name, setting.description + fmt::format(" (default: {})", [&] {
                          auto value = setting.show(settings{});
                          return value.empty() ? std::string{"none"} : value;
                        }()));
    add("config", "file of `name = value` lines with the names of the flags, without dashes in front");
    app_.footer("A flag beats its environment variable, that beats the --config file. docs/settings.md has more.");
  }

  std::variant<settings, early_exit> read(int argc, const char* const* argv) {
    try {
      app_.parse(argc, argv);
    } catch (const CLI::Success& wanted) { // --help, --version
      std::ostringstream text;
      app_.exit(wanted, text, text);
      return early_exit{0, text.str()};
    } catch (const CLI::ParseError& error) {
      return early_exit{2, usage_error(error.what())};
    }
    std::vector<std::string> problems;
    read_flags_and_environment(argc, argv);
    if (auto file = given_.find("config"); file != given_.end())
      read_file(file->second.value, problems);

    settings result;
    for (const auto& setting : all_) {
      std::string source = "default";
      if (auto found = given_.find(setting.name); found != given_.end()) {
        source = found->second.source;
        if (auto wrong = setting.take(result, found->second.value))
          problems.push_back(fmt::format("{}: {}, not '{}'", found->second.called, *wrong, found->second.value));
      }
      result.sources.push_back({setting.name, "", source});
    }
    if (!problems.empty())
      return early_exit{2, usage_error(fmt::format("{}", fmt::join(problems, "\nmp-coordinator: ")))};
    for (std::size_t i = 0; i < result.sources.size(); ++i)
      result.sources[i].value = all_[i].show(result);
    result.capabilities = configuration{*values_};
    return result;
  }

private:
  void add(const std::string& name, const std::string& description) {
    app_.add_option("--" + name, description)->envname(environment_name(name))->expected(1)->type_name("VALUE");
  }

  void read_flags_and_environment(int argc, const char* const* argv) {
    for (const auto* option : app_.get_options()) {
      const auto name = option->get_single_name();
      if (option->count() == 0 || name == "help" || name == "version")
        continue;
      // CLI11 does not tell whether a value was a flag's or the environment's.
      const auto flag = "--" + name;
      const bool is_flag = std::any_of(
          argv + 1, argv + argc, [&](std::string_view word) { return word == flag || word.starts_with(flag + "="); });
      given_[name] = {option->results().back(), is_flag ? "flag" : "environment",
                      is_flag ? flag : environment_name(name)};
    }
  }

  void read_file(const std::string& path, std::vector<std::string>& problems) {
    const auto called = given_["config"].called;
    if (std::error_code error; !std::filesystem::is_regular_file(path, error)) {
      problems.push_back(fmt::format("{}: {} is not a file", called, path));
      return;
    }
    try {
      for (const auto& item : CLI::ConfigTOML{}.from_file(path)) {
        const auto name = item.fullname();
        const bool known = std::ranges::any_of(all_, [&](const setting& setting) { return setting.name == name; });
        if (!known)
          problems.push_back(fmt::format("{}: {}: there is no setting '{}'", called, path, name));
        else if (!given_.contains(name))
          given_[name] = {fmt::format("{}", fmt::join(item.inputs, ",")), "file", fmt::format("{}: {}", path, name)};
      }
    } catch (const CLI::Error& error) {
      problems.push_back(fmt::format("{}: cannot read {}: {}", called, path, error.what()));
    }
  }

  std::shared_ptr<capability_values> values_ = std::make_shared<capability_values>();
  std::vector<setting> all_;
  CLI::App app_{"mp-coordinator keeps the membership of a fleet of LMCache mp servers.", "mp-coordinator"};
  std::map<std::string, given> given_;
};

} // namespace

std::size_t default_http_threads() noexcept {
  return std::clamp<std::size_t>(std::thread::hardware_concurrency() / 2, 1, 4);
}

std::variant<settings, early_exit> read_settings(int argc, const char* const* argv,
                                                 const std::vector<capability>& known) {
  return reader{known}.read(argc, argv);
}

} // namespace coordinator
