#include "harness/deadline.hpp"
#include "harness/mp_server_process.hpp"
#include "harness/service.hpp"

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>

#include <csignal>
#include <optional>
#include <string>
#include <vector>

// The guard against evicting many at once, with real servers at the other end. One that listens at every address of
// this machine stands for as many servers in the same condition.

using namespace coordinator::service_test;

namespace {

constexpr double guard_max = 6;
const std::vector<std::string> everywhere{"--host", "0.0.0.0"};

struct guarded : service {
  explicit guarded(const std::vector<std::string>& further_flags = {}) : service{flags(further_flags)} {}

  static std::vector<std::string> flags(const std::vector<std::string>& further) {
    std::vector<std::string> result{"--instance-timeout", "1",   "--health-check-interval", "0.25",
                                    "--eviction-guard",   "0.5", "--eviction-guard-max",    std::to_string(guard_max)};
    result.insert(result.end(), further.begin(), further.end());
    return result;
  }

  /// Each at an address of its own.
  void join(const std::string& prefix, int count, std::uint16_t port) {
    for (int i = 0; i < count; ++i)
      register_instance(
          api,
          {.instance_id = fmt::format("{}-{}", prefix, i), .ip = fmt::format("127.0.0.{}", i + 1), .http_port = port});
  }

  std::size_t listed(std::string_view prefix) {
    std::size_t result = 0;
    for (const auto& id : listed_ids(api))
      result += id.starts_with(prefix) ? 1 : 0;
    return result;
  }

