#pragma once

#include "actors/outbound.hpp"
#include "apps/fleet/clock.hpp"
#include "apps/fleet/figures.hpp"
#include "apps/fleet/ledger.hpp"
#include "http/registrar/session.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>

namespace coordinator::fleet {

/// What simulated servers share.
struct surroundings {
  outbound_client& client;
  ledger& book;
  figures& counts;
  /// Makes `simulated_server::turn` be called then or later.
  std::function<void(std::size_t server, time_point when)> wake_at;
  /// Makes `simulated_server::answered` be called when the client is done.
  std::function<outbound_client::completion(std::size_t server, std::uint64_t request)> completion;
  /// Numbers in [0, 1).
  std::function<double()> random;
  std::function<time_point()> now;
  /// Seconds since the epoch.
  std::function<double()> wall;
};

/// One mp server of the fleet: the registrar's client loop, and what can befall it between that and the network.
///
/// A crash forgets the session without a word. A partition keeps requests back, and answers half of them as refused and
/// lets half of them time out. A wrong clock is a wrong argument to the session. One owner; neither threads nor
/// sockets.
class simulated_server {
public:
  simulated_server(std::size_t index, mp_registrar::session_options options, double clock_rate, surroundings& around);

  /// As a new process. While it is leaving: once it has left.
  void start();
  /// Deregisters, then ends.
  void leave();
  void crash();
  void cut();
  void heal();

  /// Does what is due.
  void turn();
  void answered(std::uint64_t request, const outbound_reply& reply);

  bool is_down() const noexcept { return !session_; }

private:
  void ask(outbound_request request);
  void hear(const outbound_reply& reply);
  void hear_nothing(outbound_outcome outcome);
  void abandon_call();
  void end();
  void arm(time_point when);

  std::size_t index_;
  mp_registrar::session_options options_;
  double clock_rate_;
  surroundings& around_;
  skewed_clock clock_;
  std::optional<mp_registrar::session> session_;
  bool is_leaving_ = false;
  bool starts_again_ = false;
  bool is_cut_ = false;
  bool was_unknown_ = false;   ///< To the coordinator, by its latest answer.
  std::uint64_t requests_ = 0; ///< Numbers them, so that an answer to an earlier one is known as that.
  request_kind kind_{};        ///< Of the latest request; likewise the next.
  time_point deadline_{};
  std::optional<outbound_client::call_id> call_; ///< Under way.
  std::optional<time_point> times_out_at_;       ///< Kept back until then.
  time_point armed_ = time_point::max();
};

} // namespace coordinator::fleet
