#include "apps/mp_server/settings.hpp"

#include "http/registrar/settings.hpp"
#include "schema/identifier.hpp"
#include "schema/number_text.hpp"
#include "version.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <sstream>
#include <string_view>

namespace mp_server {

namespace {

/// Why a text can't be a value, as `must …`; empty when it can and was taken.
using problem = std::optional<std::string>;

constexpr double shortest_interval = 0.001;
constexpr double longest_interval = 366.0 * 24 * 3600;

template <class Int>
problem take_whole(Int& to, std::string_view text, Int least, Int most) {
  const auto value = coordinator::schema::whole_number_in<Int>(text, least, most);
  if (!value)
    return fmt::format("must be a whole number from {} to {}", least, most);
  to = *value;
  return std::nullopt;
}

problem take_port(std::uint16_t& to, std::string_view text) {
  return take_whole<std::uint16_t>(to, text, 0, 65535);
}

problem take_interval(std::chrono::nanoseconds& to, std::string_view text) {
  const auto seconds = coordinator::schema::number_in(text);
  if (!seconds || *seconds < shortest_interval || *seconds > longest_interval)
    return fmt::format("must be a number of seconds from {} to {:.0f}", shortest_interval, longest_interval);
  to = std::chrono::round<std::chrono::nanoseconds>(std::chrono::duration<double>{*seconds});
  return std::nullopt;
}

problem take_adapter(std::vector<adapter_options>& to, std::string_view text) {
  constexpr std::string_view suffix = ":shared";
  adapter_options made;
  made.shared = text.ends_with(suffix);
  made.name = text.substr(0, text.size() - (made.shared ? suffix.size() : 0));
  if (made.name.empty() || made.name.find(':') != std::string::npos)
    return "must be a name, with or without :shared at its end";
  if (std::ranges::find(to, made.name, &adapter_options::name) != to.end())
    return "must be a name that was not given before";
  to.push_back(std::move(made));
  return std::nullopt;
}

problem take_metadata(mp_registrar::options& to, std::string_view text) {
  const auto split = text.find('=');
  if (split == std::string_view::npos || split == 0)
    return "must be key=value";
  to.metadata.emplace_back(text.substr(0, split), text.substr(split + 1));
  return std::nullopt;
}

problem take_instance_id(mp_registrar::options& to, std::string_view text) {
  text = coordinator::schema::stripped(text);
  if (!text.empty())
    if (const auto wrong = coordinator::schema::identifier_problem(text))
      return "must be an instance id: " + *wrong;
  to.instance_id = text;
  return std::nullopt;
}

class reader {
public:
  reader() {
    app_.set_version_flag("--version", std::string{"mp-server "} + coordinator::version, "print the version and exit");
    add("--host", "address to listen on (default: 0.0.0.0)");
    add("--http-port", "port to listen on; 0 takes any free one (default: 8080)");
    add("--control-port", "port on the loopback interface to control this server from; 0 takes any free one "
                          "(default: none)");
    add("--instance-id", "id to register under (default: a random one)");
    add_list("--metadata", "key=value to register with; may be repeated");
    add_list("--l2-adapter",
             "name of an L2 store, with :shared at its end when others use it too; may be repeated, the "
             "first one is the primary (default: none)");
    add("--l1-capacity-bytes", "size of L1; 0: no limit (default: 0)");
    add("--chunk-size", fmt::format("tokens in a chunk; the coordinator's must be the same (default: {})",
                                    coordinator::default_chunk_size));
    for (const auto& each : mp_registrar::settings())
      add(std::string{each.flag},
          fmt::format("{} (default: {}; environment: {})", each.description,
                      each.default_value.empty() ? "none" : each.default_value, each.environment));
    add_flag("--coordinator-event-reporting",
             "report what is stored and deleted (environment: LMCACHE_COORDINATOR_EVENT_REPORTING)");
    add_flag("--coordinator-l2-event-reporting", "deprecated for --coordinator-event-reporting");
    add("--coordinator-event-flush-interval", "seconds between reports (default: 1; environment: "
                                              "LMCACHE_COORDINATOR_EVENT_FLUSH_INTERVAL)");
    add("--coordinator-l2-event-flush-interval", "deprecated for --coordinator-event-flush-interval");
  }

