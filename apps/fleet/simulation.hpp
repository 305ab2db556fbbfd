#pragma once

#include "apps/fleet/clock.hpp"
#include "apps/fleet/figures.hpp"
#include "apps/fleet/ledger.hpp"
#include "apps/fleet/list_watch.hpp"
#include "apps/fleet/probe_listener.hpp"
#include "apps/fleet/profiles.hpp"
#include "apps/fleet/simulated_server.hpp"
#include "http/outbound_loop.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace coordinator::fleet {

struct simulation_options {
  std::string coordinator_url; ///< Without a slash at the end.
  std::string id_prefix;       ///< Of all servers' ids; nobody else's.
  std::size_t servers = 0;
  duration heartbeat_interval{};
  duration request_timeout{};
  ledger_options rules;
  std::uint64_t seed = 0;
  std::size_t connections = 0; ///< To the coordinator, at most.
};

/// The fleet at work: the servers, what the plan does to them, and the ledger that watches. All of it happens on one
/// thread, that of the loop through which the servers call: whatever is not `post` must be called there, but for the
/// constructor and the destructor.
class simulation {
public:
  simulation(simulation_options options, plan todo, probe_listener& probes);
  ~simulation();
  simulation(const simulation&) = delete;
  simulation& operator=(const simulation&) = delete;

  /// Runs something there. Any thread.
  void post(http::outbound_loop::task what) { loop_->post(std::move(what)); }

  void begin();
  /// Has everybody leave now.
  void end_early();

  /// What `list_watch` found.
  void take(const list_result& result);

  /// The coordinator that `figures().coordinator_kills` asked to kill is dead / back.
  void coordinator_died(time_point when);
  void coordinator_ready(time_point when);
  /// It ended in a way that it should not have; the simulation is over.
  void coordinator_failed(const std::string& how);

  /// As of now.
  const figures& look();

private:
  void tick(time_point due);
  void perform(const act& what);
  void show_presence(std::size_t server);
  void note(violation_kind kind, std::string detail);
  bool has_ended(time_point now);

  simulation_options options_;
  plan plan_;
  probe_listener& probes_;
  std::unique_ptr<http::outbound_loop> loop_;
  std::mt19937_64 random_;
  time_point start_;
  figures figures_;
  ledger book_;
  surroundings around_;
  std::vector<simulated_server> servers_;
  std::size_t next_act_ = 0;
  bool is_nonsense_noted_ = false;
  bool is_coordinator_down_ = false;
  time_point last_list_;
  std::optional<time_point> all_down_since_;
  std::optional<time_point> leaving_since_;
  bool is_final_list_in_ = false;
};

} // namespace coordinator::fleet
