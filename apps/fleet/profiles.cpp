#include "apps/fleet/profiles.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace coordinator::fleet {

namespace {

using problem = std::optional<std::string>;

/// Puts a plan together. Every plan begins with all servers joining and ends with all of them leaving.
class planner {
public:
  planner(const plan_options& options, double share, std::mt19937_64& random)
      : options_{options}, share_{share}, random_{random} {
    for (std::uint32_t server = 0; server < options.servers; ++server)
      add(between(duration::zero(), options.heartbeat_interval), act_kind::start, server);
    enter(duration::zero(), "joining");
  }

  const plan_options& options() const noexcept { return options_; }
  double share() const noexcept { return share_; }

  /// All are in the list by then.
  duration joined() const noexcept { return options_.heartbeat_interval + options_.back_within; }
  duration length() const noexcept { return result_.length; }

  /// To be called before all else: `shortest` includes the joining.
  problem set_length(duration shortest) {
    result_.length = options_.length.value_or(shortest);
    if (result_.length >= shortest)
      return std::nullopt;
    return fmt::format("--duration: with these times the profile takes at least {:.1f} seconds",
                       std::ceil(to_seconds(shortest) * 10) / 10);
  }

  /// How often something that takes `period` fits between joining and leaving; at least once.
  int cycles(duration period) const noexcept {
    return static_cast<int>(std::max<duration::rep>((length() - joined()) / period, 1));
  }

  void add(duration at, act_kind kind, std::uint32_t server) { result_.acts.push_back({at, kind, server}); }
  void enter(duration at, std::string name) { result_.phases.push_back({at, std::move(name)}); }

  duration between(duration from, duration to) {
    return from + from_seconds(std::uniform_real_distribution{0.0, std::max(to_seconds(to - from), 0.0)}(random_));
  }
  double between(double from, double to) { return std::uniform_real_distribution{from, to}(random_); }

  std::vector<std::uint32_t> everybody_shuffled() {
    std::vector<std::uint32_t> result(options_.servers);
    std::iota(result.begin(), result.end(), 0U);
    std::shuffle(result.begin(), result.end(), random_);
    return result;
  }

  /// The profile's share of the servers, at least one, drawn anew.
  std::vector<std::uint32_t> some() {
    auto result = everybody_shuffled();
    result.resize(how_many());
    return result;
  }

  std::size_t how_many() const noexcept {
    const auto wanted = std::lround(share_ * static_cast<double>(options_.servers));
    return std::clamp<std::size_t>(static_cast<std::size_t>(wanted), 1, options_.servers);
  }

  plan finish() {
    enter(length(), "leaving");
    const auto spread = std::min<duration>(options_.heartbeat_interval, std::chrono::seconds{2});
    for (std::uint32_t server = 0; server < options_.servers; ++server)
      add(length() + between(duration::zero(), spread), act_kind::leave, server);
    std::ranges::stable_sort(result_.acts, {}, &act::at);
    std::ranges::stable_sort(result_.phases, {}, &phase::at);
    return std::move(result_);
  }

  std::vector<double>& clock_rates() noexcept { return result_.clock_rates; }
  std::vector<double>& wall_offsets() noexcept { return result_.wall_offsets; }

private:
  const plan_options& options_;
  double share_;
  std::mt19937_64& random_;
  plan result_;
};

/// Long enough that a lease which is not renewed runs out, and is seen to.
duration uneventful(const planner& to) {
  const auto& times = to.options();
  return std::max(to.joined(), times.heartbeat_interval + times.instance_timeout + times.sweep_interval);
}

problem steady(planner& to) {
  if (auto wrong = to.set_length(uneventful(to)))
    return wrong;
  to.enter(to.joined(), "steady");
  return std::nullopt;
}

problem rolling_restart(planner& to) {
  const auto interval = to.options().heartbeat_interval;
  const auto order = to.everybody_shuffled();
  const auto batch_size = to.how_many();
  const auto batches = static_cast<duration::rep>((order.size() + batch_size - 1) / batch_size);
  const auto rest = interval + to.options().back_within; // the last batch comes back, and is seen
  if (auto wrong = to.set_length(to.joined() + batches * (interval / 2) + rest))
    return wrong;
  const auto pace = (to.length() - to.joined() - rest) / batches;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const auto at = to.joined() + static_cast<duration::rep>(i / batch_size) * pace;
    if (i % batch_size == 0)
      to.enter(at, fmt::format("restarting batch {} of {}", i / batch_size + 1, batches));
    to.add(at, act_kind::leave, order[i]);
    to.add(at + to.between(interval / 10, interval), act_kind::start, order[i]);
  }
  to.enter(to.joined() + batches * pace, "restarted");
  return std::nullopt;
}

