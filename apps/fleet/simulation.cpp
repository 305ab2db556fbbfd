#include "apps/fleet/simulation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace coordinator::fleet {

namespace {

using namespace std::chrono_literals;

constexpr duration tick_interval = 20ms;
/// So late, work of our own may have made servers late.
constexpr duration noteworthy_delay = 300ms;
/// Without any list for that long, and for an instance timeout, the coordinator counts as gone.
constexpr duration least_list_patience = 10s;

time_point now() {
  return std::chrono::steady_clock::now();
}

double wall_clock() {
  return std::chrono::duration<double>{std::chrono::system_clock::now().time_since_epoch()}.count();
}

std::vector<member> members_of(const simulation_options& options, std::uint16_t port) {
  std::vector<member> result;
  for (std::size_t i = 0; i < options.servers; ++i)
    result.push_back({fmt::format("{}{}", options.id_prefix, i), address_of(i), port});
  return result;
}

} // namespace

simulation::simulation(simulation_options options, plan todo, probe_listener& probes)
    : options_{std::move(options)}, plan_{std::move(todo)}, probes_{probes},
      loop_{std::make_unique<http::outbound_loop>(
          http::outbound_loop_options{options_.connections, options_.connections})},
      random_{options_.seed}, start_{now()}, book_{options_.rules, options_.id_prefix,
                                                   members_of(options_, probes.port()), start_},
      around_{.client = *loop_,
              .book = book_,
              .counts = figures_,
              .wake_at = [this](std::size_t server,
                                time_point when) { loop_->post_at(when, [this, server] { servers_[server].turn(); }); },
              .completion =
                  [this](std::size_t server, std::uint64_t request) {
                    return [this, server, request](const outbound_reply& reply) {
                      servers_[server].answered(request, reply);
                    };
                  },
              .random =
                  [this] {
                    return std::uniform_real_distribution{0.0, 1.0}(random_);
                  },
              .now = now,
              .wall = wall_clock},
      last_list_{start_} {
  figures_.servers = options_.servers;
  servers_.reserve(options_.servers);
  for (std::size_t i = 0; i < options_.servers; ++i) {
    mp_registrar::session_options session;
    session.coordinator_urls = {options_.coordinator_url};
    session.ip = address_of(i);
    session.http_port = probes.port();
    session.instance_id = fmt::format("{}{}", options_.id_prefix, i);
    if (!plan_.wall_offsets.empty()) // what its own clock says is for it to tell, and for nobody to go by
      session.metadata.emplace_back("started_at", fmt::format("{:.3f}", wall_clock() + plan_.wall_offsets[i]));
    session.heartbeat_interval = options_.heartbeat_interval;
    session.request_timeout = options_.request_timeout;
    servers_.emplace_back(i, std::move(session), plan_.clock_rates.empty() ? 1.0 : plan_.clock_rates[i], around_);
  }
}

simulation::~simulation() {
  loop_.reset(); // first, since its tasks use all the rest
}

void simulation::begin() {
  tick(now());
}

void simulation::end_early() {
  if (leaving_since_)
    return;
  plan_.acts.clear();
  next_act_ = 0;
  plan_.phases = {{0s, "leaving early"}};
  leaving_since_ = now();
  for (std::size_t i = 0; i < servers_.size(); ++i) {
    servers_[i].heal();
    servers_[i].leave();
    show_presence(i);
  }
}

void simulation::tick(time_point due) {
  const auto started = now();
  figures_.longest_delay = std::max<duration>(figures_.longest_delay, started - due);
  if (started - due > noteworthy_delay)
    book_.stood_still(started);
  const auto elapsed = started - start_;
  for (; next_act_ < plan_.acts.size() && plan_.acts[next_act_].at <= elapsed; ++next_act_)
    perform(plan_.acts[next_act_]);
  if (!leaving_since_ && elapsed >= plan_.length)
    leaving_since_ = started;
  const auto patience = std::max(options_.rules.instance_timeout, least_list_patience);
  if (!is_coordinator_down_ && started - last_list_ > patience)
    coordinator_failed(fmt::format("no list for {:.1f} seconds", to_seconds(started - last_list_)));
  if (has_ended(started))
    figures_.is_over = true;
  if (figures_.is_over)
    return;
  const auto next = std::max(due + tick_interval, started);
  loop_->post_at(next, [this, next] { tick(next); });
}

void simulation::perform(const act& what) {
  auto& server = servers_[what.server];
  switch (what.kind) {
  case act_kind::start:
    server.start();
    break;
  case act_kind::leave:
    server.leave();
    break;
  case act_kind::crash:
    server.crash();
    break;
  case act_kind::cut:
    server.cut();
    break;
  case act_kind::heal:
    server.heal();
    break;
  case act_kind::kill_coordinator:
    is_coordinator_down_ = true;
    ++figures_.coordinator_kills;
    return;
  }
  show_presence(what.server);
}

void simulation::show_presence(std::size_t server) {
  // A machine that is gone says nothing; one whose process is gone refuses.
  probes_.set(server, !servers_[server].is_down() ? presence::answering
                      : server % 2 == 0           ? presence::refusing
                                                  : presence::silent);
}

bool simulation::has_ended(time_point moment) {
  if (!leaving_since_ || next_act_ < plan_.acts.size())
    return false;
  if (moment > *leaving_since_ + options_.heartbeat_interval + 2 * options_.request_timeout + least_list_patience)
    return true;
  if (!all_down_since_ && std::ranges::all_of(servers_, &simulated_server::is_down))
    all_down_since_ = moment;
  return is_final_list_in_;
}

void simulation::take(const list_result& result) {
  auto& counts = figures_.lists;
  ++counts.sent;
  if (result.status == 0)
    ++counts.failed;
  else
    ++counts.answered;
  if (result.status == 429 || result.status == 503)
    ++counts.unavailable;
  else if (result.status != 0 && result.status != 200)
    note(violation_kind::wrong_answer, "the list: " + std::get<std::string>(result.list));
  if (result.is_nonsense && !std::exchange(is_nonsense_noted_, true))
    note(violation_kind::wrong_answer, std::get<std::string>(result.list));
  const auto* list = std::get_if<schema::instance_list>(&result.list);
  if (!list)
    return;
  counts.took.record(result.took);
  last_list_ = std::max(last_list_, result.about.received_at);
  book_.observe(result.about, *list);
  is_final_list_in_ = is_final_list_in_ || (all_down_since_ && result.about.requested_at > *all_down_since_);
}

void simulation::coordinator_died(time_point when) {
  book_.coordinator_died(when);
}

void simulation::coordinator_ready(time_point when) {
  is_coordinator_down_ = false;
  last_list_ = std::max(last_list_, when);
  book_.coordinator_ready(when);
}

void simulation::coordinator_failed(const std::string& how) {
  if (figures_.is_over)
    return;
  note(violation_kind::coordinator_ended, how);
  figures_.is_over = true;
}

void simulation::note(violation_kind kind, std::string detail) {
  book_.violations().add(kind, {book_.since_start(now()), "", std::move(detail)});
}

const figures& simulation::look() {
  figures_.elapsed = now() - start_;
  for (const auto& phase : plan_.phases)
    if (phase.at <= figures_.elapsed)
      figures_.phase = phase.name;
  figures_.up = book_.up();
  figures_.cut_off = book_.cut_off();
  figures_.registered = book_.registered();
  figures_.listed = book_.listed();
  figures_.violations = book_.violations();
  return figures_;
}

} // namespace coordinator::fleet
