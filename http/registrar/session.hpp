#pragma once

#include "actors/outbound.hpp"
#include "http/registrar/event.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mp_registrar {

using time_point = std::chrono::steady_clock::time_point;
using duration = std::chrono::nanoseconds;

/// How an mp server is to be registered. Taken as checked (registrar.hpp says what is allowed).
struct session_options {
  std::vector<std::string> coordinator_urls{}; ///< At least one, in order of preference. A slash at the end is dropped.
  std::string ip{};                            ///< Under which others reach the server.
  std::uint16_t http_port = 0;
  std::string instance_id{}; ///< Empty: the coordinator assigns one, which is then kept.
  std::vector<std::pair<std::string, std::string>> metadata{};
  std::string p2p_advertised_url{};
  std::uint16_t mq_port = 0;
  duration heartbeat_interval = std::chrono::seconds{5};
  duration request_timeout = std::chrono::seconds{10}; ///< Shorter when a third of the lease is.
};

// The names that those use who drive sessions of their own.
using session_event_kind = event_kind;
using session_event = event;

/// The client loop of one mp server: register, send heartbeats, register again, deregister (docs/registrar.md). Knows
/// neither sockets nor threads: time and replies come in as arguments. At most one request is under way.
class session {
public:
  /// `random` returns numbers in [0, 1).
  session(session_options options, std::function<double()> random, time_point now);

  /// The request to send now, if it is time for one; exactly one `on_reply` has to follow it.
  std::optional<coordinator::outbound_request> next(time_point now);

  /// When to call `next` again: `time_point::max()` while a request is under way, and when finished. `on_reply` and
  /// `stop` change it.
  time_point wake() const noexcept;

  /// Also for requests that failed, by the outcome of the reply.
  void on_reply(const coordinator::outbound_reply& reply, time_point now);

  /// From now on only leaves: what is under way is waited for, `next` gives the one DELETE if a registration is held
  /// then, and that was all.
  void stop(time_point now);

  /// Stopped, and nothing is under way or left to send.
  bool finished() const noexcept;

  /// Whether the last that was heard is that this registration is in force.
  bool registered() const noexcept { return registration_ && !superseded_; }

  /// As registered, or as it will be; empty before a coordinator has assigned one.
  const std::string& instance_id() const noexcept;

  /// What happened since the last call, in order.
  std::vector<session_event> take_events();

private:
  enum class request_kind : std::uint8_t { registration, heartbeat, departure };

  struct registration {
    std::string instance_id;
    std::string tag; ///< The `ETag` that names it; empty: the coordinator has none.
    std::size_t url; ///< Of the coordinator that holds it: the one that made it or that last took a heartbeat for it.
  };

  const std::string& url() const noexcept { return options_.coordinator_urls[current_url_]; }
  std::string instance_url() const;
  duration request_timeout() const noexcept;
  coordinator::outbound_request make_request(request_kind kind) const;

  void on_registration_reply(const coordinator::outbound_reply& reply, time_point now);
  void on_heartbeat_reply(const coordinator::outbound_reply& reply, time_point now);
  void on_departure_reply(const coordinator::outbound_reply& reply);

  /// Whether that makes heartbeats come more often than configured, and than before.
  bool adopt_lease(duration lease) noexcept;
  void on_sign_of_life() noexcept;
  void complain(session_event_kind kind, std::string detail);
  void beat_later(time_point now) noexcept;
  void retry_later(time_point now);
  void move_to_next_url() noexcept;
  session_event& report(session_event_kind kind, std::string detail = {});

  session_options options_;
  std::function<double()> random_;
  std::vector<session_event> events_;
  std::optional<registration> registration_;
  bool superseded_ = false;
  bool stopped_ = false;
  std::optional<request_kind> under_way_;
  time_point started_; ///< When the latest request was.
  time_point due_;     ///< When the next one is.
  duration lease_{};
  duration interval_; ///< The effective one.
  std::size_t current_url_ = 0;
  std::size_t failed_urls_ = 0;           ///< While registering: that many since the last pause.
  std::size_t unanswered_heartbeats_ = 0; ///< In a row, at the current URL.
  /// By URL: what was reported of it since something last worked.
  std::vector<std::optional<session_event_kind>> complaints_;
};

} // namespace mp_registrar
