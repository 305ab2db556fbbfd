#include "apps/fleet/ledger.hpp"

#include "schema/instance.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace coordinator::fleet {

namespace {

/// Overloaded, or a part is being restarted: no promise is broken by saying so.
bool is_unavailable(int status) noexcept {
  return status == 429 || status == 503;
}

constexpr std::uint16_t bit_of(violation_kind kind) noexcept {
  return static_cast<std::uint16_t>(1U << static_cast<unsigned>(kind));
}

std::string_view name_of(request_kind kind) noexcept {
  switch (kind) {
  case request_kind::registration:
    return "registration";
  case request_kind::heartbeat:
    return "heartbeat";
  case request_kind::departure:
    return "departure";
  }
  return "request";
}

} // namespace

ledger::ledger(ledger_options options, std::string id_prefix, std::vector<member> members, time_point start)
    : options_{options}, id_prefix_{std::move(id_prefix)}, members_{std::move(members)},
      servers_(members_.size()), start_{start} {
  by_id_.reserve(members_.size());
  for (std::size_t i = 0; i < members_.size(); ++i)
    by_id_.emplace(members_[i].instance_id, i);
}

void ledger::started(std::size_t index, time_point now) {
  auto& server = servers_[index];
  server.is_up = true;
  server.is_leaving = false;
  server.due_since = now;
  ++up_;
}

void ledger::leaving(std::size_t index) {
  servers_[index].is_leaving = true;
}

void ledger::ended(std::size_t index, time_point now) {
  auto& server = servers_[index];
  given_up(index, now);
  set_registered(server, false);
  server.is_up = false;
  server.is_leaving = false;
  --up_;
  if (options_.guard && server.is_cut) { // it answers no more
    server.lease_end = std::min(server.lease_end, now);
    server.renewable_until = now;
  }
}

void ledger::cut(std::size_t index, time_point now) {
  auto& server = servers_[index];
  given_up(index, now);
  server.is_cut = true;
  ++cut_;
  if (options_.guard && server.held_since && now + options_.margin <= server.lease_end)
    server.lease_end = time_point::max();
}

void ledger::healed(std::size_t index, time_point now) {
  auto& server = servers_[index];
  server.is_cut = false;
  --cut_;
  server.due_since = now;
  if (options_.guard) // what it answered until now may have renewed its lease
    server.renewable_until = now;
  // Until its next heartbeat nobody can say how its lease stands.
  server.lease_end = std::min(server.lease_end, now);
}

void ledger::sent(std::size_t index, request_kind kind, time_point now, double wall) {
  auto& server = servers_[index];
  server.under_way = pending{kind, now, wall, surely_gone(server, now)};
  if (kind == request_kind::registration) {
    server.ever_posted = true;
    server.left_at.reset();
  } else if (kind == request_kind::departure) {
    server.held_since.reset();
  }
}

void ledger::given_up(std::size_t index, time_point now) {
  auto& server = servers_[index];
  const auto request = std::exchange(server.under_way, std::nullopt);
  if (!request)
    return;
  server.given_up_at = now;
  if (request->kind == request_kind::departure)
    set_registered(server, false);
  else
    server.renewable_until = now;
}

