#pragma once

#include "apps/fleet/clock.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace coordinator::fleet {

/// What is done to a server, or to the coordinator.
enum class act_kind : std::uint8_t {
  start, ///< As a new process with the id that it always has; when it is leaving, once it has left.
  leave, ///< It deregisters and ends.
  crash, ///< It ends without a word.
  cut,   ///< The coordinator is out of its reach; the server goes on and answers whoever reaches it.
  heal,
  kill_coordinator, ///< It is started again at once.
};

struct act {
  duration at{}; ///< Since the start of the simulation.
  act_kind kind{};
  std::uint32_t server = 0;
};

struct phase {
  duration at{};
  std::string name;
};

/// All that a profile does to the fleet: data, made before anything happens.
struct plan {
  std::vector<act> acts;            ///< In order of time.
  std::vector<phase> phases;        ///< Likewise; the first is at 0.
  std::vector<double> clock_rates;  ///< Of each server's timers; empty: all clocks are right.
  std::vector<double> wall_offsets; ///< Of each server's wall clock, in seconds; empty likewise.
  duration length{};                ///< When the servers begin to leave for good.
};

struct plan_options {
  std::uint32_t servers = 100;
  duration instance_timeout = std::chrono::seconds{30};
  duration sweep_interval = std::chrono::seconds{10};
  duration heartbeat_interval = std::chrono::seconds{5};
  duration back_within = std::chrono::seconds{15}; ///< As in ledger_options; likewise the next.
  duration gone_within = std::chrono::seconds{42}; ///< From the crash of a server to a list that shows it is gone.
  std::optional<double> share{};                   ///< Unset: that of the profile.
  std::optional<duration> length{};                ///< Unset: the shortest that the profile takes.
};

struct profile {
  std::string_view name;
  std::string_view description;
  std::optional<double> default_share; ///< Unset: it has no use for one.
  std::string_view share_of;           ///< What that share is.
  bool needs_own_coordinator;          ///< Which it kills.
};

const std::vector<profile>& all_profiles();
const profile* find_profile(std::string_view name);

/// The same for the same options and the same state of `random`; else why these options make no sense.
std::variant<plan, std::string> make_plan(const profile& chosen, const plan_options& options, std::mt19937_64& random);

} // namespace coordinator::fleet