  std::variant<settings, early_exit> read(int argc, const char* const* argv) {
    try {
      app_.parse(argc, argv);
    } catch (const CLI::Success& wanted) { // --help, --version
      std::ostringstream text;
      app_.exit(wanted, text, text);
      return early_exit{0, text.str()};
    } catch (const CLI::ParseError& error) {
      return usage_error(error.what());
    }
    take("--host", [&](std::string_view text) -> problem {
      if (text.empty() || text.find_first_of(" \t\r\n") != std::string_view::npos)
        return "must be an address or a host name";
      result_.host = text;
      return std::nullopt;
    });
    take("--http-port", [&](std::string_view text) { return take_port(result_.http_port, text); });
    take("--control-port", [&](std::string_view text) { return take_port(result_.control_port.emplace(), text); });
    take("--instance-id", [&](std::string_view text) { return take_instance_id(result_.registration, text); });
    take("--metadata", [&](std::string_view text) { return take_metadata(result_.registration, text); });
    take("--l2-adapter", [&](std::string_view text) { return take_adapter(result_.l2_adapters, text); });
    take("--l1-capacity-bytes", [&](std::string_view text) {
      return take_whole<std::int64_t>(result_.l1_capacity_bytes, text, 0, std::numeric_limits<std::int64_t>::max());
    });
    take("--chunk-size", [&](std::string_view text) {
      return take_whole<std::size_t>(result_.chunk_size, text, 1, coordinator::schema::max_token_ids);
    });
    for (const auto& wrong : mp_registrar::apply_settings(result_.registration, [this](std::string_view flag) {
           const auto* option = app_.get_option(std::string{flag});
           return option->count() == 0 ? std::nullopt : std::optional{option->results().back()};
         }))
      problems_.push_back(fmt::format("{}: {}", wrong.field, wrong.message));
    read_event_settings();
    if (!problems_.empty())
      return usage_error(fmt::format("{}", fmt::join(problems_, "\nmp-server: ")));
    return std::move(result_);
  }

private:
  void add(const std::string& name, const std::string& description) {
    app_.add_option(name, description)->expected(1)->type_name("VALUE");
  }
  void add_list(const std::string& name, const std::string& description) {
    app_.add_option(name, description)->expected(1)->type_name("VALUE")->take_all();
  }

  void add_flag(const std::string& name, const std::string& description) { app_.add_flag(name, description); }

  static early_exit usage_error(const std::string& problems) {
    return {2, fmt::format("mp-server: {}\nRun mp-server --help for the settings.\n", problems)};
  }

  /// Gives each value of a flag to `taker`.
  template <class Taker>
  void take(const std::string& flag, Taker taker) {
    const auto* option = app_.get_option(flag);
    if (option->count() == 0)
      return;
    for (const auto& text : option->results())
      if (const auto wrong = taker(text))
        problems_.push_back(fmt::format("{}: {}, not '{}'", flag, *wrong, text));
  }

  /// Whether a flag that was renamed is given by its old name alone; warns if it is.
  bool is_given_as(const std::string& old_name, const std::string& new_name) {
    if (app_.count(old_name) == 0)
      return false;
    result_.warnings.push_back(fmt::format("{} is deprecated; use {}", old_name, new_name));
    return app_.count(new_name) == 0;
  }

  void read_event_settings() {
    const bool old_reporting = is_given_as("--coordinator-l2-event-reporting", "--coordinator-event-reporting");
    result_.event_reporting = old_reporting || app_.count("--coordinator-event-reporting") > 0;
    if (const auto* text = std::getenv("LMCACHE_COORDINATOR_EVENT_REPORTING"); text && !result_.event_reporting)
      result_.event_reporting =
          std::string_view{text} == "1" || std::string_view{text} == "true" || std::string_view{text} == "yes";

    const auto interval = [&](std::string_view text) { return take_interval(result_.event_flush_interval, text); };
    const std::string new_name = "--coordinator-event-flush-interval";
    const std::string old_name = "--coordinator-l2-event-flush-interval";
    if (is_given_as(old_name, new_name))
      take(old_name, interval);
    else if (app_.count(new_name) > 0)
      take(new_name, interval);
    else if (const auto* text = std::getenv("LMCACHE_COORDINATOR_EVENT_FLUSH_INTERVAL"))
      if (const auto wrong = interval(text))
        problems_.push_back(fmt::format("LMCACHE_COORDINATOR_EVENT_FLUSH_INTERVAL: {}, not '{}'", *wrong, text));
  }

  CLI::App app_{"mp-server is a small LMCache mp cache server: it keeps keys but no data, and does what tests tell it.",
                "mp-server"};
  settings result_;
  std::vector<std::string> problems_;
};

} // namespace

std::variant<settings, early_exit> read_settings(int argc, const char* const* argv) {
  return reader{}.read(argc, argv);
}

} // namespace mp_server