void ledger::answered(std::size_t index, const answer& reply, time_point now) {
  auto& server = servers_[index];
  const auto request = *std::exchange(server.under_way, std::nullopt);
  const bool is_current = request.at >= died_at_;
  const auto wrong = [&](std::string_view what) {
    if (is_current)
      report(violation_kind::wrong_answer, index, now,
             fmt::format("the {} of {} was answered with {}", name_of(request.kind), at(request.at), what));
  };

  const bool is_success = request.kind == request_kind::departure ? reply.status == 204 : reply.status == 200;
  if (is_success && request.kind != request_kind::departure) {
    if (!reply.instance_id)
      wrong("a body that is none of a coordinator's");
    else if (*reply.instance_id != members_[index].instance_id)
      wrong(fmt::format("another id: {}", *reply.instance_id));
    if (reply.instance_id != members_[index].instance_id) {
      server.renewable_until = now;
      return;
    }
  }

  switch (request.kind) {
  case request_kind::registration:
    if (is_success) {
      if (is_current)
        check_registration(index, request, reply, now);
      server.registered_at = now;
      server.registered_wall = request.wall;
    } else if (!is_unavailable(reply.status)) {
      wrong(fmt::format("status {}", reply.status));
    }
    break;
  case request_kind::heartbeat:
    if (reply.status == 404) {
      if (surely_held(server, request.at, now))
        wrong("status 404 although its lease ran");
      server.held_since.reset();
      server.due_since = std::max(server.due_since, now);
      set_registered(server, false);
      return; // was not handled as a renewal
    }
    if (reply.status == 412) {
      // Right when a registration that was given up came in after the one in force.
      const auto rest_of_it = options_.slack + options_.instance_timeout + options_.sweep_interval;
      if (!server.given_up_at || now > *server.given_up_at + rest_of_it)
        wrong("status 412 although nobody else registered the id");
      server.held_since.reset();
      server.due_since = std::max(server.due_since, now + options_.instance_timeout + options_.sweep_interval);
      return;
    }
    if (!is_success && !is_unavailable(reply.status))
      wrong(fmt::format("status {}", reply.status));
    break;
  case request_kind::departure:
    set_registered(server, false);
    if (is_success)
      server.left_at = now;
    else if (reply.status != 412 && !is_unavailable(reply.status))
      wrong(fmt::format("status {}", reply.status));
    return;
  }

  server.renewable_until = now;
  if (is_success && is_current)
    renew(server, request, now);
}

void ledger::renew(record& server, const pending& request, time_point now) {
  set_registered(server, true);
  if (!server.held_since || request.at + options_.margin > server.lease_end)
    server.held_since = now;
  server.lease_end = request.at + options_.instance_timeout;
}

void ledger::set_registered(record& server, bool is_registered) noexcept {
  registered_ += static_cast<std::size_t>(is_registered) - static_cast<std::size_t>(server.is_registered);
  server.is_registered = is_registered;
}

void ledger::check_registration(std::size_t index, const pending& request, const answer& reply, time_point now) {
  const auto& server = servers_[index];
  if (!reply.re_registered)
    return;
  if (*reply.re_registered) {
    if (request.was_surely_gone)
      report(violation_kind::wrong_answer, index, now,
             "the registration is said to have replaced another one, but there was none");
    else if (surely_over(server, request.at))
      report_lasting(violation_kind::dead_but_listed, index, now,
                     fmt::format("the registration is said to have replaced one that was last renewed at {}",
                                 at(*server.renewable_until)));
  } else if (surely_held(server, request.at, now)) {
    report(violation_kind::wrong_answer, index, now,
           fmt::format("the registration is said to be a first one, but the one before holds since {}",
                       at(*server.held_since)));
  }
}

bool ledger::surely_held(const record& server, time_point from, time_point to) const noexcept {
  return server.held_since && *server.held_since <= from && to <= server.lease_end - options_.margin;
}

bool ledger::surely_gone(const record& server, time_point moment) const noexcept {
  return !server.renewable_until
         || (server.left_at && (!server.given_up_at || *server.given_up_at + options_.slack < moment));
}

bool ledger::surely_over(const record& server, time_point moment) const noexcept {
  if (!server.renewable_until || options_.sweep_interval <= duration::zero())
    return false;
  return moment > *server.renewable_until + options_.instance_timeout + options_.sweep_interval + options_.slack
                      + options_.guard.value_or(duration::zero());
}

void ledger::coordinator_died(time_point when) {
  died_at_ = when;
  ready_at_ = time_point::max();
  for (auto& server : servers_) {
    if (!server.held_since || *server.held_since < when) {
      server.held_since.reset();
      server.lease_end = std::min(server.lease_end, when);
    }
    if (server.renewable_until && *server.renewable_until < when)
      server.renewable_until.reset();
  }
}

void ledger::coordinator_ready(time_point when) {
  ready_at_ = when;
}

void ledger::stood_still(time_point now) {
  stood_still_until_ = now;
}

void ledger::observe(const observed_list& about, const schema::instance_list& list) {
  if (about.requested_at < died_at_)
    return;
  ++lists_;
  listed_ = 0;
  for (const auto& row : list.instances) {
    if (!row.instance_id.starts_with(id_prefix_))
      continue; // somebody else's
    const auto found = by_id_.find(row.instance_id);
    if (found == by_id_.end() || !servers_[found->second].ever_posted) {
      violations_.add(violation_kind::stranger,
                      {since_start(about.received_at), row.instance_id, "nobody registered this id"});
      continue;
    }
    auto& server = servers_[found->second];
    if (std::exchange(server.seen_in, lists_) == lists_) {
      report(violation_kind::duplicate, found->second, about.received_at, "more than one row of the same list");
      continue;
    }
    ++listed_;
    check_row(found->second, about, row);
  }
  for (std::size_t index = 0; index < servers_.size(); ++index) {
    if (servers_[index].seen_in == lists_)
      check_presence(index, about);
    else
      check_absence(index, about);
  }
}

