#include "harness/service.hpp"

#include <algorithm>
#include <random>
#include <string>
#include <thread>
#include <vector>

using namespace coordinator::service_test;

namespace {

const std::string list_request = "GET /instances HTTP/1.1\r\nHost: x\r\n\r\n";

struct service_with_a_long_list : service {
  service_with_a_long_list() { register_a_long_list(port()); }
};

} // namespace

// Clients that are slow, leave early, or are very many; and everybody else meanwhile.
BOOST_AUTO_TEST_SUITE(http_peers)

BOOST_FIXTURE_TEST_CASE(a_slow_reader_gets_all_of_a_long_list_and_holds_nobody_up, service_with_a_long_list) {
  const auto whole = api.get("/instances").body;
  BOOST_TEST(whole.size() > 8000000u);
  std::vector<connection> readers;
  for (int i = 0; i < 20; ++i) {
    readers.emplace_back(port(), connection_options{.receive_buffer = 4096});
    readers.back().send("GET /instances HTTP/1.0\r\n\r\n"); // ends with the connection, so it can be read raw
  }
  std::vector<std::string> streams(readers.size());
  std::vector<bool> ended(readers.size());
  double slowest_beat = 0;
  for (std::size_t open = readers.size(); open > 0;) {
    const auto start = monotonic_clock::now();
    if (heartbeat(api, "member-7").status != 200)
      BOOST_ERROR("a heartbeat failed");
    slowest_beat = std::max(slowest_beat, seconds_since(start));
    for (std::size_t i = 0; i < readers.size(); ++i) {
      if (ended[i])
        continue;
      const auto part = readers[i].read_some(64 * 1024);
      streams[i] += part;
      if (part.empty()) {
        ended[i] = true;
        --open;
      }
    }
  }
  for (const auto& stream : streams)
    BOOST_TEST(stream.substr(stream.find("\r\n\r\n") + 4) == whole);
  BOOST_TEST(slowest_beat < 0.5 * leniency);
}

BOOST_FIXTURE_TEST_CASE(a_client_that_does_not_read_its_reply_costs_no_processor_time, service_with_a_long_list) {
  std::vector<connection> deaf;
  for (int i = 0; i < 5; ++i) {
    deaf.emplace_back(port(), connection_options{.receive_buffer = 4096});
    deaf.back().send(list_request + list_request);
  }
  BOOST_TEST(is_alive(port())); // by now the replies are stuck
  const auto before = process.processor_seconds();
  let_pass(1s);
  BOOST_TEST(process.processor_seconds() - before < 0.3);
  BOOST_TEST(is_alive(port()));
}

BOOST_FIXTURE_TEST_CASE(a_client_that_resets_while_a_list_is_written_harms_nobody, service_with_a_long_list) {
  const auto at_rest = process.open_descriptors();
  for (int round = 0; round < 300; ++round) {
    connection raw{port(), {.receive_buffer = 4096}};
    raw.send(list_request);
    raw.read_some(1024);
    raw.reset();
  }
  BOOST_TEST(eventually(3s, [&] { return process.open_descriptors() <= at_rest; }));
  BOOST_TEST(is_alive(port()));
}

BOOST_FIXTURE_TEST_CASE(clients_that_leave_before_their_reply_leave_nothing_behind, service) {
  register_all(port(), numbered_registrations("n", 200));
  const std::vector<std::string> requests{render_request("GET", "/healthz"),
                                          list_request,
                                          render_request("PUT", heartbeat_path("n-1")),
                                          render_request("PUT", heartbeat_path("stranger")),
                                          render_request("POST", "/instances", to_json({.instance_id = "n-2"})),
                                          render_request("DELETE", instance_path("stranger")),
                                          render_request("GET", instance_path("n-3")),
                                          render_request("GET", "/openapi.json"),
                                          render_request("POST", "/instances", "{")};
  const auto at_rest = process.open_descriptors();
  std::vector<std::thread> leavers;
  for (unsigned seed = 0; seed < 16; ++seed)
    leavers.emplace_back([&, seed] {
      std::mt19937 random{seed};
      for (int round = 0; round < 125; ++round) {
        connection raw{port()};
        raw.try_send(requests[random() % requests.size()]);
        std::this_thread::sleep_for(std::chrono::microseconds{random() % 5000});
        if (random() % 2 == 0)
          raw.reset();
      }
    });
  for (auto& leaver : leavers)
    leaver.join();
  BOOST_TEST(eventually(5s, [&] { return process.open_descriptors() <= at_rest + 1; }),
             process.open_descriptors() << " descriptors are open; " << at_rest << " were");
  BOOST_TEST(listed_ids(api).size() == 200u);
  BOOST_TEST(is_alive(port()));
}

BOOST_FIXTURE_TEST_CASE(a_thousand_idle_connections_do_not_delay_anybody, service) {
  register_instance(api, "a");
  std::vector<connection> idle;
  for (int i = 0; i < 1000; ++i)
    idle.emplace_back(port());
  double slowest = 0;
  for (int i = 0; i < 200; ++i) {
    const auto start = monotonic_clock::now();
    BOOST_TEST_REQUIRE(heartbeat(api, "a").status == 200);
    slowest = std::max(slowest, seconds_since(start));
  }
  BOOST_TEST(slowest < 0.25 * leniency);
  for (auto& one : idle)
    one.send("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n");
  for (auto& one : idle)
    BOOST_TEST(one.read_response().status == 200);
}

BOOST_AUTO_TEST_CASE(connections_beyond_the_descriptor_limit_are_turned_away_without_spinning) {
  coordinator_options options;
  options.descriptor_limit = 100;
  service it{options};
  register_instance(it.api, "a");
  const auto at_rest = it.process.open_descriptors();
  {
    std::vector<connection> crowd;
    for (int i = 0; i < 200; ++i)
      crowd.emplace_back(it.port());
    BOOST_TEST(heartbeat(it.api, "a").status == 200); // who is in, stays in
    const auto before = it.process.processor_seconds();
    let_pass(1s);
    BOOST_TEST(it.process.processor_seconds() - before < 0.3);
    BOOST_TEST(heartbeat(it.api, "a").status == 200);
  }
  BOOST_TEST(eventually(5s, [&] { return it.process.open_descriptors() <= at_rest; }));
  BOOST_TEST(is_alive(it.port()));
}

BOOST_AUTO_TEST_CASE(a_connection_that_is_turned_away_is_told_when_to_come_back) {
  coordinator_options options;
  options.descriptor_limit = 100;
  service it{options};
  std::vector<connection> crowd;
  for (int i = 0; i < 150; ++i)
    crowd.emplace_back(it.port());
  int turned_away = 0;
  for (auto& one : crowd) {
    // Those that are in say nothing until they are asked.
    if (one.stays_silent(turned_away == 0 ? 20ms : 0ms))
      continue;
    const auto stream = one.read_to_end(3s);
    if (stream.empty())
      continue;
    BOOST_TEST(stream.starts_with("HTTP/1.1 503 "), stream);
    BOOST_TEST(stream.find("Retry-After: ") != std::string::npos, stream);
    ++turned_away;
  }
  BOOST_TEST(turned_away > 0);
}

BOOST_AUTO_TEST_SUITE_END()
