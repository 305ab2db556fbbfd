#include "apps/fleet/profiles.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

using namespace coordinator::fleet;
using namespace std::chrono_literals;

namespace {

/// What the acts make of a server.
struct fate {
  bool up = false;
  bool cut = false;
};

plan_options usual_options() {
  plan_options options;
  options.servers = 50;
  options.instance_timeout = 10s;
  options.sweep_interval = 2s;
  options.heartbeat_interval = 1s;
  options.back_within = 3s;
  options.gone_within = 14s;
  return options;
}

struct fixture {
  plan_options options = usual_options();

  std::variant<plan, std::string> try_plan(std::string_view name, unsigned seed = 1) const {
    std::mt19937_64 random{seed};
    const auto* profile = find_profile(name);
    BOOST_TEST_REQUIRE(profile != nullptr);
    return make_plan(*profile, options, random);
  }

  plan make(std::string_view name, unsigned seed = 1) const {
    auto made = try_plan(name, seed);
    BOOST_TEST_REQUIRE(std::holds_alternative<plan>(made));
    return std::get<plan>(std::move(made));
  }

  std::string refusal(std::string_view name) const {
    const auto made = try_plan(name);
    BOOST_TEST_REQUIRE(std::holds_alternative<std::string>(made));
    return std::get<std::string>(made);
  }

  static std::vector<act> acts_of(const plan& whole, act_kind kind) {
    std::vector<act> result;
    std::ranges::copy_if(whole.acts, std::back_inserter(result), [&](const act& one) { return one.kind == kind; });
    return result;
  }