void ledger::check_row(std::size_t index, const observed_list& about, const schema::instance& row) {
  const auto& server = servers_[index];
  const auto& self = members_[index];
  if (row.ip != self.ip || row.http_port != self.http_port)
    return report_lasting(
        violation_kind::wrong_row, index, about.received_at,
        fmt::format("listed at {} port {}, registered at {} port {}", row.ip, row.http_port, self.ip, self.http_port));
  // The registration may be a later one than we know of, but not an earlier one once a lease runs.
  const auto slack = to_seconds(options_.slack);
  const bool is_known = server.held_since && server.registered_at <= about.requested_at;
  if (options_.same_wall_clock
      && (row.registration_time > about.received_wall + slack
          || (is_known && row.registration_time < server.registered_wall - slack)))
    return report_lasting(violation_kind::wrong_row, index, about.received_at,
                          fmt::format("registration_time is {:.3f}, but it registered between {:.3f} and {:.3f}",
                                      row.registration_time, server.registered_wall, about.received_wall));
  clear(violation_kind::wrong_row, servers_[index]);
}

void ledger::check_presence(std::size_t index, const observed_list& about) {
  auto& server = servers_[index];
  clear(violation_kind::live_but_evicted, server);
  clear(violation_kind::lost, server);
  if (server.left_at && *server.left_at <= about.requested_at && surely_gone(server, about.requested_at))
    report_lasting(violation_kind::left_but_listed, index, about.received_at,
                   fmt::format("its departure was answered at {}", at(*server.left_at)));
  else
    clear(violation_kind::left_but_listed, server);
  const bool is_renewing = server.under_way && server.under_way->kind != request_kind::departure;
  if (!surely_over(server, about.requested_at))
    clear(violation_kind::dead_but_listed, server);
  else if (!server.left_at && !is_renewing && !(options_.guard && server.is_up && server.is_cut))
    report_lasting(violation_kind::dead_but_listed, index, about.received_at,
                   fmt::format("last renewed at {}", at(*server.renewable_until)));
}

void ledger::check_absence(std::size_t index, const observed_list& about) {
  auto& server = servers_[index];
  clear(violation_kind::dead_but_listed, server);
  clear(violation_kind::left_but_listed, server);
  if (surely_held(server, about.requested_at, about.received_at)) {
    report_lasting(
        violation_kind::live_but_evicted, index, about.received_at,
        server.lease_end == time_point::max()
            ? fmt::format("held since {}, cut off, and it answers", at(*server.held_since))
            : fmt::format("held since {}, its lease runs until {}", at(*server.held_since), at(server.lease_end)));
    return;
  }
  if (!server.is_up || server.is_leaving || server.is_cut || ready_at_ == time_point::max())
    return;
  const auto due_since = std::max({server.due_since, server.lease_end, ready_at_, stood_still_until_});
  if (about.requested_at > due_since + options_.back_within)
    report_lasting(violation_kind::lost, index, about.received_at,
                   fmt::format("running and within reach since {}", at(due_since)));
}

void ledger::report(violation_kind kind, std::size_t server, time_point now, std::string detail) {
  violations_.add(kind, {since_start(now), members_[server].instance_id, std::move(detail)});
}

void ledger::report_lasting(violation_kind kind, std::size_t index, time_point now, std::string detail) {
  auto& server = servers_[index];
  if ((server.reported & bit_of(kind)) != 0)
    return;
  server.reported = static_cast<std::uint16_t>(server.reported | bit_of(kind));
  report(kind, index, now, std::move(detail));
}

void ledger::clear(violation_kind kind, record& server) noexcept {
  server.reported = static_cast<std::uint16_t>(server.reported & ~bit_of(kind));
}

std::string ledger::at(time_point moment) const {
  return fmt::format("{:.3f} s", to_seconds(since_start(moment)));
}

} // namespace coordinator::fleet
