#include "actors/ping.hpp"

#include "actors/errors.hpp"
#include "test/actors/fixture.hpp"
#include "test/actors/registry_for_tests.hpp"

#include <boost/test/unit_test.hpp>

#include <string>

using namespace coordinator;
using namespace std::chrono_literals;

namespace {

courier_actor::behavior_type scripted_courier(courier_actor::pointer, int status) {
  return {
      [=](call_atom, const instance_call& call) -> caf::result<outbound_reply> {
        BOOST_TEST(call.path == "/healthcheck");
        outbound_reply reply;
        reply.outcome = outbound_outcome::answered;
        reply.status = status;
        return reply;
      },
      [](changes_atom, const membership_update_ptr&) {},
      [](caf::tick_atom) {},
      [](links_atom, const links&) {},
      [](status_atom) { return actor_status{}; },
  };
}

struct fixture : test::actors_fixture {
  registry_actor members = start_registry();
  courier_actor well = stop_at_end(system.spawn(scripted_courier, 200));
  courier_actor unwell = stop_at_end(system.spawn(scripted_courier, 503));
  ping_actor pinger = stop_at_end(system.spawn(
      ping, ping_options{2s, 60s, links{members, well}, std::make_shared<progress_mark>("ping", 3s, now())}));

  registry_actor start_registry() { return stop_at_end(system.spawn(registry, test::options_of_registry(now()))); }

  void join(std::string id) { ask<registration>(members, register_atom_v, test::registration_of(std::move(id))); }
  caf::expected<ping_result> ping_of(std::string id) {
    return ask<ping_result>(pinger, ping_atom::value, std::move(id));
  }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(ping_test, fixture)

BOOST_AUTO_TEST_CASE(a_ping_asks_the_server_and_is_counted) {
  join("a");
  BOOST_TEST(ping_of("a")->reply.succeeded());
  caf::anon_send(pinger, links_atom_v, links{members, unwell});
  const auto second = ping_of("a");
  BOOST_TEST(second->reply.status == 503);
  BOOST_TEST(second->history.pings == 2u);
  BOOST_TEST(second->history.failed == 1u);
}

BOOST_AUTO_TEST_CASE(a_stranger_is_not_pinged) {
  BOOST_TEST((ping_of("nobody").error() == ec::unknown_instance));
}

BOOST_AUTO_TEST_CASE(a_new_registration_starts_with_a_clean_slate) {
  join("a");
  ping_of("a");
  join("a");
  BOOST_TEST(ping_of("a")->history.pings == 1u);
}

BOOST_AUTO_TEST_CASE(old_pings_are_forgotten_at_a_tick) {
  join("a");
  ping_of("a");
  advance(61s);
  caf::anon_send(pinger, caf::tick_atom_v);
  BOOST_TEST(ping_of("a")->history.pings == 1u);
}

BOOST_AUTO_TEST_CASE(after_a_restart_of_the_registry_the_new_one_is_asked) {
  join("a");
  caf::anon_send_exit(members, caf::exit_reason::kill);
  settle();
  members = start_registry();
  caf::anon_send(pinger, links_atom_v, links{members, well});
  BOOST_TEST((ping_of("a").error() == ec::unknown_instance));
  join("a");
  BOOST_TEST(ping_of("a")->reply.succeeded());
}

BOOST_AUTO_TEST_SUITE_END()
