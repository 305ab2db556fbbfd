#include "actors/courier.hpp"

#include "actors/errors.hpp"
#include "actors/registry.hpp"
#include "test/actors/fixture.hpp"
#include "test/actors/registry_for_tests.hpp"

#include <caf/event_based_actor.hpp>

#include <boost/test/unit_test.hpp>

#include <map>
#include <memory>
#include <string>
#include <vector>

using namespace coordinator;
using namespace std::chrono_literals;

namespace {

/// Calls nobody: calls are done when the test says so.
struct scripted_client : outbound_client {
  struct call {
    outbound_request request;
    completion done;
  };

  std::map<call_id, call> open;
  std::vector<outbound_request> started;
  std::vector<call_id> cancelled;
  bool answers_at_once = false;

  call_id start(outbound_request request, completion done) override {
    started.push_back(request);
    const auto id = static_cast<call_id>(started.size());
    if (answers_at_once)
      done(answer(200));
    else
      open.emplace(id, call{std::move(request), std::move(done)});
    return id;
  }

  void cancel(call_id id) override {
    cancelled.push_back(id);
    open.erase(id);
  }

  static outbound_reply answer(int status) {
    outbound_reply reply;
    reply.outcome = outbound_outcome::answered;
    reply.status = status;
    return reply;
  }

  void finish(call_id id, outbound_reply reply) {
    auto node = open.extract(id);
    BOOST_REQUIRE(!node.empty());
    node.mapped().done(std::move(reply));
  }
};

/// What one who asked the courier has been told.
struct told {
  int answers = 0;
  outbound_reply reply;
  caf::error error;
};

using told_ptr = std::shared_ptr<told>;

struct fixture : test::actors_fixture {
  std::shared_ptr<scripted_client> client = std::make_shared<scripted_client>();
  std::shared_ptr<progress_mark> progress = std::make_shared<progress_mark>("courier", 3s, now());
  std::shared_ptr<membership_memory> memory = std::make_shared<membership_memory>();
  links actors;
  courier_actor calls;

  fixture() {
    start_registry();
    actors.courier = calls = start_courier();
    settle();
  }
  ~fixture() { stop_all(); }

  void start_registry() {
    auto options = test::options_of_registry(now());
    options.memory = memory;
    actors.registry = stop_at_end(system.spawn(registry, std::move(options)));
  }

  courier_actor start_courier(call_limits limits = {}) {
    return stop_at_end(courier_actor{system.spawn(courier, courier_options{client, limits, 1s, actors, progress})});
  }

  /// A registration of `id`, at an address of its own.
  member join(const std::string& id, std::string ip = "192.0.2.1", std::uint16_t port = 8080) {
    schema::register_request request;
    request.instance_id = id;
    request.ip = std::move(ip);
    request.http_port = port;
    return ask<registration>(actors.registry, register_atom_v, std::move(request))->joined;
  }

  void leave(const std::string& id) {
    BOOST_REQUIRE(!tell(actors.registry, deregister_atom_v, instance_reference{id, {}}));
  }

  /// Asks without waiting for the answer, and without running anybody.
  told_ptr post(const courier_actor& whom, const instance_call& call) {
    auto result = std::make_shared<told>();
    const auto ask_once = [whom, call](caf::event_based_actor* asker, const told_ptr& answer) {
      asker->request(whom, caf::infinite, call_atom_v, call)
          .then(
              [answer](outbound_reply& reply) {
                ++answer->answers;
                answer->reply = std::move(reply);
              },
              [answer](caf::error& error) {
                ++answer->answers;
                answer->error = std::move(error);
              });
    };
    stop_at_end(system.spawn(ask_once, result));
    return result;
  }

  told_ptr call(const instance_call& what) {
    auto result = post(calls, what);
    settle();
    return result;
  }

  told_ptr call(const member& target, duration timeout = 5s) { return call(call_of(target, timeout)); }

  static instance_call call_of(const member& target, duration timeout = 5s) {
    instance_call result;
    result.target = target;
    result.path = "/healthcheck";
    result.timeout = timeout;
    return result;
  }

  void finish(scripted_client::call_id id, outbound_reply reply) {
    client->finish(id, std::move(reply));
    settle();
  }

