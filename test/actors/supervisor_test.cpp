#include "actors/supervisor.hpp"

#include "actors/errors.hpp"
#include "actors/health.hpp"
#include "test/actors/fixture.hpp"
#include "test/actors/registry_for_tests.hpp"

#include <boost/test/unit_test.hpp>

using namespace coordinator;
using namespace std::chrono_literals;

namespace {

/// The real registry and health actors under the real supervisor, as the service runs them.
struct fixture : test::actors_fixture {
  std::shared_ptr<progress_board> board = std::make_shared<progress_board>();
  std::vector<std::string> gave_up;
  std::vector<std::string> ended; ///< In order.
  registry_actor members;         ///< The current one.
  health_actor sweeper;
  int registries = 0;
  supervisor_actor root;

  fixture() { root = stop_at_end(system.spawn(supervisor, options())); }
  ~fixture() { stop_all(); }

  template <class Handle>
  void record_end(const Handle& actor, std::string name) {
    caf::actor_cast<caf::strong_actor_ptr>(actor)->get()->attach_functor(
        [this, name](const caf::error&) { ended.push_back(name); });
  }

  supervisor_options options() {
    supervisor_options result;
    result.board = board;
    result.give_up = [this](const std::string& reason) { gave_up.push_back(reason); };
    auto sweep = board->watch("sweep", 3s, now());
    result.children.push_back(
        {"registry", 1s,
         [this](caf::actor_system& sys, links& actors, const std::shared_ptr<progress_mark>& progress) -> child {
           auto options = test::options_of_registry(now());
           options.instance_timeout = 3s;
           options.run = "run" + std::to_string(++registries);
           options.progress = progress;
           members = actors.registry = sys.spawn(registry, std::move(options));
           record_end(members, "registry");
           return {members, {}};
         }});
    result.children.push_back(
        {"health", 1s,
         [this, sweep](caf::actor_system& sys, links& actors, const std::shared_ptr<progress_mark>& progress) -> child {
           auto spawned = sys.spawn(
               health, health_options{1s, true, 60s, actors, std::make_shared<guard_board>(), progress, sweep});
           sweeper = spawned;
           record_end(spawned, "health");
           return {spawned, [spawned](const links& current) { caf::anon_send(spawned, links_atom_v, current); }};
         }});
    return result;
  }

  void join(std::string id) {
    schema::register_request request;
    request.instance_id = std::move(id);
    request.ip = "192.0.2.1";
    request.http_port = 8080;
    BOOST_REQUIRE(ask<registration>(members, register_atom_v, request));
  }
  std::size_t listed() { return ask<snapshot>(members, list_atom_v, std::string{})->rows->size(); }
  template <class Handle>
  void crash(const Handle& actor) {
    caf::anon_send_exit(actor, caf::exit_reason::kill);
    settle();
  }
  std::uint64_t sweeps() { return ask<actor_status>(sweeper, status_atom_v)->counters.front().second; }
  std::uint64_t restarts(std::string_view name) {
    const auto status = ask<actor_status>(root, status_atom_v);
    for (const auto& [key, value] : status->counters)
      if (key == std::string{name} + ".restarts")
        return value;
    BOOST_FAIL("no child " << name);
    return 0;
  }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(supervisor_test, fixture)

BOOST_AUTO_TEST_CASE(a_silent_instance_is_evicted_by_the_ticks_alone) {
  settle();
  join("silent");
  join("beating");
  for (int second = 0; second < 3; ++second) {
    advance(1s);
    tell(members, heartbeat_atom_v, instance_reference{"beating", {}});
    BOOST_TEST(listed() == 2u);
  }
  advance(1s);
  BOOST_TEST(listed() == 1u);
}

BOOST_AUTO_TEST_CASE(ticks_neither_drift_nor_pile_up) {
  settle();
  advance(60s, 70ms); // steps that miss every due time a little
  BOOST_TEST(sweeps() >= 59u);
  BOOST_TEST(sweeps() <= 60u);
  const auto before = sweeps();
  jump(30s);
  BOOST_TEST(sweeps() == before + 1);
  advance(10s);
  BOOST_TEST(sweeps() == before + 11);
}

BOOST_AUTO_TEST_CASE(everything_is_ready_while_ticks_come_and_named_when_they_do_not) {
  settle();
  advance(10s);
  BOOST_TEST(board->late(now()).empty());
  scheduler.clock().current_time += 4s; // nothing runs
  const auto late = board->late(now());
  BOOST_TEST(late.size() == 4u); // sweep, registry, health, supervisor
}

BOOST_AUTO_TEST_CASE(a_crashed_registry_is_restarted_empty_and_known_to_all) {
  settle();
  join("a");
  const auto before = members;
  crash(members);
  BOOST_TEST((members != before));
  BOOST_TEST(restarts("registry") == 1u);
  BOOST_TEST(listed() == 0u);
  // the fleet comes back the way the protocol says: a heartbeat is refused, and the server registers again
  BOOST_TEST((tell(members, heartbeat_atom_v, instance_reference{"a", {}}) == ec::unknown_instance));
  join("a");
  advance(5s); // and the sweep reaches the new registry
  BOOST_TEST(listed() == 0u);
}

BOOST_AUTO_TEST_CASE(a_crashed_health_actor_is_restarted_and_sweeps_on) {
  settle();
  join("a");
  crash(sweeper);
  BOOST_TEST(restarts("health") == 1u);
  advance(5s);
  BOOST_TEST(listed() == 0u);
  BOOST_TEST(gave_up.empty());
}

BOOST_AUTO_TEST_CASE(an_actor_that_somebody_else_told_to_stop_is_restarted_too) {
  settle();
  caf::anon_send_exit(members, caf::exit_reason::user_shutdown);
  settle();
  BOOST_TEST(restarts("registry") == 1u);
}

BOOST_AUTO_TEST_CASE(failures_far_apart_are_restarted_for_ever) {
  settle();
  for (int i = 0; i < 20; ++i) {
    crash(members);
    advance(61s, 500ms);
  }
  BOOST_TEST(restarts("registry") == 20u);
  BOOST_TEST(gave_up.empty());
}

BOOST_AUTO_TEST_CASE(a_child_that_fails_again_and_again_is_waited_for_longer_and_then_given_up) {
  settle();
  crash(members); // restarted at once
  BOOST_TEST(registries == 2);
  crash(members);
  BOOST_TEST(registries == 2);
  advance(50ms);
  BOOST_TEST(registries == 3);
  crash(members);
  advance(50ms);
  BOOST_TEST(registries == 3);
  advance(50ms);
  BOOST_TEST(registries == 4);
  for (int i = 0; i < 2; ++i) {
    crash(members);
    advance(1s);
  }
  BOOST_TEST(registries == 6);
  BOOST_TEST(gave_up.empty());
  crash(members);
  advance(5s);
  BOOST_TEST(registries == 6);
  BOOST_TEST(gave_up.size() == 1u);
}

BOOST_AUTO_TEST_CASE(it_stops_its_children_last_started_first) {
  settle();
  caf::anon_send_exit(root, caf::exit_reason::user_shutdown);
  settle();
  BOOST_TEST(ended == (std::vector<std::string>{"health", "registry"}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_request_that_waits_when_the_registry_ends_gets_an_error_and_not_silence) {
  settle();
  caf::anon_send_exit(members, caf::exit_reason::kill);
  const auto answer = ask<instance_details>(members, find_atom_v, std::string{"a"});
  BOOST_REQUIRE(!answer);
  BOOST_TEST(!(answer.error() == ec::unknown_instance));
}

BOOST_AUTO_TEST_SUITE_END()
