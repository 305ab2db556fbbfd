#include "http/gateway.hpp"

#include "http/outbox.hpp"
#include "test/actors/fixture.hpp"
#include "test/actors/registry_for_tests.hpp"

#include <boost/test/unit_test.hpp>

namespace coordinator::http {
void register_count_api(router& routes); // from the README
}

using namespace coordinator;
using namespace std::chrono_literals;

namespace {

struct fixture : test::actors_fixture {
  std::shared_ptr<http::outbox> mail = std::make_shared<http::outbox>();
  std::shared_ptr<http::router> routes = std::make_shared<http::router>();
  std::shared_ptr<membership_memory> memory = std::make_shared<membership_memory>();
  registry_actor members = start_registry("run");
  std::shared_ptr<progress_board> board = std::make_shared<progress_board>();
  http::gateway_actor gateway;

  fixture() {
    http::register_apis(*routes);
    http::route broken;
    broken.path = "/broken";
    broken.documentation.id = "broken";
    broken.handler = [](const http::call&) { throw std::runtime_error("a bug"); };
    routes->add(std::move(broken));
    http::route forgetful;
    forgetful.path = "/forgetful";
    forgetful.documentation.id = "forgetful";
    forgetful.handler = [](const http::call&) {};
    routes->add(std::move(forgetful));
    mail->adopt_thread();
    gateway = stop_at_end(system.spawn(
        http::gateway, http::gateway_options{links{members}, routes, board, std::make_shared<guard_board>(), 30s,
                                             std::make_shared<progress_mark>("gateway", 3s, now())}));
  }

  registry_actor start_registry(std::string run) {
    auto options = test::options_of_registry(now());
    options.run = std::move(run);
    options.memory = memory;
    return stop_at_end(system.spawn(registry, std::move(options)));
  }

  http::exchange_ptr send(http::Method method, std::vector<std::string> segments, std::string body = "") {
    auto exchange = std::make_shared<http::exchange>();
    exchange->home = mail;
    exchange->bytes = std::move(body);
    exchange->call.method = method;
    exchange->call.body = exchange->bytes;
    auto match = routes->find(method, segments);
    BOOST_REQUIRE(match.found);
    exchange->matched = match.found;
    exchange->path_parameters = match.parameters;
    caf::anon_send(gateway, http::serve_atom::value, exchange);
    return exchange;
  }

  http::exchange_ptr list_with(std::vector<std::pair<std::string, std::string>> query) {
    auto exchange = std::make_shared<http::exchange>();
    exchange->home = mail;
    exchange->call.method = http::Method::Get;
    exchange->where.query = std::move(query);
    exchange->matched = routes->find(http::Method::Get, {"instances"}).found;
    caf::anon_send(gateway, http::serve_atom::value, exchange);
    return exchange;
  }

  std::uint64_t handled() { return ask<actor_status>(gateway, status_atom_v)->handled; }

  void join(std::string id) { ask<registration>(members, register_atom_v, test::registration_of(std::move(id))); }

  /// Lets time pass with the ticks that the supervisor would send.
  void tick_for(caf::timespan time) {
    for (; time.count() > 0; time -= 1s) {
      advance(1s);
      caf::anon_send(gateway, caf::tick_atom_v);
      settle();
    }
  }

  /// Answers so far, in the order in which they came.
  std::vector<http::outbox::reply> answers() {
    settle();
    std::vector<http::outbox::reply> replies;
    std::vector<http::outbox::command> commands;
    mail->take(replies, commands);
    return replies;
  }