/// Something happens to a share of the servers at one moment, and is over only when the coordinator has had to notice.
problem in_waves(planner& to, act_kind begin, act_kind end, std::string_view during) {
  const auto& times = to.options();
  // Each wave meets the coordinator's sweeps and the servers' heartbeats at another moment of their rounds.
  const auto round = std::max(times.heartbeat_interval, times.sweep_interval);
  const auto period = round + times.gone_within + times.back_within;
  if (auto wrong = to.set_length(to.joined() + period))
    return wrong;
  for (int cycle = 0; cycle < to.cycles(period); ++cycle) {
    const auto at = to.joined() + cycle * period + to.between(duration::zero(), round);
    to.enter(at, std::string{during});
    to.enter(at + times.gone_within, "recovering");
    for (const auto server : to.some()) {
      to.add(at, begin, server);
      to.add(at + times.gone_within, end, server);
    }
  }
  return std::nullopt;
}

problem crash_waves(planner& to) {
  return in_waves(to, act_kind::crash, act_kind::start, "crashed");
}

problem partition(planner& to) {
  return in_waves(to, act_kind::cut, act_kind::heal, "cut off");
}

problem flapping(planner& to) {
  const auto interval = to.options().heartbeat_interval;
  const auto gone = to.options().gone_within;
  if (auto wrong = to.set_length(to.joined() + gone + 4 * interval + to.options().back_within))
    return wrong;
  const auto end = to.length() - to.options().back_within;
  to.enter(to.joined(), "flapping");
  to.enter(end, "recovering");
  for (const auto server : to.some()) {
    auto at = to.joined() + to.between(duration::zero(), interval);
    for (;;) {
      // As often too briefly to be noticed as for so long that it has to be.
      const bool is_brief = to.between(0.0, 1.0) < 0.5;
      const auto down = is_brief ? to.between(duration::zero(), interval) : to.between(interval, gone);
      if (at + down > end)
        break;
      to.add(at, act_kind::crash, server);
      to.add(at + down, act_kind::start, server);
      at += down + to.between(interval / 5, 3 * interval);
    }
  }
  return std::nullopt;
}

problem clock_skewed(planner& to) {
  const auto slowest = from_seconds(to_seconds(to.options().heartbeat_interval) / (1 - to.share()));
  if (slowest > to.options().instance_timeout / 2)
    return fmt::format(
        "--share: a clock that is {:g} slow sends heartbeats every {:.2f} seconds, and that is more than "
        "half of the instance timeout",
        to.share(), to_seconds(slowest));
  if (auto wrong = to.set_length(uneventful(to)))
    return wrong;
  to.enter(to.joined(), "skewed");
  constexpr double day = 24 * 3600;
  for (std::uint32_t server = 0; server < to.options().servers; ++server) {
    to.clock_rates().push_back(to.between(1 - to.share(), 1 + to.share()));
    to.wall_offsets().push_back(to.between(-day, day));
  }
  return std::nullopt;
}

problem herd(planner& to) {
  const auto period = to.options().heartbeat_interval + 2 * to.options().back_within;
  if (auto wrong = to.set_length(to.joined() + period))
    return wrong;
  for (int cycle = 0; cycle < to.cycles(period); ++cycle) {
    to.enter(to.joined() + cycle * period, "coordinator killed");
    to.add(to.joined() + cycle * period, act_kind::kill_coordinator, 0);
  }
  return std::nullopt;
}

struct entry {
  profile about;
  problem (*fill)(planner&);
};

constexpr entry entries[] = {
    {{"steady", "nothing happens to anybody", std::nullopt, "", false}, steady},
    {{"rolling-restart", "batches of servers leave and come back, until all have", 0.1, "of the servers in a batch",
      false},
     rolling_restart},
    {{"crash-waves", "servers die without a word, at one moment, and come back after they had to be noticed", 0.3,
      "of the servers that die", false},
     crash_waves},
    {{"flapping", "some servers die and come back all the time, too soon to be noticed or not", 0.2,
      "of the servers that flap", false},
     flapping},
    {{"partition", "servers can't reach the coordinator for a while but answer whoever reaches them", 0.8,
      "of the servers that are cut off", false},
     partition},
    {{"clock-skewed", "timers of servers are fast or slow, and their wall clocks wrong by up to a day", 0.3,
      "by which timers are fast or slow at most", false},
     clock_skewed},
    {{"herd", "the coordinator is killed and started again, and the whole fleet finds out", std::nullopt, "", true},
     herd},
};

} // namespace

const std::vector<profile>& all_profiles() {
  static const auto all = [] {
    std::vector<profile> result;
    for (const auto& entry : entries)
      result.push_back(entry.about);
    return result;
  }();
  return all;
}

const profile* find_profile(std::string_view name) {
  const auto found = std::ranges::find(all_profiles(), name, &profile::name);
  return found == all_profiles().end() ? nullptr : &*found;
}

std::variant<plan, std::string> make_plan(const profile& chosen, const plan_options& options, std::mt19937_64& random) {
  if (options.share && !chosen.default_share)
    return fmt::format("--share: the profile {} has no use for one", chosen.name);
  planner to{options, options.share.value_or(chosen.default_share.value_or(0)), random};
  for (const auto& entry : entries)
    if (entry.about.name == chosen.name)
      if (auto wrong = entry.fill(to))
        return std::move(*wrong);
  return to.finish();
}

} // namespace coordinator::fleet
