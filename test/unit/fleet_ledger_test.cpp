#include "apps/fleet/ledger.hpp"
#include "schema/instance.hpp"

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>

#include <string>
#include <vector>

using namespace coordinator::fleet;
using namespace std::chrono_literals;
namespace schema = coordinator::schema;

namespace {

constexpr std::size_t a = 0;
constexpr std::size_t b = 1;

ledger_options usual_options() {
  ledger_options options;
  options.instance_timeout = 30s;
  options.sweep_interval = 10s;
  options.back_within = 15s;
  options.slack = 1s;
  options.margin = 100ms;
  options.same_wall_clock = true;
  return options;
}

/// Two servers, a and b, a clock that moves only by hand, and a coordinator that says what the test wants.
struct fixture {
  const time_point start{1h};
  time_point now = start;
  double wall = 1'000'000;
  ledger book;

  explicit fixture(const ledger_options& options = usual_options())
      : book{options, "fleet-", {{"fleet-a", "127.16.0.1", 8080}, {"fleet-b", "127.16.0.2", 8080}}, start} {}

  void pass(duration time) {
    now += time;
    wall += to_seconds(time);
  }

  static answer accepted(std::size_t server, bool re_registered = false) {
    return {200, server == a ? "fleet-a" : "fleet-b", re_registered};
  }

  void ask(std::size_t server, request_kind kind, const answer& reply, duration way = 1ms) {
    book.sent(server, kind, now, wall);
    pass(way);
    book.answered(server, reply, now);
  }

  void join(std::size_t server, bool re_registered = false) {
    book.started(server, now);
    ask(server, request_kind::registration, accepted(server, re_registered));
  }
  void beat(std::size_t server) { ask(server, request_kind::heartbeat, {200, accepted(server).instance_id, {}}); }
  void leave(std::size_t server) {
    book.leaving(server);
    ask(server, request_kind::departure, {204, {}, {}});
  }

  schema::instance row(std::size_t server) const {
    schema::instance result;
    result.instance_id = server == a ? "fleet-a" : "fleet-b";
    result.ip = server == a ? "127.16.0.1" : "127.16.0.2";
    result.http_port = 8080;
    result.registration_time = wall;
    return result;
  }

  void list(const std::vector<schema::instance>& rows, duration way = 1ms) {
    observed_list about;
    about.requested_at = now;
    pass(way);
    about.received_at = now;
    about.received_wall = wall;
    book.observe(about, {rows});
  }