  std::string url(const member& target, std::string path) {
    auto what = call_of(target);
    what.path = std::move(path);
    call(what);
    return client->started.back().url;
  }

  std::uint64_t counter(std::string_view name) {
    const auto status = ask<actor_status>(calls, status_atom_v);
    for (const auto& [key, value] : status->counters)
      if (key == name)
        return value;
    BOOST_FAIL("no counter " << name);
    return 0;
  }

  std::size_t armed_timers() const { return scheduler.clock().schedule().size(); }
};

using ids = std::vector<scripted_client::call_id>;

bool has_departed(const told_ptr& who) {
  return who->answers == 1 && who->error == ec::departed;
}

} // namespace

BOOST_FIXTURE_TEST_SUITE(courier_test, fixture)

BOOST_AUTO_TEST_CASE(a_call_is_made_as_asked_and_its_answer_told_as_it_came) {
  auto what = call_of(join("a", "192.0.2.7", 8081), 3s);
  what.method = "DELETE";
  what.path = "/cache/objects?tier=l2";
  what.body = R"({"keys":[]})";
  what.max_reply_bytes = 77;
  const auto asked = call(what);
  BOOST_REQUIRE(client->started.size() == 1u);
  const auto& request = client->started.front();
  BOOST_TEST(request.method == "DELETE");
  BOOST_TEST(request.url == "http://192.0.2.7:8081/cache/objects?tier=l2");
  BOOST_TEST(request.body == R"({"keys":[]})");
  BOOST_TEST(request.max_reply_bytes == 77u);
  BOOST_TEST((request.timeout == 3s));
  BOOST_TEST((request.connect_timeout == 1s));
  BOOST_TEST(asked->answers == 0);

  advance(250ms);
  auto reply = scripted_client::answer(503);
  reply.headers = {{"retry-after", "1"}};
  reply.body = R"({"detail":"busy"})";
  finish(1, reply);
  BOOST_TEST(asked->answers == 1);
  BOOST_TEST((asked->reply.outcome == outbound_outcome::answered));
  BOOST_TEST(asked->reply.status == 503);
  BOOST_TEST(asked->reply.header("retry-after") == "1");
  BOOST_TEST(asked->reply.body == R"({"detail":"busy"})");
  BOOST_TEST((asked->reply.took == 250ms));
  BOOST_TEST(counter("answered_5xx") == 1u);
}

BOOST_AUTO_TEST_CASE(a_failure_is_a_reply_that_says_what_went_wrong) {
  const auto target = join("a");
  for (const auto outcome : {outbound_outcome::refused, outbound_outcome::timed_out, outbound_outcome::failed}) {
    const auto asked = call(target);
    outbound_reply reply;
    reply.outcome = outcome;
    reply.detail = "what curl says";
    finish(client->started.size(), reply);
    BOOST_TEST(asked->answers == 1);
    BOOST_TEST((asked->reply.outcome == outcome));
    BOOST_TEST(asked->reply.detail == "what curl says");
    BOOST_TEST(counter(to_string(outcome)) == 1u);
  }
}

BOOST_AUTO_TEST_CASE(a_client_that_answers_on_the_spot_is_heard) {
  client->answers_at_once = true;
  const auto asked = call(join("a"));
  BOOST_TEST(asked->answers == 1);
  BOOST_TEST(asked->reply.status == 200);
}

BOOST_AUTO_TEST_CASE(addresses_of_all_kinds_make_urls) {
  BOOST_TEST(url(join("a", "cache-1.example", 80), "/metrics") == "http://cache-1.example:80/metrics");
  BOOST_TEST(url(join("b", "2001:db8::1"), "/metrics") == "http://[2001:db8::1]:8080/metrics");
  BOOST_TEST(url(join("c", "fe80::1%eth0"), "/metrics") == "http://[fe80::1%25eth0]:8080/metrics");
}

BOOST_AUTO_TEST_CASE(a_path_never_becomes_part_of_the_address) {
  const auto target = join("a");
  BOOST_TEST(url(target, "@192.0.2.9/") == "http://192.0.2.1:8080/@192.0.2.9/");
  BOOST_TEST(url(target, "") == "http://192.0.2.1:8080/");
}

