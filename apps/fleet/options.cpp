#include "apps/fleet/options.hpp"

#include "apps/fleet/probe_listener.hpp"
#include "schema/number_text.hpp"
#include "version.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <random>
#include <sstream>
#include <system_error>
#include <utility>

namespace coordinator::fleet {

namespace {

using namespace std::chrono_literals;

constexpr double shortest_seconds = 0.01;
constexpr double longest_seconds = 7 * 24 * 3600.0;
constexpr duration longest_request_timeout = 10s;

early_exit usage_error(std::string_view problem) {
  return {2, fmt::format("mp-fleet: {}\nRun mp-fleet --help for the flags.\n", problem)};
}

std::string list_of_profiles() {
  std::string result;
  for (const auto& profile : all_profiles()) {
    result += fmt::format("{:<16} {}", profile.name, profile.description);
    if (profile.default_share)
      result += fmt::format(" (--share {:g}: {})", *profile.default_share, profile.share_of);
    result += '\n';
  }
  return result;
}

std::string beside_this_program(std::string_view name) {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  return (error ? std::filesystem::path{name} : self.parent_path() / name).string();
}

/// Stricter than CLI11, which lets NaN through.
CLI::Validator seconds_rule(bool zero_allowed) {
  return CLI::Validator{
      [zero_allowed](const std::string& text) -> std::string {
        const auto value = schema::number_in(text);
        if (value && ((*value >= shortest_seconds && *value <= longest_seconds) || (zero_allowed && *value == 0)))
          return {};
        return fmt::format("must be {}a number of seconds from {} to {:.0f}, not '{}'", zero_allowed ? "0 or " : "",
                           shortest_seconds, longest_seconds, text);
      },
      ""};
}

CLI::Validator share_rule() {
  return CLI::Validator{[](const std::string& text) -> std::string {
                          const auto value = schema::number_in(text);
                          if (value && *value >= 0 && *value <= 1)
                            return {};
                          return fmt::format("must be a number from 0 to 1, not '{}'", text);
                        },
                        ""};
}

/// CLI11 takes -1 for a large number.
CLI::Validator seed_rule() {
  return CLI::Validator{[](const std::string& text) -> std::string {
                          const bool is_number = std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
                          return is_number ? std::string{}
                                           : fmt::format("must be a whole number from 0 on, not '{}'", text);
                        },
                        ""};
}

/// The flags as they are read, before they are made sense of.
struct raw {
  std::string profile;
  double heartbeat_interval = to_seconds(options{}.heartbeat_interval);
  double instance_timeout = to_seconds(options{}.instance_timeout);
  double health_check_interval = to_seconds(options{}.health_check_interval);
  double slack = to_seconds(options{}.slack);
  double length = 0;
  double share = 0;
  double guard = 0;
  bool list_profiles = false;
};

class reader {
public:
  reader() {
    app_.set_version_flag("--version", std::string{"mp-fleet "} + version, "print the version and exit");
    app_.add_option("--profile", raw_.profile, "what happens to the fleet; see --list-profiles")->type_name("NAME");
    app_.add_flag("--list-profiles", raw_.list_profiles, "print the profiles and exit");
    app_.add_option("--servers", result_.servers, "size of the fleet")
        ->check(CLI::Range(std::uint32_t{1}, static_cast<std::uint32_t>(max_servers)))
        ->capture_default_str();
    length_ = add_seconds("--duration", raw_.length,
                          "seconds until the servers leave (default: the shortest that the profile takes)", false);
    add_seconds("--heartbeat-interval", raw_.heartbeat_interval, "seconds between two heartbeats of a server", false)
        ->capture_default_str();
    add_seconds("--instance-timeout", raw_.instance_timeout,
                "the coordinator's, which it is started with or was started with", false)
        ->capture_default_str();
    add_seconds("--health-check-interval", raw_.health_check_interval, "the coordinator's, likewise", true)
        ->capture_default_str();
    add_seconds("--slack", raw_.slack, "seconds that the coordinator may come late, such as on a busy machine", false)
        ->capture_default_str();
    share_ = app_.add_option("--share", raw_.share, "how much of the fleet it happens to (default: the profile's)")
                 ->check(share_rule())
                 ->type_name("SHARE");
    seed_ = app_.add_option("--seed", result_.seed, "makes the same things happen again (default: a random one)")
                ->check(seed_rule())
                ->type_name("NUMBER");
    app_.add_option("--connections", result_.connections, "connections to the coordinator, at most")
        ->check(CLI::Range(std::size_t{1}, std::size_t{100'000}))
        ->capture_default_str();
    auto* url = app_.add_option("--coordinator-url", result_.coordinator_url, "a coordinator that runs on this machine")
                    ->type_name("URL");
    app_.add_option("--coordinator", result_.coordinator_binary,
                    "a coordinator to start (default: the mp-coordinator beside this program)")
        ->type_name("PROGRAM")
        ->excludes(url);
    app_.add_option("--coordinator-flag", result_.coordinator_flags,
                    "a flag to start it with, such as --coordinator-flag=--http-threads=2; as often as needed")
        ->type_name("FLAG")
        ->take_all()
        ->excludes(url);
    guard_ = add_seconds("--expect-guard", raw_.guard,
                         "the coordinator has an eviction guard, which decides within that many seconds", false);
    app_.add_option("--summary", result_.summary_file, "write the summary to this file, not to standard output")
        ->type_name("FILE");
  }

  std::variant<options, early_exit> read(int argc, const char* const* argv) {
    try {
      app_.parse(argc, argv);
    } catch (const CLI::Success& wanted) { // --help, --version
      std::ostringstream text;
      app_.exit(wanted, text, text);
      return early_exit{0, text.str()};
    } catch (const CLI::ParseError& error) {
      return usage_error(error.what());
    }
    if (raw_.list_profiles)
      return early_exit{0, list_of_profiles()};
    if (raw_.profile.empty())
      return usage_error("--profile is required; --list-profiles prints what there is");
    result_.chosen = find_profile(raw_.profile);
    if (!result_.chosen)
      return usage_error(fmt::format("--profile: there is none of the name '{}'", raw_.profile));
    return complete();
  }

private:
  CLI::Option* add_seconds(const std::string& name, double& to, const std::string& description, bool zero_allowed) {
    return app_.add_option(name, to, description)->check(seconds_rule(zero_allowed))->type_name("SECONDS");
  }

  std::variant<options, early_exit> complete() {
    result_.heartbeat_interval = from_seconds(raw_.heartbeat_interval);
    result_.instance_timeout = from_seconds(raw_.instance_timeout);
    result_.health_check_interval = from_seconds(raw_.health_check_interval);
    result_.slack = from_seconds(raw_.slack);
    if (length_->count() > 0)
      result_.length = from_seconds(raw_.length);
    if (share_->count() > 0)
      result_.share = raw_.share;
    if (guard_->count() > 0)
      result_.expected_guard = from_seconds(raw_.guard);
    if (seed_->count() == 0)
      result_.seed = std::random_device{}();
    if (result_.heartbeat_interval > result_.instance_timeout / 2)
      return usage_error("--heartbeat-interval: must be at most half of --instance-timeout");
    auto& url = result_.coordinator_url;
    url.resize(url.find_last_not_of('/') + 1);
    if (!url.empty() && !url.starts_with("http://") && !url.starts_with("https://"))
      return usage_error(fmt::format("--coordinator-url: must begin with http:// or https://, not '{}'", url));
    if (!url.empty() && result_.chosen->needs_own_coordinator)
      return usage_error(fmt::format("--coordinator-url: the profile {} kills its coordinator, and so takes one of its "
                                     "own",
                                     result_.chosen->name));
    if (result_.coordinator_binary.empty())
      result_.coordinator_binary = beside_this_program("mp-coordinator");
    return std::move(result_);
  }

  CLI::App app_{"mp-fleet simulates a fleet of mp servers, and checks what a coordinator makes of it.", "mp-fleet"};
  raw raw_;
  options result_;
  CLI::Option* length_;
  CLI::Option* share_;
  CLI::Option* seed_;
  CLI::Option* guard_;
};

} // namespace

duration options::request_timeout() const noexcept {
  return std::min(longest_request_timeout, 2 * heartbeat_interval);
}

duration options::list_interval() const noexcept {
  return std::clamp<duration>(instance_timeout / 10, 200ms, 1s);
}

duration options::back_within() const noexcept {
  // A request that gets no answer, and the next one after the longest pause, by the slowest clock.
  const auto skew = chosen && chosen->name == "clock-skewed" ? share.value_or(*chosen->default_share) : 0.0;
  const auto interval = from_seconds(to_seconds(heartbeat_interval) / std::max(1 - skew, 0.01));
  return interval + std::min(request_timeout(), instance_timeout / 3) + slack;
}

duration options::gone_within() const noexcept {
  return instance_timeout + health_check_interval + slack + expected_guard.value_or(0s) + 2 * list_interval();
}

std::variant<options, early_exit> read_options(int argc, const char* const* argv) {
  return reader{}.read(argc, argv);
}

} // namespace coordinator::fleet