  std::uint64_t count(violation_kind kind) const { return book.violations().count(kind); }
  std::uint64_t total() const { return book.violations().total(); }
};

struct fixture_with_guard : fixture {
  fixture_with_guard()
      : fixture{[] {
          auto options = usual_options();
          options.guard = 60s;
          return options;
        }()} {}
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(fleet_ledger_test, fixture)

BOOST_AUTO_TEST_CASE(a_fleet_that_is_listed_as_it_is_breaks_nothing) {
  join(a);
  join(b);
  for (int i = 0; i < 100; ++i) {
    list({row(a), row(b)});
    pass(5s);
    beat(a);
    beat(b);
  }
  BOOST_TEST(total() == 0u);
  BOOST_TEST(book.listed() == 2u);
  BOOST_TEST(book.up() == 2u);
  BOOST_TEST(book.registered() == 2u);
  BOOST_TEST(book.lists() == 100u);
}

// -- live but evicted --

BOOST_AUTO_TEST_CASE(a_server_that_is_missing_within_its_lease_was_evicted_alive) {
  join(a);
  pass(29s);
  list({});
  BOOST_TEST(count(violation_kind::live_but_evicted) == 1u);
  const auto& example = book.violations().examples(violation_kind::live_but_evicted).front();
  BOOST_TEST(example.instance_id == "fleet-a");
  BOOST_TEST(example.detail == "held since 0.001 s, its lease runs until 30.000 s");
}

BOOST_AUTO_TEST_CASE(a_crash_does_not_shorten_the_lease) {
  join(a);
  book.ended(a, now);
  pass(20s);
  list({});
  BOOST_TEST(count(violation_kind::live_but_evicted) == 1u);
}

BOOST_AUTO_TEST_CASE(a_heartbeat_lengthens_the_lease_from_when_it_was_sent) {
  join(a);
  pass(20s);
  ask(a, request_kind::heartbeat, {200, "fleet-a", {}}, 4s); // at 20 s, answered at 24 s
  pass(25s);
  list({}, 500ms); // received at 49.5 s
  BOOST_TEST(count(violation_kind::live_but_evicted) == 1u);
}

BOOST_AUTO_TEST_CASE(nothing_is_claimed_close_to_the_end_of_a_lease) {
  join(a);
  pass(29s);
  list({}, 950ms); // 29.95 s are no longer sure
  BOOST_TEST(total() == 0u);
}

BOOST_AUTO_TEST_CASE(nothing_is_claimed_of_a_registration_that_was_answered_after_the_list_was_requested) {
  book.started(a, now);
  book.sent(a, request_kind::registration, now, wall);
  observed_list about;
  about.requested_at = now;
  pass(1ms);
  book.answered(a, accepted(a), now);
  pass(1s);
  about.received_at = now;
  book.observe(about, {});
  BOOST_TEST(total() == 0u);
}

BOOST_AUTO_TEST_CASE(nothing_is_claimed_across_a_gap_between_two_leases) {
  join(a);
  pass(29'950ms);
  observed_list about;
  about.requested_at = now;
  pass(100ms);
  // The lease may have run out before that, and this may be a new registration by another way.
  beat(a);
  pass(100ms);
  about.received_at = now;
  book.observe(about, {});
  BOOST_TEST(total() == 0u);
}

BOOST_AUTO_TEST_CASE(a_server_that_is_about_to_leave_may_be_missing) {
  join(a);
  pass(1s);
  book.leaving(a);
  book.sent(a, request_kind::departure, now, wall);
  pass(1ms);
  list({});
  BOOST_TEST(total() == 0u);
}

BOOST_AUTO_TEST_CASE(what_lasts_is_told_once_and_again_when_it_comes_back) {
  join(a);
  list({});
  list({});
  BOOST_TEST(count(violation_kind::live_but_evicted) == 1u);
  list({row(a)});
  list({});
  BOOST_TEST(count(violation_kind::live_but_evicted) == 2u);
}

// -- dead but listed --

BOOST_AUTO_TEST_CASE(a_dead_server_may_be_listed_until_timeout_and_interval_are_over) {
  join(a);
  book.ended(a, now);
  pass(40'900ms); // timeout, interval and most of the slack
  list({row(a)});
  BOOST_TEST(total() == 0u);
  pass(200ms);
  list({row(a)});
  BOOST_TEST(count(violation_kind::dead_but_listed) == 1u);
  BOOST_TEST(book.violations().examples(violation_kind::dead_but_listed).front().detail == "last renewed at 0.001 s");
}

BOOST_AUTO_TEST_CASE(a_heartbeat_that_was_under_way_at_the_crash_may_have_renewed_the_lease) {
  join(a);
  pass(20s);
  book.sent(a, request_kind::heartbeat, now, wall);
  pass(1s);
  book.ended(a, now);
  pass(40s);
  list({row(a)});
  BOOST_TEST(total() == 0u);
  pass(2s);
  list({row(a)});
  BOOST_TEST(count(violation_kind::dead_but_listed) == 1u);
}

BOOST_AUTO_TEST_CASE(a_server_that_is_cut_off_has_to_lapse) {
  join(a);
  book.cut(a, now);
  pass(50s);
  list({row(a)});
  BOOST_TEST(count(violation_kind::dead_but_listed) == 1u);
}

BOOST_AUTO_TEST_CASE(a_registration_that_replaces_a_dead_one_tells_that_it_was_still_there) {
  join(a);
  book.ended(a, now);
  pass(45s);
  join(a, true);
  BOOST_TEST(count(violation_kind::dead_but_listed) == 1u);
}

BOOST_AUTO_TEST_CASE(nobody_is_dead_for_a_coordinator_that_evicts_nobody) {
  auto options = usual_options();
  options.sweep_interval = 0s;
  fixture never{options};
  never.join(a);
  never.book.ended(a, never.now);
  never.pass(1h);
  never.list({never.row(a)});
  BOOST_TEST(never.total() == 0u);
}

// -- left but listed --

BOOST_AUTO_TEST_CASE(a_server_whose_departure_was_answered_must_not_be_listed) {
  join(a);
  leave(a);
  list({row(a)});
  BOOST_TEST(count(violation_kind::left_but_listed) == 1u);
}

BOOST_AUTO_TEST_CASE(a_server_that_left_and_came_back_may_be_listed) {
  join(a);
  leave(a);
  book.ended(a, now);
  book.started(a, now);
  book.sent(a, request_kind::registration, now, wall);
  list({row(a)});
  BOOST_TEST(total() == 0u);
  book.answered(a, accepted(a), now);
  list({row(a)});
  BOOST_TEST(total() == 0u);
}

BOOST_AUTO_TEST_CASE(a_list_that_was_requested_before_the_departure_was_answered_may_have_the_server) {
  join(a);
  observed_list about;
  about.requested_at = now;
  pass(1ms);
  leave(a);
  about.received_at = now;
  about.received_wall = wall;
  book.observe(about, {{row(a)}});
  BOOST_TEST(total() == 0u);
}

// -- lost --

BOOST_AUTO_TEST_CASE(a_server_that_never_gets_into_the_list_is_lost) {
  book.started(a, now);
  ask(a, request_kind::registration, {503, {}, {}});
  pass(14s);
  list({});
  BOOST_TEST(total() == 0u);
  pass(2s);
  list({});
  BOOST_TEST(count(violation_kind::lost) == 1u);
}

BOOST_AUTO_TEST_CASE(after_a_restart_of_the_coordinator_there_is_time_to_come_back) {
  join(a);
  pass(1s);
  book.coordinator_died(now);
  pass(1s);
  list({});
  BOOST_TEST(total() == 0u);
  book.coordinator_ready(now);
  pass(14s);
  list({});
  BOOST_TEST(total() == 0u);
  pass(2s);
  list({});
  BOOST_TEST(count(violation_kind::lost) == 1u);
}

BOOST_AUTO_TEST_CASE(a_list_of_the_coordinator_before_its_restart_proves_nothing) {
  join(a);
  observed_list about;
  about.requested_at = now;
  pass(1ms);
  book.coordinator_died(now);
  book.coordinator_ready(now);
  about.received_at = now;
  book.observe(about, {});
  BOOST_TEST(total() == 0u);
  BOOST_TEST(book.lists() == 0u);
}

BOOST_AUTO_TEST_CASE(a_server_that_is_down_or_cut_off_is_not_lost) {
  join(a);
  join(b);
  book.ended(a, now);
  book.cut(b, now);
  pass(100s);
  list({});
  BOOST_TEST(total() == 0u);
}

BOOST_AUTO_TEST_CASE(after_a_partition_has_healed_there_is_time_to_come_back) {
  join(a);
  book.cut(a, now);
  pass(100s);
  book.healed(a, now);
  pass(14s);
  list({});
  BOOST_TEST(total() == 0u);
  pass(2s);
  list({});
  BOOST_TEST(count(violation_kind::lost) == 1u);
}

BOOST_AUTO_TEST_CASE(a_server_that_lapsed_because_it_was_late_has_time_to_come_back) {
  join(a);
  pass(44s);
  list({}); // late since its lease ended at 30 s
  BOOST_TEST(total() == 0u);
  ask(a, request_kind::heartbeat, {404, {}, {}});
  pass(14s);
  list({});
  BOOST_TEST(total() == 0u);
  pass(2s);
  list({});
  BOOST_TEST(count(violation_kind::lost) == 1u);
}

BOOST_AUTO_TEST_CASE(a_simulator_that_stood_still_blames_nobody_for_it) {
  join(a);
  pass(60s);
  book.stood_still(now);
  pass(1s);
  list({});
  BOOST_TEST(total() == 0u);
  pass(15s);
  list({});
  BOOST_TEST(count(violation_kind::lost) == 1u);
}

// -- duplicates, strangers, wrong rows --

BOOST_AUTO_TEST_CASE(an_id_that_is_listed_twice_is_a_duplicate) {
  join(a);
  list({row(a), row(a)});
  BOOST_TEST(count(violation_kind::duplicate) == 1u);
  BOOST_TEST(total() == 1u);
}

BOOST_AUTO_TEST_CASE(an_id_of_ours_that_nobody_registered_is_a_stranger) {
  join(a);
  auto unknown = row(a);
  unknown.instance_id = "fleet-c";
  list({row(a), unknown, row(b)}); // b exists, but has not registered
  BOOST_TEST(count(violation_kind::stranger) == 2u);
}

BOOST_AUTO_TEST_CASE(rows_of_others_are_none_of_our_business) {
  join(a);
  auto other = row(b);
  other.instance_id = "somebody";
  list({row(a), other, other});
  BOOST_TEST(total() == 0u);
  BOOST_TEST(book.listed() == 1u);
}

BOOST_AUTO_TEST_CASE(a_row_with_the_address_of_another_server_is_wrong) {
  join(a);
  auto wrong = row(a);
  wrong.ip = "127.16.0.2";
  list({wrong});
  BOOST_TEST(count(violation_kind::wrong_row) == 1u);
  BOOST_TEST(book.violations().examples(violation_kind::wrong_row).front().detail
             == "listed at 127.16.0.2 port 8080, registered at 127.16.0.1 port 8080");
}

BOOST_AUTO_TEST_CASE(a_registration_time_that_is_not_the_coordinators_is_wrong) {
  join(a);
  auto early = row(a);
  early.registration_time -= 3600;
  list({early});
  BOOST_TEST(count(violation_kind::wrong_row) == 1u);
  list({row(a)});
  auto late = row(a);
  late.registration_time += 3600;
  list({late});
  BOOST_TEST(count(violation_kind::wrong_row) == 2u);
}

BOOST_AUTO_TEST_CASE(the_registration_time_of_an_earlier_registration_is_right_in_an_earlier_list) {
  join(a);
  const auto first = row(a);
  pass(20s);
  observed_list about;
  about.requested_at = now;
  pass(1ms);
  book.ended(a, now);
  join(a, true);
  about.received_at = now;
  about.received_wall = wall;
  book.observe(about, {{first}});
  BOOST_TEST(total() == 0u);
  list({first});
  BOOST_TEST(count(violation_kind::wrong_row) == 1u);
}

// -- wrong answers --

BOOST_AUTO_TEST_CASE(an_answer_that_names_another_id_is_wrong) {
  book.started(a, now);
  ask(a, request_kind::registration, accepted(b));
  BOOST_TEST(count(violation_kind::wrong_answer) == 1u);
  BOOST_TEST(book.violations().examples(violation_kind::wrong_answer).front().detail
             == "the registration of 0.000 s was answered with another id: fleet-b");
}

BOOST_AUTO_TEST_CASE(an_answer_that_is_no_coordinators_is_wrong) {
  book.started(a, now);
  ask(a, request_kind::registration, {200, {}, {}});
  BOOST_TEST(count(violation_kind::wrong_answer) == 1u);
}

BOOST_AUTO_TEST_CASE(statuses_that_the_contract_does_not_have_are_wrong) {
  join(a);
  ask(a, request_kind::heartbeat, {500, {}, {}});
  ask(a, request_kind::registration, {422, {}, {}});
  ask(a, request_kind::departure, {404, {}, {}});
  BOOST_TEST(count(violation_kind::wrong_answer) == 3u);
}

BOOST_AUTO_TEST_CASE(to_be_unavailable_is_not_wrong) {
  join(a);
  ask(a, request_kind::heartbeat, {503, {}, {}});
  ask(a, request_kind::heartbeat, {429, {}, {}});
  BOOST_TEST(total() == 0u);
}

BOOST_AUTO_TEST_CASE(a_heartbeat_within_the_lease_must_not_be_unknown) {
  join(a);
  pass(5s);
  ask(a, request_kind::heartbeat, {404, {}, {}});
  BOOST_TEST(count(violation_kind::wrong_answer) == 1u);
}

BOOST_AUTO_TEST_CASE(a_heartbeat_after_the_lease_or_after_a_restart_may_be_unknown) {
  join(a);
  pass(31s);
  ask(a, request_kind::heartbeat, {404, {}, {}});
  ask(a, request_kind::registration, accepted(a));
  pass(1s);
  book.coordinator_died(now);
  book.coordinator_ready(now);
  pass(1s);
  ask(a, request_kind::heartbeat, {404, {}, {}});
  ask(a, request_kind::registration, accepted(a));
  BOOST_TEST(total() == 0u);
}

BOOST_AUTO_TEST_CASE(a_registration_can_only_be_superseded_by_one_that_was_given_up) {
  join(a);
  ask(a, request_kind::heartbeat, {412, {}, {}});
  BOOST_TEST(count(violation_kind::wrong_answer) == 1u);
  book.sent(a, request_kind::registration, now, wall);
  pass(10s);
  book.given_up(a, now);
  ask(a, request_kind::registration, accepted(a, true));
  ask(a, request_kind::heartbeat, {412, {}, {}});
  BOOST_TEST(total() == 1u);
  // It takes the lease of the one that superseded it to come back.
  pass(45s);
  list({});
  BOOST_TEST(total() == 1u);
}

BOOST_AUTO_TEST_CASE(a_first_registration_replaces_nothing) {
  join(a, true);
  BOOST_TEST(count(violation_kind::wrong_answer) == 1u);
  book.ended(a, now);
  join(b);
  leave(b);
  book.ended(b, now);
  join(b, true);
  BOOST_TEST(count(violation_kind::wrong_answer) == 2u);
}

BOOST_AUTO_TEST_CASE(a_registration_within_the_lease_of_the_last_one_replaces_it) {
  join(a);
  book.ended(a, now);
  pass(5s);
  join(a, false);
  BOOST_TEST(count(violation_kind::wrong_answer) == 1u);
}

BOOST_AUTO_TEST_CASE(a_registration_that_may_have_been_handled_may_be_replaced_or_not) {
  for (const bool replaced : {false, true}) {
    fixture f;
    f.book.started(a, f.now);
    f.book.sent(a, request_kind::registration, f.now, f.wall);
    f.pass(1ms);
    f.book.ended(a, f.now);
    f.join(a, replaced);
    BOOST_TEST(f.total() == 0u);
  }
}

BOOST_AUTO_TEST_CASE(answers_to_requests_of_before_a_restart_prove_nothing) {
  join(a);
  book.sent(a, request_kind::heartbeat, now, wall);
  pass(1ms);
  book.coordinator_died(now);
  book.answered(a, {200, "fleet-a", {}}, now);
  book.coordinator_ready(now);
  list({});
  BOOST_TEST(total() == 0u);
  ask(a, request_kind::heartbeat, {404, {}, {}});
  BOOST_TEST(total() == 0u);
}

BOOST_AUTO_TEST_CASE(a_restart_that_is_told_late_does_not_undo_what_came_after_it) {
  join(a);
  pass(1s);
  const auto died = now;
  pass(1s);
  ask(a, request_kind::heartbeat, {404, {}, {}});
  BOOST_TEST(count(violation_kind::wrong_answer) == 1u); // not known yet
  ask(a, request_kind::registration, accepted(a));
  book.coordinator_died(died);
  book.coordinator_ready(now);
  pass(1s);
  list({});
  BOOST_TEST(count(violation_kind::live_but_evicted) == 1u);
}

// -- with an eviction guard --

BOOST_FIXTURE_TEST_CASE(behind_a_guard_a_server_that_is_cut_off_stays, fixture_with_guard) {
  join(a);
  book.cut(a, now);
  pass(10min);
  list({row(a)});
  BOOST_TEST(total() == 0u);
  list({});
  BOOST_TEST(count(violation_kind::live_but_evicted) == 1u);
  BOOST_TEST(book.violations().examples(violation_kind::live_but_evicted).front().detail
             == "held since 0.001 s, cut off, and it answers");
}

BOOST_FIXTURE_TEST_CASE(behind_a_guard_a_dead_server_stays_for_its_bound_at_most, fixture_with_guard) {
  join(a);
  book.ended(a, now);
  pass(100s);
  list({row(a)});
  BOOST_TEST(total() == 0u);
  pass(2s);
  list({row(a)});
  BOOST_TEST(count(violation_kind::dead_but_listed) == 1u);
}

BOOST_FIXTURE_TEST_CASE(behind_a_guard_nothing_is_claimed_between_healing_and_the_next_heartbeat, fixture_with_guard) {
  join(a);
  book.cut(a, now);
  pass(10min);
  book.healed(a, now);
  pass(1s);
  list({});
  BOOST_TEST(total() == 0u);
  beat(a);
  list({});
  BOOST_TEST(count(violation_kind::live_but_evicted) == 1u);
}

BOOST_FIXTURE_TEST_CASE(behind_a_guard_answers_count_as_signs_of_life_until_the_partition_or_the_server_ends,
                        fixture_with_guard) {
  join(a);
  join(b);
  book.cut(a, now);
  book.cut(b, now);
  pass(10min);
  book.healed(a, now);
  book.ended(b, now);
  pass(100s); // timeout, interval and guard
  list({row(a), row(b)});
  BOOST_TEST(total() == 0u);
  pass(2s);
  list({row(a), row(b)});
  BOOST_TEST(count(violation_kind::dead_but_listed) == 2u);
}

// -- what is kept of violations --

BOOST_AUTO_TEST_CASE(all_violations_are_counted_and_the_first_are_kept) {
  for (int i = 0; i < 50; ++i)
    book.violations().add(violation_kind::stranger, {1s, fmt::format("fleet-{}", i), ""});
  BOOST_TEST(count(violation_kind::stranger) == 50u);
  BOOST_TEST(book.violations().examples(violation_kind::stranger).size() == violation_log::max_examples);
  BOOST_TEST(book.violations().examples(violation_kind::stranger).back().instance_id == "fleet-19");
}

BOOST_AUTO_TEST_SUITE_END()