  static std::set<std::uint32_t> servers_of(const std::vector<act>& acts) {
    std::set<std::uint32_t> result;
    for (const auto& one : acts)
      result.insert(one.server);
    return result;
  }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(fleet_profiles_test, fixture)

BOOST_AUTO_TEST_CASE(in_every_profile_all_servers_join_and_all_leave_and_each_act_makes_sense) {
  for (const auto& profile : all_profiles()) {
    BOOST_TEST_CONTEXT(profile.name) {
      const auto whole = make(profile.name);
      BOOST_TEST(std::ranges::is_sorted(whole.acts, {}, &act::at));
      BOOST_TEST(std::ranges::is_sorted(whole.phases, {}, &phase::at));
      BOOST_TEST(whole.phases.front().name == "joining");
      BOOST_TEST((whole.phases.front().at == 0s));
      BOOST_TEST(whole.phases.back().name == "leaving");
      BOOST_TEST((whole.phases.back().at == whole.length));
      std::map<std::uint32_t, fate> fleet;
      bool is_over = false;
      for (const auto& one : whole.acts) {
        BOOST_TEST(one.server < options.servers);
        if (!is_over && one.at >= whole.length) {
          is_over = true;
          BOOST_TEST(fleet.size() == options.servers);
          for (const auto& [server, state] : fleet)
            BOOST_TEST((state.up && !state.cut));
        }
        auto& state = fleet[one.server];
        switch (one.kind) {
        case act_kind::start:
          BOOST_TEST(!std::exchange(state.up, true));
          break;
        case act_kind::leave:
        case act_kind::crash:
          BOOST_TEST(std::exchange(state.up, false));
          break;
        case act_kind::cut:
          BOOST_TEST(!std::exchange(state.cut, true));
          break;
        case act_kind::heal:
          BOOST_TEST(std::exchange(state.cut, false));
          break;
        case act_kind::kill_coordinator:
          BOOST_TEST(profile.needs_own_coordinator);
          break;
        }
      }
      BOOST_TEST(is_over);
      for (const auto& [server, state] : fleet)
        BOOST_TEST(!state.up);
    }
  }
}

BOOST_AUTO_TEST_CASE(the_same_seed_makes_the_same_plan_and_another_one_another) {
  for (const auto& profile : all_profiles()) {
    const auto times = [&](unsigned seed) {
      std::vector<std::pair<duration, std::uint32_t>> result;
      for (const auto& one : make(profile.name, seed).acts)
        result.emplace_back(one.at, one.server);
      return result;
    };
    BOOST_TEST((times(7) == times(7)));
    BOOST_TEST((times(7) != times(8)));
  }
}

BOOST_AUTO_TEST_CASE(a_duration_that_is_too_short_is_refused_with_the_shortest_one) {
  options.length = 20s;
  BOOST_TEST(refusal("crash-waves") == "--duration: with these times the profile takes at least 23.0 seconds");
  options.length = 23s;
  BOOST_TEST((make("crash-waves").length == 23s));
}

BOOST_AUTO_TEST_CASE(crash_waves_kill_the_share_at_once_and_bring_it_back_after_it_had_to_be_noticed) {
  options.share = 0.4;
  options.length = 64s; // joined after 4 s; a wave takes 19 s
  const auto whole = make("crash-waves");
  const auto crashes = acts_of(whole, act_kind::crash);
  BOOST_TEST(crashes.size() == 3u * 20u);
  std::set<duration> moments;
  for (const auto& one : crashes)
    moments.insert(one.at);
  BOOST_TEST_REQUIRE(moments.size() == 3u);
  auto earliest = duration{4s};
  for (const auto moment : moments) {
    BOOST_TEST((moment >= earliest && moment < earliest + 2s)); // at any moment of the coordinator's rounds
    earliest += 19s;
  }
  BOOST_TEST(servers_of(crashes).size() > 20u); // not always the same ones
}

BOOST_AUTO_TEST_CASE(a_partition_cuts_off_four_fifths_until_they_had_to_lapse) {
  const auto whole = make("partition");
  const auto cut = acts_of(whole, act_kind::cut);
  BOOST_TEST(servers_of(cut).size() == 40u);
  const auto healed = acts_of(whole, act_kind::heal);
  BOOST_TEST(healed.size() == 40u);
  for (const auto& one : healed)
    BOOST_TEST((one.at == cut.front().at + options.gone_within));
  BOOST_TEST(acts_of(whole, act_kind::crash).empty());
}

BOOST_AUTO_TEST_CASE(a_rolling_restart_takes_every_server_once_a_batch_at_a_time) {
  options.share = 0.2;
  const auto whole = make("rolling-restart");
  std::map<duration, std::set<std::uint32_t>> batches;
  for (const auto& one : acts_of(whole, act_kind::leave))
    if (one.at < whole.length)
      batches[one.at].insert(one.server);
  BOOST_TEST(batches.size() == 5u);
  std::set<std::uint32_t> all;
  for (const auto& [at, batch] : batches) {
    BOOST_TEST(batch.size() == 10u);
    all.insert(batch.begin(), batch.end());
  }
  BOOST_TEST(all.size() == 50u);
}

BOOST_AUTO_TEST_CASE(flapping_servers_are_down_both_too_briefly_to_be_noticed_and_long_enough) {
  options.length = 300s;
  const auto whole = make("flapping");
  BOOST_TEST(servers_of(acts_of(whole, act_kind::crash)).size() == 10u);
  std::map<std::uint32_t, duration> down_since;
  std::size_t brief = 0;
  std::size_t noticed = 0;
  for (const auto& one : whole.acts) {
    if (one.kind == act_kind::crash)
      down_since[one.server] = one.at;
    else if (one.kind == act_kind::start && down_since.contains(one.server))
      ++(one.at - down_since[one.server] < options.instance_timeout ? brief : noticed);
  }
  BOOST_TEST(brief > 20u);
  BOOST_TEST(noticed > 5u);
}

BOOST_AUTO_TEST_CASE(skewed_clocks_stay_within_their_share_and_within_the_lease) {
  options.share = 0.5;
  const auto whole = make("clock-skewed");
  BOOST_TEST(whole.clock_rates.size() == 50u);
  BOOST_TEST(whole.wall_offsets.size() == 50u);
  const auto [slowest, fastest] = std::ranges::minmax_element(whole.clock_rates);
  BOOST_TEST(*slowest >= 0.5);
  BOOST_TEST(*slowest < 0.7);
  BOOST_TEST(*fastest <= 1.5);
  BOOST_TEST(*fastest > 1.3);
  options.share = 0.9; // a heartbeat every 10 s
  BOOST_TEST(
      refusal("clock-skewed").starts_with("--share: a clock that is 0.9 slow sends heartbeats every 10.00 seconds"));
}

BOOST_AUTO_TEST_CASE(a_herd_is_made_by_killing_the_coordinator) {
  BOOST_TEST(acts_of(make("herd"), act_kind::kill_coordinator).size() == 1u);
  options.length = 100s;
  BOOST_TEST(acts_of(make("herd"), act_kind::kill_coordinator).size() == 13u);
  for (const auto& profile : all_profiles())
    BOOST_TEST(profile.needs_own_coordinator == (profile.name == "herd"));
}

BOOST_AUTO_TEST_CASE(a_share_is_refused_where_it_means_nothing) {
  options.share = 0.5;
  BOOST_TEST(refusal("steady") == "--share: the profile steady has no use for one");
  BOOST_TEST(refusal("herd") == "--share: the profile herd has no use for one");
}

BOOST_AUTO_TEST_CASE(a_share_takes_at_least_one_server) {
  options.servers = 3;
  options.share = 0.001;
  BOOST_TEST(acts_of(make("crash-waves"), act_kind::crash).size() == 1u);
}

BOOST_AUTO_TEST_CASE(there_is_no_profile_of_an_unknown_name) {
  BOOST_TEST((find_profile("unsteady") == nullptr));
}

BOOST_AUTO_TEST_SUITE_END()