BOOST_AUTO_TEST_CASE(calls_beyond_the_limit_of_a_server_take_turns_and_hold_up_no_other_server) {
  calls = start_courier({.running_per_target = 2});
  const auto slow = join("slow");
  const auto quick = join("quick", "192.0.2.2");
  std::vector<told_ptr> asked;
  for (int i = 0; i < 4; ++i)
    asked.push_back(call(slow));
  BOOST_TEST(client->started.size() == 2u);
  const auto other = call(quick);
  finish(3, scripted_client::answer(200));
  BOOST_TEST(other->reply.status == 200);
  BOOST_TEST(counter("waiting") == 2u);
  finish(1, scripted_client::answer(200));
  BOOST_TEST(asked[0]->answers == 1);
  BOOST_TEST(client->open.contains(4));
  BOOST_TEST(counter("running") == 2u);
  BOOST_TEST(counter("waiting") == 1u);
}

BOOST_AUTO_TEST_CASE(a_call_that_had_to_wait_starts_with_the_time_that_is_left) {
  calls = start_courier({.running_per_target = 1});
  const auto target = join("a");
  call(target);
  call(target, 1500ms);
  advance(1s);
  finish(1, scripted_client::answer(200));
  BOOST_REQUIRE(client->started.size() == 2u);
  BOOST_TEST((client->started[1].timeout == 500ms));
  BOOST_TEST((client->started[1].connect_timeout == 500ms));
}

BOOST_AUTO_TEST_CASE(a_reply_tells_for_how_long_it_was_tried_to_get_one) {
  calls = start_courier({.running_per_target = 1});
  const auto target = join("a");
  const auto first = call(target, 2s);
  const auto late = call(target, 2050ms);
  const auto never = call(target, 1s);
  advance(2s);
  advance(50ms, 10ms);
  BOOST_TEST((first->reply.tried_for == 2s));
  BOOST_TEST((late->reply.outcome == outbound_outcome::timed_out));
  BOOST_TEST((late->reply.took == 2050ms));
  BOOST_TEST((late->reply.tried_for == 50ms));
  BOOST_TEST((never->reply.tried_for == 0ms));
}

BOOST_AUTO_TEST_CASE(calls_to_an_instance_that_leaves_are_given_up_at_once) {
  calls = start_courier({.running_per_target = 1});
  const auto target = join("a");
  const auto other = call(join("b", "192.0.2.2"));
  const auto running = call(target);
  const auto waiting = call(target);
  leave("a");
  BOOST_TEST(has_departed(running));
  BOOST_TEST(has_departed(waiting));
  BOOST_TEST(client->cancelled == (ids{2}), boost::test_tools::per_element());
  BOOST_TEST(other->answers == 0);
  BOOST_TEST(counter("departed") == 2u);
}

BOOST_AUTO_TEST_CASE(calls_to_an_instance_that_registers_again_are_given_up_and_its_new_life_gets_its_own) {
  const auto earlier = call(join("a"));
  const auto successor = join("a");
  BOOST_TEST(has_departed(earlier));
  BOOST_TEST(client->cancelled == (ids{1}), boost::test_tools::per_element());
  const auto later = call(successor);
  finish(2, scripted_client::answer(200));
  BOOST_TEST(later->reply.status == 200);
}

BOOST_AUTO_TEST_CASE(calls_to_an_instance_that_lapses_are_given_up) {
  const auto asked = call(join("a"), 1h);
  advance(31s);
  BOOST_TEST(ask<expiry_report>(actors.registry, expire_atom_v, expiry_request{})->lapsed == 1u);
  BOOST_TEST(has_departed(asked));
}

BOOST_AUTO_TEST_CASE(a_call_goes_on_when_its_instance_is_drained) {
  const auto asked = call(join("a"));
  BOOST_REQUIRE(!tell(actors.registry, drain_atom_v, drain_request{"a", true}));
  BOOST_TEST(asked->answers == 0);
  finish(1, scripted_client::answer(200));
  BOOST_TEST(asked->reply.status == 200);
}