  http::response answer_to(http::Method method, std::vector<std::string> segments, std::string body = "") {
    send(method, std::move(segments), std::move(body));
    auto all = answers();
    BOOST_REQUIRE(all.size() == 1u);
    return std::move(all.front().answer);
  }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(gateway_test, fixture)

BOOST_AUTO_TEST_CASE(a_request_becomes_a_message_and_its_answer_a_reply) {
  const auto reply =
      answer_to(http::Method::Post, {"instances"}, R"({"ip":"192.0.2.1","http_port":1,"instance_id":"a"})");
  BOOST_TEST((reply.status == http::Code::Ok));
  BOOST_TEST(reply.body == R"({"instance_id":"a","re_registered":false})");
}

BOOST_AUTO_TEST_CASE(each_answer_goes_to_the_exchange_that_asked) {
  answer_to(http::Method::Post, {"instances"}, R"({"ip":"192.0.2.1","http_port":1,"instance_id":"a"})");
  const auto known = send(http::Method::Put, {"instances", "a", "heartbeat"});
  const auto unknown = send(http::Method::Put, {"instances", "b", "heartbeat"});
  for (const auto& reply : answers()) {
    BOOST_TEST((reply.to == known || reply.to == unknown));
    BOOST_TEST((reply.answer.status == (reply.to == known ? http::Code::Ok : http::Code::Not_Found)));
  }
}

BOOST_AUTO_TEST_CASE(a_registry_that_ended_is_a_503_that_says_when_to_try_again) {
  caf::anon_send_exit(members, caf::exit_reason::kill);
  settle();
  const auto reply = answer_to(http::Method::Put, {"instances", "a", "heartbeat"});
  BOOST_TEST((reply.status == http::Code::Service_Unavailable));
  BOOST_REQUIRE(reply.headers.size() == 1u);
  BOOST_TEST(reply.headers[0].first == "Retry-After");
}

BOOST_AUTO_TEST_CASE(a_restarted_registry_is_used_as_soon_as_it_is_told_of) {
  caf::anon_send_exit(members, caf::exit_reason::kill);
  settle();
  auto restarted = start_registry("again");
  caf::anon_send(gateway, links_atom_v, links{restarted});
  BOOST_TEST((answer_to(http::Method::Put, {"instances", "a", "heartbeat"}).status == http::Code::Not_Found));
}

BOOST_AUTO_TEST_CASE(a_handler_that_throws_costs_its_own_request_only) {
  BOOST_TEST((answer_to(http::Method::Get, {"broken"}).status == http::Code::Internal_Server_Error));
  BOOST_TEST((answer_to(http::Method::Get, {"healthz"}).status == http::Code::Ok));
}

BOOST_AUTO_TEST_CASE(an_exchange_that_a_handler_forgot_is_held_by_nobody) {
  const auto exchange = send(http::Method::Get, {"forgetful"});
  BOOST_TEST(answers().empty());
  BOOST_TEST(exchange.use_count() == 1); // which is how a worker notices
}

BOOST_AUTO_TEST_CASE(an_unchanged_list_is_the_same_bytes_without_a_copy) {
  answer_to(http::Method::Post, {"instances"}, R"({"ip":"192.0.2.1","http_port":1,"instance_id":"a"})");
  const auto first = answer_to(http::Method::Get, {"instances"});
  answer_to(http::Method::Put, {"instances", "a", "heartbeat"});
  const auto second = answer_to(http::Method::Get, {"instances"});
  BOOST_TEST(first.shared_body == second.shared_body);
  answer_to(http::Method::Delete, {"instances", "a"});
  BOOST_TEST(*answer_to(http::Method::Get, {"instances"}).shared_body == R"({"instances":[],"version":"run-v2"})");
}

// -- waiting for membership ------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_waiting_list_is_answered_when_membership_changes) {
  const auto waiting = list_with({{"wait", "100"}});
  BOOST_TEST(answers().empty());
  advance(5s);
  BOOST_TEST(answers().empty());
  join("a");
  advance(1s);
  const auto told = answers();
  BOOST_REQUIRE(told.size() == 1u);
  BOOST_TEST((told[0].to == waiting));
  BOOST_TEST(told[0].answer.body_text().find(R"("instance_id":"a")") != std::string_view::npos);
}

BOOST_AUTO_TEST_CASE(a_client_that_knows_less_is_answered_at_once) {
  join("a");
  list_with({{"wait", "100"}, {"since", "run-v0"}});
  BOOST_TEST(answers().size() == 1u);
  list_with({{"wait", "100"}, {"since", "run-v1"}});
  BOOST_TEST(answers().empty());
  list_with({{"wait", "100"}, {"since", "of another coordinator"}});
  BOOST_TEST(answers().size() == 1u);
}

BOOST_AUTO_TEST_CASE(when_the_time_is_over_the_list_is_answered_as_it_is) {
  join("a");
  list_with({{"wait", "7.5"}, {"since", "run-v1"}});
  tick_for(7s);
  BOOST_TEST(answers().empty());
  tick_for(1s);
  const auto told = answers();
  BOOST_REQUIRE(told.size() == 1u);
  BOOST_TEST((told[0].answer.status == http::Code::Ok));
}

BOOST_AUTO_TEST_CASE(changes_that_come_together_are_one_answer) {
  list_with({{"wait", "100"}});
  answers();
  join("a");
  join("b");
  advance(1s);
  const auto told = answers();
  BOOST_REQUIRE(told.size() == 1u);
  BOOST_TEST(told[0].answer.body_text().find(R"("instance_id":"b")") != std::string_view::npos);
}

BOOST_AUTO_TEST_CASE(a_wait_survives_a_restart_of_the_registry) {
  join("a");
  list_with({{"wait", "100"}});
  answers();
  caf::anon_send_exit(members, caf::exit_reason::kill);
  settle();
  members = start_registry("run");
  caf::anon_send(gateway, links_atom_v, links{members});
  advance(1s);
  const auto told = answers(); // what the client knew is void
  BOOST_REQUIRE(told.size() == 1u);
  BOOST_TEST(told[0].answer.body_text() == R"({"instances":[],"version":"run-v2"})");
}

BOOST_AUTO_TEST_CASE(the_list_of_a_registry_that_ended_is_not_served_again) {
  join("a");
  answer_to(http::Method::Get, {"instances"});
  caf::anon_send_exit(members, caf::exit_reason::kill);
  settle();
  members = start_registry("run");
  caf::anon_send(gateway, links_atom_v, links{members});
  BOOST_TEST(answer_to(http::Method::Get, {"instances"}).body_text() == R"({"instances":[],"version":"run-v2"})");
}

BOOST_AUTO_TEST_CASE(waits_of_a_moment_leave_no_timers_that_keep_others_awake) {
  list_with({{"wait", "2"}});
  for (int i = 0; i < 200; ++i)
    list_with({{"wait", "0.001"}});
  answers();
  advance(100ms, 1ms);
  BOOST_TEST(answers().size() == 200u);
  const auto before = handled();
  advance(1500ms, 1ms);
  BOOST_TEST(handled() - before < 10u);
}

BOOST_AUTO_TEST_CASE(those_who_wait_are_answered_when_the_service_stops) {
  list_with({{"wait", "100"}});
  BOOST_TEST(answers().empty());
  board->begin_stopping();
  caf::anon_send(gateway, http::wake_atom::value);
  BOOST_TEST(answers().size() == 1u);
  list_with({{"wait", "100"}});
  BOOST_TEST(answers().size() == 1u); // and so is one who comes late
}

BOOST_AUTO_TEST_CASE(a_client_that_has_gone_is_not_waited_for) {
  const auto gone = list_with({{"wait", "100"}});
  answers();
  gone->client_gone = true;
  tick_for(1s);
  BOOST_TEST(answers().size() == 1u); // which nobody reads
}

BOOST_AUTO_TEST_CASE(waiting_leaves_no_timers_behind) {
  for (int i = 0; i < 20; ++i) {
    list_with({{"wait", "300"}});
    answers();
    join("a");
    tick_for(1s);
    BOOST_TEST(answers().size() == 1u);
  }
  advance(2s);
  BOOST_TEST(!scheduler.has_job());
  BOOST_TEST(scheduler.trigger_timeouts() == 0u);
}

BOOST_AUTO_TEST_CASE(the_endpoint_that_the_readme_adds_works) {
  http::register_count_api(*routes);
  answer_to(http::Method::Post, {"instances"}, R"({"ip":"192.0.2.1","http_port":1,"instance_id":"a"})");
  BOOST_TEST(answer_to(http::Method::Get, {"instances", "count"}).body == R"({"count":1})");
  BOOST_TEST(routes->openapi_document().find("countInstances") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
