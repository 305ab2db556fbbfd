#include "http/gateway.hpp"

#include "actors/registry.hpp"
#include "http/outbox.hpp"
#include "test/actors/fixture.hpp"

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
  registry_actor members =
      stop_at_end(system.spawn(registry, registry_options{30s, "run", [] { return "generated"; }, [] { return 1.0; },
                                                          std::make_shared<progress_mark>("registry", 3s, now())}));
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
    gateway = stop_at_end(
        system.spawn(http::gateway, http::gateway_options{links{members}, routes, std::make_shared<progress_board>(),
                                                          30s, std::make_shared<progress_mark>("gateway", 3s, now())}));
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
  auto restarted =
      stop_at_end(system.spawn(registry, registry_options{30s, "again", [] { return "generated"; }, [] { return 1.0; },
                                                          std::make_shared<progress_mark>("registry", 3s, now())}));
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
  BOOST_TEST(*answer_to(http::Method::Get, {"instances"}).shared_body == R"({"instances":[]})");
}

BOOST_AUTO_TEST_CASE(the_endpoint_that_the_readme_adds_works) {
  http::register_count_api(*routes);
  answer_to(http::Method::Post, {"instances"}, R"({"ip":"192.0.2.1","http_port":1,"instance_id":"a"})");
  BOOST_TEST(answer_to(http::Method::Get, {"instances", "count"}).body == R"({"count":1})");
  BOOST_TEST(routes->openapi_document().find("countInstances") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