BOOST_AUTO_TEST_CASE(a_registry_that_restarts_ends_all_registrations_and_is_followed_from_then_on) {
  const auto lost = join("a");
  const auto asked = call(lost);
  caf::anon_send_exit(actors.registry, caf::exit_reason::kill);
  settle();
  BOOST_TEST(asked->answers == 0);
  start_registry();
  caf::anon_send(calls, links_atom_v, actors);
  settle();
  BOOST_TEST(has_departed(asked));
  BOOST_TEST(has_departed(call(lost)));

  const auto back = join("a");
  const auto again = call(back);
  finish(2, scripted_client::answer(200));
  BOOST_TEST(again->reply.status == 200);
  const auto last = call(back);
  leave("a");
  BOOST_TEST(has_departed(last));
}

BOOST_AUTO_TEST_CASE(links_without_a_new_registry_change_nothing) {
  const auto target = join("a");
  const auto asked = call(target);
  caf::anon_send(calls, links_atom_v, actors);
  settle();
  leave("a");
  BOOST_TEST(has_departed(asked));
  BOOST_TEST(counter("departed") == 1u);
}

BOOST_AUTO_TEST_CASE(a_call_for_a_registration_that_has_ended_is_refused_and_not_made) {
  const auto first = join("a");
  const auto second = join("a");
  BOOST_TEST(has_departed(call(first)));
  leave("a");
  BOOST_TEST(has_departed(call(second)));
  BOOST_TEST(client->started.empty());
  BOOST_TEST(counter("calls") == 2u);
  BOOST_TEST(counter("departed") == 2u);
}

BOOST_AUTO_TEST_CASE(a_call_for_a_registration_that_the_courier_has_not_heard_of_is_made) {
  join("a");
  schema::instance entry;
  entry.instance_id = "b";
  entry.ip = "192.0.2.2";
  entry.http_port = 8080;
  const member newer{std::make_shared<const schema::instance>(entry), memory->registrations + 1, 99};
  const auto asked = call(newer);
  BOOST_TEST(client->started.size() == 1u);
  const auto joined = join("b", "192.0.2.2");
  BOOST_REQUIRE(joined.registration == newer.registration);
  BOOST_TEST(asked->answers == 0);
  leave("b");
  BOOST_TEST(has_departed(asked));
}

BOOST_AUTO_TEST_CASE(what_a_new_courier_was_asked_before_it_knew_the_fleet_is_given_up_once_it_does) {
  const auto gone = join("gone");
  const auto here = join("here", "192.0.2.2");
  leave("gone");
  join("latest", "192.0.2.3");
  calls = start_courier(); // does not run before the calls have been asked for
  const auto departed = post(calls, call_of(gone));
  const auto made = post(calls, call_of(here));
  settle();
  BOOST_TEST(has_departed(departed));
  BOOST_TEST(made->answers == 0);
  BOOST_TEST(client->open.size() == 1u);
}

