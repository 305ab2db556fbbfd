#include "actors/registry.hpp"

#include "actors/errors.hpp"
#include "test/actors/fixture.hpp"

#include <boost/test/unit_test.hpp>

using namespace coordinator;
using namespace std::chrono_literals;

namespace {

schema::register_request request(std::string id) {
  schema::register_request result;
  result.instance_id = std::move(id);
  result.ip = "192.0.2.1";
  result.http_port = 8080;
  return result;
}

struct fixture : test::actors_fixture {
  std::shared_ptr<progress_mark> progress = std::make_shared<progress_mark>("registry", 3s, now());
  registry_actor members = stop_at_end(
      system.spawn(registry, registry_options{30s, "run", [] { return "generated"; }, [] { return 12.5; }, progress}));

  caf::expected<registration> join(std::string id) {
    return ask<registration>(members, register_atom_v, request(std::move(id)));
  }
  std::size_t listed() { return ask<snapshot>(members, list_atom_v, std::string{})->rows->size(); }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(registry_test, fixture)

BOOST_AUTO_TEST_CASE(an_instance_lives_from_its_registration_to_its_departure) {
  auto joined = join("a");
  BOOST_REQUIRE(joined);
  BOOST_TEST(joined->entry->instance_id == "a");
  BOOST_TEST(joined->entry->registration_time == 12.5);
  BOOST_TEST(!joined->re_registered);
  BOOST_TEST(join("a")->re_registered);
  BOOST_TEST(join("")->entry->instance_id == "generated");
  BOOST_TEST(!tell(members, heartbeat_atom_v, instance_reference{"a", {}}));
  BOOST_TEST(listed() == 2u);
  BOOST_TEST(!tell(members, deregister_atom_v, instance_reference{"a", {}}));
  BOOST_TEST(listed() == 1u);
}

BOOST_AUTO_TEST_CASE(what_is_unknown_or_superseded_is_an_error_value) {
  const instance_reference stranger{"nobody", {}};
  BOOST_TEST((tell(members, heartbeat_atom_v, stranger) == ec::unknown_instance));
  BOOST_TEST((tell(members, deregister_atom_v, stranger) == ec::unknown_instance));
  BOOST_TEST((ask<instance_details>(members, find_atom_v, std::string{"nobody"}).error() == ec::unknown_instance));
  const auto earlier = join("a")->tag;
  join("a");
  const instance_reference late{"a", std::vector{earlier}};
  BOOST_TEST((tell(members, heartbeat_atom_v, late) == ec::superseded));
  BOOST_TEST((tell(members, deregister_atom_v, late) == ec::superseded));
  BOOST_TEST(listed() == 1u);
}

BOOST_AUTO_TEST_CASE(time_is_the_actor_clock_and_ages_are_measured_on_it) {
  join("a");
  advance(7s);
  BOOST_TEST((ask<instance_details>(members, find_atom_v, std::string{"a"})->age == 7s));
  BOOST_TEST(((*ask<std::vector<instance_details>>(members, details_atom_v))[0].age == 7s));
}

BOOST_AUTO_TEST_CASE(expiry_removes_what_is_stale_and_reports_it) {
  join("a");
  advance(20s);
  join("b");
  advance(11s);
  const auto report = ask<expiry_report>(members, expire_atom_v, expiry_request{});
  BOOST_TEST(report->lapsed == 1u);
  BOOST_TEST(report->remaining == 1u);
  BOOST_TEST((tell(members, heartbeat_atom_v, instance_reference{"a", {}}) == ec::unknown_instance));
}

BOOST_AUTO_TEST_CASE(expiry_may_only_lengthen_leases) {
  join("a");
  advance(31s);
  BOOST_TEST(ask<expiry_report>(members, expire_atom_v, expiry_request{5s, false})->lapsed == 0u);
  BOOST_TEST((ask<instance_details>(members, find_atom_v, std::string{"a"})->age == 26s));
}

BOOST_AUTO_TEST_CASE(a_tick_proves_progress) {
  advance(2s);
  BOOST_TEST((progress->age(now()) == 2s));
  caf::anon_send(members, caf::tick_atom_v);
  settle();
  BOOST_TEST((progress->age(now()) == 0s));
}

BOOST_AUTO_TEST_CASE(its_status_counts_messages_and_members) {
  join("a");
  tell(members, heartbeat_atom_v, instance_reference{"a", {}});
  const auto status = ask<actor_status>(members, status_atom_v);
  BOOST_TEST(status->name == "registry");
  BOOST_TEST(status->handled == 3u);
  BOOST_TEST((status->counters.front() == std::pair<std::string, std::uint64_t>{"instances", 1}));
}

BOOST_AUTO_TEST_SUITE_END()