  std::optional<json> guard() {
    const auto readiness = api.get("/readyz");
    BOOST_TEST(readiness.status == 200);
    const auto body = readiness.body_json();
    return body.has("guard") ? std::optional{body["guard"]} : std::nullopt;
  }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(eviction_guard, guarded)

BOOST_AUTO_TEST_CASE(those_that_answer_stay_and_those_that_refuse_leave) {
  mp_server_process alive{everywhere};
  join("alive", 10, alive.port());
  join("dead", 10, free_port());
  BOOST_TEST(eventually(10s, [&] { return listed("dead") == 0; }));
  // For several leases more, though not one heartbeat comes.
  BOOST_TEST(holds_for(4s, [&] { return listed("alive") == 10; }));
  BOOST_TEST(alive.calls().size() >= 20u);
  BOOST_TEST(alive.calls().front()["target"].text() == "/healthcheck");
}

BOOST_AUTO_TEST_CASE(one_that_stops_answering_leaves_though_it_is_only_one) {
  mp_server_process alive{everywhere};
  std::optional<mp_server_process> other{std::in_place, everywhere};
  join("alive", 10, alive.port());
  join("other", 1, other->port());
  BOOST_TEST(holds_for(2500ms, [&] { return listed("") == 11; }));
  other->send_signal(SIGKILL);
  BOOST_TEST(eventually(10s, [&] { return listed("other") == 0; }));
  BOOST_TEST(listed("alive") == 10u);
}

BOOST_AUTO_TEST_CASE(silent_servers_are_held_back_visibly_and_leave_when_they_have_had_their_time) {
  mp_server_process silent{everywhere};
  silent.set_socket("silent");
  join("silent", 10, silent.port());
  const auto start = monotonic_clock::now();
  std::optional<json> shown;
  BOOST_TEST_REQUIRE(eventually(5s, [&] { return (shown = guard()).has_value(); }));
  BOOST_TEST((*shown)["held_back"].integer() > 0);
  BOOST_TEST((*shown)["held_back"].integer() <= 10);
  BOOST_TEST((*shown)["ends_within_seconds"].number() <= guard_max);
  BOOST_TEST(!(*shown)["how"].text().empty());
  BOOST_TEST(listed("silent") == 10u);
  BOOST_TEST(eventually(15s, [&] { return listed("silent") == 0; }));
  BOOST_TEST(seconds_since(start) < (1 + 0.25 + guard_max) * leniency);
  BOOST_TEST(eventually(5s, [&] { return !guard(); }));
  BOOST_TEST(process.wait_for_output("health.guard_done alive=0 evicted=", 5s));
}

BOOST_AUTO_TEST_CASE(a_stopped_server_is_not_mistaken_for_one_that_lives) {
  mp_server_process stopped{everywhere};
  stopped.halt(); // its system goes on accepting connections
  join("stopped", 10, stopped.port());
  BOOST_TEST(eventually(15s, [&] { return listed("stopped") == 0; }));
  stopped.send_signal(SIGCONT);
}

BOOST_AUTO_TEST_CASE(a_pause_of_the_coordinator_costs_nobody_who_answered_meanwhile) {
  mp_server_process slow{everywhere};
  slow.set_faults(R"([{"method":"GET","path":"/healthcheck","delay_ms":600}])");
  join("mp", 10, slow.port());
  BOOST_TEST_REQUIRE(eventually(5s, [&] { return guard().has_value(); }));
  process.send_signal(SIGSTOP);
  let_pass(3s); // more than a question may take
  process.send_signal(SIGCONT);
  BOOST_TEST(holds_for(3s, [&] { return listed("mp") == 10; }));
}

BOOST_AUTO_TEST_CASE(those_whose_turn_to_be_asked_did_not_come_are_asked_again) {
  guarded narrow{{"--courier-connections", "1"}};
  mp_server_process silent{everywhere};
  silent.set_socket("silent");
  mp_server_process alive{everywhere};
  narrow.join("silent", 1, silent.port());
  narrow.join("alive", 5, alive.port());
  BOOST_TEST(eventually(10s, [&] { return narrow.listed("silent") == 0; }));
  BOOST_TEST(holds_for(2s, [&] { return narrow.listed("alive") == 5; }));
}

BOOST_AUTO_TEST_CASE(who_comes_back_by_itself_is_not_evicted) {
  mp_server_process silent{everywhere};
  silent.set_socket("silent");
  join("mp", 20, silent.port());
  BOOST_TEST_REQUIRE(eventually(5s, [&] { return guard().has_value(); }));
  BOOST_TEST(listed("mp") == 20u);
  BOOST_TEST(eventually(15s, [&] {
    for (int i = 0; i < 10; ++i)
      heartbeat(api, fmt::format("mp-{}", i));
    return listed("mp") == 10;
  }));
  for (int i = 0; i < 10; ++i)
    BOOST_TEST(is_listed(api, fmt::format("mp-{}", i)));
}

BOOST_AUTO_TEST_CASE(one_of_many_and_all_of_very_few_leave_as_without_a_guard) {
  mp_server_process alive; // it would answer, but is not asked
  join("few", 4, alive.port());
  BOOST_TEST(eventually(5s, [&] { return listed("few") == 0; }));
  join("mp", 20, alive.port());
  BOOST_TEST(eventually(10s, [&] {
    for (int i = 1; i < 20; ++i)
      heartbeat(api, fmt::format("mp-{}", i));
    return listed("mp") == 19;
  }));
  BOOST_TEST(alive.calls().empty());
}

BOOST_AUTO_TEST_CASE(a_guard_that_has_ended_lets_single_ones_go_and_holds_again_the_next_time) {
  mp_server_process silent{everywhere};
  silent.set_socket("silent");
  mp_server_process alive{everywhere};
  for (int round = 0; round < 2; ++round) {
    join("silent", 10, silent.port());
    BOOST_TEST_REQUIRE(eventually(5s, [&] { return guard().has_value(); }));
    BOOST_TEST(listed("silent") == 10u);
    BOOST_TEST(eventually(15s, [&] { return listed("silent") == 0; }));
    BOOST_TEST(eventually(5s, [&] { return !guard(); }));
    join("mp", 10, alive.port());
    alive.forget_calls();
    BOOST_TEST(eventually(10s, [&] {
      for (int i = 1; i < 10; ++i)
        heartbeat(api, fmt::format("mp-{}", i));
      return listed("mp") == 9;
    }));
    BOOST_TEST(alive.calls().empty()); // it was not asked, as without a guard
    for (int i = 1; i < 10; ++i)
      api.del(fmt::format("/instances/mp-{}", i));
  }
}

BOOST_AUTO_TEST_CASE(a_dead_one_is_not_kept_by_another_that_answers_at_its_address) {
  // As after a restart of all servers that take a new id each time.
  mp_server_process alive{everywhere};
  join("former", 10, alive.port());
  join("present", 10, alive.port());
  join("gone", 5, free_port());
  const auto start = monotonic_clock::now();
  BOOST_TEST(eventually(5s, [&] {
    for (int i = 0; i < 10; ++i)
      heartbeat(api, fmt::format("present-{}", i));
    return listed("former") == 0;
  }));
  BOOST_TEST(seconds_since(start) < (1 + 0.25) * leniency);
  BOOST_TEST(holds_for(3s, [&] { return listed("present") == 10; })); // on answers alone
}

BOOST_AUTO_TEST_SUITE_END()