BOOST_AUTO_TEST_CASE(a_call_whose_server_and_client_never_answer_ends_at_its_time_limit) {
  const auto asked = call(join("a"), 2s);
  advance(1950ms);
  BOOST_TEST(asked->answers == 0);
  advance(50ms);
  BOOST_TEST(asked->answers == 1);
  BOOST_TEST((asked->reply.outcome == outbound_outcome::timed_out));
  BOOST_TEST(!asked->reply.detail.empty());
  BOOST_TEST((asked->reply.took == 2s));
  BOOST_TEST(client->cancelled == (ids{1}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_call_whose_turn_does_not_come_ends_at_its_time_limit) {
  calls = start_courier({.running_per_target = 1});
  const auto target = join("a");
  const auto running = call(target, 10s);
  const auto waiting = call(target, 30ms);
  advance(30ms, 10ms);
  BOOST_TEST(waiting->answers == 1);
  BOOST_TEST((waiting->reply.outcome == outbound_outcome::timed_out));
  BOOST_TEST(!waiting->reply.detail.empty());
  BOOST_TEST(client->cancelled.empty());
  finish(1, scripted_client::answer(200));
  BOOST_TEST(running->answers == 1);
  BOOST_TEST(client->started.size() == 1u);
}

BOOST_AUTO_TEST_CASE(a_completion_that_comes_after_the_end_of_its_call_says_nothing) {
  const auto target = join("a");
  const auto asked = call(target, 1s);
  const auto late = client->open.at(1).done;
  advance(1s);
  const auto next = call(target);
  late(scripted_client::answer(200));
  settle();
  BOOST_TEST((asked->reply.outcome == outbound_outcome::timed_out));
  BOOST_TEST(asked->answers == 1);
  BOOST_TEST(next->answers == 0);
  BOOST_TEST(counter("answered_2xx") == 0u);
  BOOST_TEST(counter("running") == 1u);
}

BOOST_AUTO_TEST_CASE(deadlines_take_few_timers_and_none_that_is_armed_for_long) {
  const auto target = join("a");
  for (int i = 0; i < 1000; ++i)
    call(target, 60s - i * 1ms);
  BOOST_TEST(armed_timers() == 1u);
  for (int i = 0; i < 1000; ++i)
    call(target, 90ms - i * 80us);
  BOOST_TEST(armed_timers() <= 100u);
  advance(100ms, 10ms);
  BOOST_TEST(counter("timed_out") == 1000u);
  BOOST_TEST(armed_timers() == 1u);
  leave("a");
  advance(100ms);
  BOOST_TEST(armed_timers() == 0u);
}

BOOST_AUTO_TEST_CASE(what_can_not_be_kept_is_refused) {
  calls = start_courier({.running_per_target = 1, .waiting = 1});
  const auto target = join("a");
  call(target);
  const auto waiting = call(target);
  const auto refused = call(target);
  BOOST_TEST(refused->answers == 1);
  BOOST_TEST((refused->error == ec::overloaded));
  BOOST_TEST(waiting->answers == 0);
  BOOST_TEST(counter("overloaded") == 1u);
}

BOOST_AUTO_TEST_CASE(nobody_is_left_without_an_answer_when_the_courier_ends) {
  for (const auto reason : {caf::exit_reason::user_shutdown, caf::exit_reason::kill}) {
    client->cancelled.clear();
    const auto ending = start_courier({.running_per_target = 1});
    const auto target = join("a");
    const auto first = static_cast<scripted_client::call_id>(client->started.size() + 1);
    const auto running = post(ending, call_of(target));
    const auto waiting = post(ending, call_of(target));
    settle();
    const auto late = client->open.at(first).done;
    caf::anon_send_exit(ending, reason);
    const auto too_late = post(ending, call_of(target));
    settle();
    for (const auto& each : {running, waiting, too_late}) {
      BOOST_TEST(each->answers == 1);
      BOOST_TEST(static_cast<bool>(each->error));
    }
    BOOST_TEST(client->cancelled == (ids{first}), boost::test_tools::per_element());
    late(scripted_client::answer(200)); // nobody is there any more
    settle();
  }
}

BOOST_AUTO_TEST_CASE(its_status_accounts_for_every_call) {
  calls = start_courier({.running_per_target = 1, .waiting = 2});
  const auto gone = join("gone", "192.0.2.2");
  leave("gone");
  const auto target = join("a");
  call(gone);
  call(target);
  finish(1, scripted_client::answer(204));
  for (int i = 0; i < 4; ++i)
    call(target);
  const auto status = ask<actor_status>(calls, status_atom_v);
  BOOST_TEST(status->name == "courier");
  std::map<std::string, std::uint64_t> counters{status->counters.begin(), status->counters.end()};
  BOOST_TEST(counters.size() == status->counters.size());
  BOOST_TEST(counters.at("calls") == 6u);
  BOOST_TEST(counters.at("answered_2xx") == 1u);
  BOOST_TEST(counters.at("departed") == 1u);
  BOOST_TEST(counters.at("overloaded") == 1u);
  BOOST_TEST(counters.at("running") == 1u);
  BOOST_TEST(counters.at("waiting") == 2u);
  BOOST_TEST(counters.at("most_running") == 1u);
  BOOST_TEST(counters.at("most_waiting") == 2u);
}

BOOST_AUTO_TEST_CASE(a_tick_proves_progress) {
  advance(2s);
  BOOST_TEST((progress->age(now()) == 2s));
  caf::anon_send(calls, caf::tick_atom_v);
  settle();
  BOOST_TEST((progress->age(now()) == 0s));
}

BOOST_AUTO_TEST_SUITE_END()
