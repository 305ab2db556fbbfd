#pragma once

#include "apps/fleet/clock.hpp"
#include "apps/fleet/violations.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace coordinator::schema {
struct instance_list;
struct instance;
} // namespace coordinator::schema

namespace coordinator::fleet {

enum class request_kind : std::uint8_t { registration, heartbeat, departure };

/// What matters of a coordinator's reply to a server.
struct answer {
  int status = 0;
  std::optional<std::string> instance_id{}; ///< As far as the body told; likewise below.
  std::optional<bool> re_registered{};
};

/// `GET /instances` as it was answered.
struct observed_list {
  time_point requested_at{};
  time_point received_at{};
  double received_wall = 0; ///< Seconds since the epoch.
};

struct ledger_options {
  duration instance_timeout = std::chrono::seconds{30}; ///< Of the coordinator; likewise the next.
  duration sweep_interval = std::chrono::seconds{10};   ///< 0: nothing is ever evicted.
  /// Within which a server that runs and reaches the coordinator has to be in the list.
  duration back_within = std::chrono::seconds{15};
  /// What the coordinator may come late, such as on a busy machine.
  duration slack = std::chrono::seconds{1};
  /// By this much before its end a lease is no longer sure. Clocks are read at slightly different moments.
  duration margin = std::chrono::milliseconds{100};
  /// The coordinator probes servers that fell silent together before it evicts them: those that are cut off and
  /// answer have to stay, and those that don't may stay for this much longer. Unset: it has no such guard.
  std::optional<duration> guard{};
  /// The coordinator's wall clock is ours, so that `registration_time` can be checked.
  bool same_wall_clock = false;
};

/// How a member of the fleet presents itself.
struct member {
  std::string instance_id;
  std::string ip;
  std::uint16_t http_port = 0;
};

/// What the fleet knows of each of its servers, and whether what the coordinator says agrees with it.
///
/// It is told of everything that servers and coordinator go through, and finds violations in answers and lists. It only
/// claims what is certain whatever the order in which the coordinator handled requests that were under way at once, and
/// however late it is told: a lease surely runs from the receipt of an answer until the timeout after the latest
/// renewal was *sent*; it surely is over only the timeout after a request can have been handled for the *last* time.
///
/// Servers are named by their index. At most one request of each is under way. Plain state, one owner.
class ledger {
public:
  /// `id_prefix` is that of all members' ids, and of nobody else's.
  ledger(ledger_options options, std::string id_prefix, std::vector<member> members, time_point start);

  // -- what servers go through --

  void started(std::size_t server, time_point now);
  /// It is to leave: its absence from the list is no loss any more.
  void leaving(std::size_t server);
  /// The process ended, after it left or without a word. What was under way comes to nothing.
  void ended(std::size_t server, time_point now);
  /// From now on neither requests nor answers get through, but others get answers from the server.
  void cut(std::size_t server, time_point now);
  void healed(std::size_t server, time_point now);

  /// `wall` is in seconds since the epoch.
  void sent(std::size_t server, request_kind kind, time_point now, double wall);
  void answered(std::size_t server, const answer& reply, time_point now);
  /// There will be no answer to what is under way; it may have been handled all the same.
  void given_up(std::size_t server, time_point now);

  // -- what the coordinator goes through --

  /// With all that it knew. Also said late: `when` counts.
  void coordinator_died(time_point when);
  void coordinator_ready(time_point when);
  /// The simulator itself did not get to work until now, so that servers may be late.
  void stood_still(time_point now);

  /// Checks a list. Observations may come in late, but those of one coordinator in order.
  void observe(const observed_list& about, const schema::instance_list& list);

  // -- what came of it --

  violation_log& violations() noexcept { return violations_; }
  const violation_log& violations() const noexcept { return violations_; }
  /// Time since the start of the simulation.
  duration since_start(time_point now) const noexcept { return now - start_; }
  /// Of ours, in the latest list.
  std::size_t listed() const noexcept { return listed_; }
  std::uint64_t lists() const noexcept { return lists_; }
  std::size_t up() const noexcept { return up_; }
  std::size_t cut_off() const noexcept { return cut_; }
  /// Whose latest request was acknowledged, and not a departure.
  std::size_t registered() const noexcept { return registered_; }

private:
  struct pending {
    request_kind kind{};
    time_point at{};
    double wall = 0;
    bool was_surely_gone = false; ///< Nothing was registered under that id when it was sent.
  };

  struct record {
    bool is_up = false;
    bool is_leaving = false;
    bool is_cut = false;
    bool is_registered = false;
    bool ever_posted = false;
    std::uint16_t reported = 0; ///< Violations that last: told once until they are over.
    std::optional<pending> under_way;
    std::optional<time_point> held_since;      ///< The lease surely runs from then on without a gap …
    time_point lease_end{};                    ///< … until then, or did when it was last held.
    std::optional<time_point> renewable_until; ///< When a request that renews the lease may last have been handled.
    std::optional<time_point> left_at;         ///< The DELETE was answered, and no registration sent since.
    std::optional<time_point> given_up_at;     ///< The latest request that may be handled after that.
    time_point due_since{};                    ///< It has had time to get into the list since then.
    time_point registered_at{};                ///< The latest registration was answered …
    double registered_wall = 0;                ///< … and sent when the wall clock showed that.
    std::uint64_t seen_in = 0;                 ///< The latest list that it was in.
  };

  bool surely_held(const record& server, time_point from, time_point to) const noexcept;
  bool surely_gone(const record& server, time_point at) const noexcept;
  bool surely_over(const record& server, time_point at) const noexcept;
  void renew(record& server, const pending& request, time_point now);
  void set_registered(record& server, bool is_registered) noexcept;
  void check_registration(std::size_t index, const pending& request, const answer& reply, time_point now);
  void check_row(std::size_t index, const observed_list& about, const schema::instance& row);
  void check_presence(std::size_t index, const observed_list& about);
  void check_absence(std::size_t index, const observed_list& about);
  void report(violation_kind kind, std::size_t server, time_point now, std::string detail);
  void report_lasting(violation_kind kind, std::size_t server, time_point now, std::string detail);
  void clear(violation_kind kind, record& server) noexcept;
  std::string at(time_point moment) const;

  ledger_options options_;
  std::string id_prefix_;
  std::vector<member> members_;
  std::vector<record> servers_;
  std::unordered_map<std::string_view, std::size_t> by_id_; ///< Views of `members_`.
  time_point start_;
  time_point died_at_ = time_point::min(); ///< Answers and lists that were asked for before are of an earlier life.
  time_point ready_at_ = time_point::min();
  time_point stood_still_until_ = time_point::min();
  violation_log violations_;
  std::uint64_t lists_ = 0;
  std::size_t listed_ = 0;
  std::size_t up_ = 0;
  std::size_t cut_ = 0;
  std::size_t registered_ = 0;
};

} // namespace coordinator::fleet
