#include "apps/fleet/probe_listener.hpp"
#include "http/outbound_loop.hpp"

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <future>
#include <string>

using namespace coordinator;
using namespace coordinator::fleet;
using namespace std::chrono_literals;

namespace {

struct fixture {
  probe_listener servers{3};
  http::outbound_loop loop;

  fixture() {
    const auto problem = servers.listen();
    BOOST_TEST_REQUIRE(!problem.has_value());
  }

  outbound_reply ask(std::size_t server, const std::string& path = "/healthcheck",
                     std::chrono::nanoseconds timeout = 10s) {
    outbound_request request;
    request.url = "http://" + address_of(server) + ":" + std::to_string(servers.port()) + path;
    request.timeout = timeout;
    std::promise<outbound_reply> reply;
    auto heard = reply.get_future();
    loop.start(std::move(request), [&reply](outbound_reply got) { reply.set_value(std::move(got)); });
    return heard.get();
  }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(fleet_probe_listener_test, fixture)

BOOST_AUTO_TEST_CASE(every_server_has_an_address_of_its_own_on_this_machine) {
  BOOST_TEST(address_of(0) == "127.16.0.0");
  BOOST_TEST(address_of(257) == "127.16.1.1");
  BOOST_TEST(address_of(max_servers - 1) == "127.31.255.255");
}

BOOST_AUTO_TEST_CASE(each_server_answers_refuses_or_is_silent_by_itself) {
  servers.set(0, presence::answering);
  servers.set(1, presence::refusing);
  servers.set(2, presence::silent);
  const auto healthy = ask(0);
  BOOST_TEST(healthy.status == 200);
  BOOST_TEST(healthy.body == R"({"status":"healthy"})");
  const auto refused = ask(1);
  BOOST_TEST((refused.outcome == outbound_outcome::failed || refused.outcome == outbound_outcome::refused));
  BOOST_TEST((ask(2, "/healthcheck", 200ms).outcome == outbound_outcome::timed_out));
  BOOST_TEST(servers.answered() == 1u);
}

BOOST_AUTO_TEST_CASE(a_server_that_went_down_answers_no_more_on_a_connection_that_it_had) {
  servers.set(0, presence::answering);
  BOOST_TEST(ask(0).status == 200);
  BOOST_TEST(ask(0).status == 200); // kept alive
  servers.set(0, presence::refusing);
  BOOST_TEST((ask(0).outcome != outbound_outcome::answered));
  servers.set(0, presence::answering);
  BOOST_TEST(ask(0).status == 200);
}

BOOST_AUTO_TEST_CASE(nothing_but_the_health_check_is_there) {
  servers.set(0, presence::answering);
  BOOST_TEST(ask(0, "/metrics").status == 404);
  BOOST_TEST(servers.answered() == 0u);
}

BOOST_AUTO_TEST_SUITE_END()
