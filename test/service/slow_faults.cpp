#include "harness/lapse.hpp"
#include "harness/service.hpp"

#include <fmt/format.h>

#include <signal.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <list>
#include <random>
#include <string>
#include <thread>
#include <vector>

using namespace coordinator::service_test;

namespace {

const std::string health_request = "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n";

/// How often the service has said that.
std::size_t occurrences(const std::string& log, std::string_view event) {
  std::size_t result = 0;
  for (auto at = log.find(event); at != std::string::npos; at = log.find(event, at + 1))
    ++result;
  return result;
}

/// Sends `count` copies of a request over one connection, many at a time, and checks the status of each reply.
void send_many(std::uint16_t port, const std::string& request, int count, int status) {
  constexpr int depth = 50;
  std::string batch;
  for (int i = 0; i < depth; ++i)
    batch += request;
  connection raw{port};
  for (int sent = 0; sent < count; sent += depth) {
    raw.send(batch);
    for (int i = 0; i < depth; ++i)
      if (const auto reply = raw.read_response(); reply.status != status) {
        BOOST_ERROR("got " << reply);
        return;
      }
  }
}

/// Resident memory after a tenth of that much work must be about what it is after all of it.
template <class Work>
void check_memory_is_flat(service& it, const char* what, int tenths_of_work, Work work) {
  for (int i = 0; i < tenths_of_work; ++i)
    work();
  const auto early = it.process.resident_bytes();
  for (int i = 0; i < 9 * tenths_of_work; ++i)
    work();
  const auto late = it.process.resident_bytes();
  constexpr std::uint64_t noise = 2 * 1024 * 1024;
  BOOST_TEST(late <= early + early / 10 + noise, what << ": " << early << " bytes became " << late);
}

} // namespace

// Faults that take their time. scripts/test --thorough runs them.
BOOST_AUTO_TEST_SUITE(slow_faults)

BOOST_FIXTURE_TEST_CASE(clients_that_beat_every_few_seconds_over_one_connection_are_never_cut_off, service) {
  register_instance(api, "a");
  const auto beat = render_request("PUT", heartbeat_path("a"));
  connection every_five{port()};
  connection every_ten{port()};
  connection twice{port()};
  const auto check = [&](connection& one) {
    one.send(beat);
    const auto reply = one.read_response();
    BOOST_TEST(reply.status == 200);
    BOOST_TEST(!reply.closes());
  };
  check(twice);
  const auto start = monotonic_clock::now();
  for (int fives = 0; fives <= 6; ++fives) {
    std::this_thread::sleep_until(start + fives * 5s); // the period is what is tried
    check(every_five);
    if (fives % 2 == 0)
      check(every_ten);
  }
  check(twice);
}

BOOST_AUTO_TEST_CASE(silent_and_slow_connections_are_closed_and_delay_nobody) {
  coordinator_options options;
  options.descriptor_limit = 2048;
  service it{options};
  register_instance(it.api, "a");
  const auto at_rest = it.process.open_descriptors();
  std::vector<connection> silent;
  std::vector<connection> dripping;
  std::vector<connection> half_a_body;
  for (int i = 0; i < 300; ++i) {
    silent.emplace_back(it.port());
    dripping.emplace_back(it.port());
    half_a_body.emplace_back(it.port());
    half_a_body.back().send("POST /instances HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{");
  }
  const std::string slowly = health_request;
  const auto start = monotonic_clock::now();
  double slowest_beat = 0;
  std::size_t dripped = 0;
  while (seconds_since(start) < 16) {
    if (seconds_since(start) > 2.0 * static_cast<double>(dripped)) {
      for (auto& one : dripping)
        one.try_send(slowly.substr(dripped, 1));
      ++dripped;
    }
    const auto asked = monotonic_clock::now();
    BOOST_TEST(heartbeat(it.api, "a").status == 200);
    slowest_beat = std::max(slowest_beat, seconds_since(asked));
    let_pass(20ms);
  }
  BOOST_TEST(slowest_beat < 0.5 * leniency);
  for (auto& one : silent)
    BOOST_TEST(one.read_to_end(2s).empty());
  for (auto& one : dripping)
    BOOST_TEST(one.read_to_end(2s).starts_with("HTTP/1.1 408 "));
  for (auto& one : half_a_body)
    BOOST_TEST(one.read_to_end(2s).starts_with("HTTP/1.1 408 "));
  silent.clear();
  dripping.clear();
  half_a_body.clear();
  BOOST_TEST(eventually(5s, [&] { return it.process.open_descriptors() <= at_rest; }));
}

BOOST_FIXTURE_TEST_CASE(a_reader_that_stops_for_good_is_dropped, service) {
  const auto at_rest = process.open_descriptors();
  register_a_long_list(port());
  BOOST_TEST_REQUIRE(eventually(5s, [&] { return process.open_descriptors() == at_rest; }));
  connection deaf{port(), {.receive_buffer = 4096}};
  deaf.send("GET /instances HTTP/1.1\r\nHost: x\r\n\r\n");
  BOOST_TEST(eventually(5s, [&] { return process.open_descriptors() == at_rest + 1; }));
  // What lies in the buffers of the system may still be taken in for a moment; after that nothing moves.
  BOOST_TEST(eventually(45s, [&] { return process.open_descriptors() == at_rest; }));
  BOOST_TEST(is_alive(port()));
}

BOOST_FIXTURE_TEST_CASE(memory_does_not_grow_with_the_number_of_requests, service) {
  register_instance(api, "a");
  const auto beat = render_request("PUT", heartbeat_path("a"));
  check_memory_is_flat(*this, "heartbeats", 1, [&] { send_many(port(), beat, 10000, 200); });
  check_memory_is_flat(*this, "heartbeats over new connections", 2500, [&] {
    connection fresh{port()};
    fresh.send(beat);
    fresh.read_response();
  });
  auto body = to_json({.instance_id = "a"});
  body.append(1024 * 1024 - body.size(), ' ');
  const auto large = render_request("POST", "/instances", body);
  check_memory_is_flat(*this, "bodies of a mebibyte", 100, [&] {
    connection fresh{port()};
    fresh.send(large);
    BOOST_TEST_REQUIRE(fresh.read_response().status == 200);
  });
  const auto refused = render_request("POST", "/instances", R"({"metadata":{"a":1,"b":[]}})");
  check_memory_is_flat(*this, "refusals", 1, [&] { send_many(port(), refused, 5000, 422); });
  int number = 0;
  check_memory_is_flat(*this, "members that come and go", 500, [&] {
    const auto id = fmt::format("visitor-{}", number++);
    register_instance(api, id);
    api.del(instance_path(id));
  });
  check_memory_is_flat(*this, "long lists", 1, [&] {
    register_all(port(), numbered_registrations("n", 1000));
    for (int i = 0; i < 20; ++i)
      api.get("/instances");
  });
}

BOOST_FIXTURE_TEST_CASE(twenty_thousand_clients_that_leave_at_once_leave_nothing_behind, service) {
  register_all(port(), numbered_registrations("n", 500));
  const std::vector<std::string> requests{health_request,
                                          render_request("GET", "/instances"),
                                          render_request("GET", "/instances?heartbeats=true"),
                                          render_request("GET", "/readyz"),
                                          render_request("GET", instance_path("n-3")),
                                          render_request("PUT", heartbeat_path("n-1")),
                                          render_request("PUT", heartbeat_path("stranger")),
                                          render_request("POST", "/instances", to_json({.instance_id = "n-2"})),
                                          render_request("DELETE", instance_path("stranger")),
                                          render_request("GET", "/openapi.json"),
                                          render_request("POST", "/instances", "{")};
  const auto run = [&](int rounds) {
    std::vector<std::thread> leavers;
    for (unsigned seed = 0; seed < 64; ++seed)
      leavers.emplace_back([&, seed] {
        std::minstd_rand random{seed + 1};
        for (int round = 0; round < rounds; ++round) {
          connection raw{port()};
          raw.try_send(requests[random() % requests.size()]);
          std::this_thread::sleep_for(std::chrono::microseconds{random() % 5000});
          if (random() % 2 == 0)
            raw.reset();
        }
      });
    for (auto& leaver : leavers)
      leaver.join();
  };
  const auto at_rest = process.open_descriptors();
  run(30);
  const auto early = process.resident_bytes();
  run(290);
  BOOST_TEST(process.resident_bytes() <= early + early / 10 + 2 * 1024 * 1024);
  BOOST_TEST(eventually(5s, [&] { return process.open_descriptors() <= at_rest + 1; }));
  BOOST_TEST(listed_ids(api).size() == 500u);
  BOOST_TEST(is_alive(port()));
}

BOOST_FIXTURE_TEST_CASE(thousands_of_resets_while_lists_are_written_harm_nobody, service) {
  register_a_long_list(port());
  std::vector<std::thread> clients;
  for (int i = 0; i < 50; ++i)
    clients.emplace_back([&] {
      for (int round = 0; round < 40; ++round) {
        connection raw{port(), {.receive_buffer = 4096}};
        raw.try_send("GET /instances HTTP/1.1\r\nHost: x\r\n\r\n");
        try {
          raw.read_some(1024);
        } catch (const transport_error&) {
          // slower than a test machine allows for: the reset is what matters
        }
        raw.reset();
      }
    });
  for (auto& one : clients)
    one.join();
  BOOST_TEST(is_alive(port()));
}

BOOST_AUTO_TEST_CASE(the_lease_counts_from_the_last_heartbeat_for_every_pair_of_longer_times) {
  struct setting {
    double timeout;
    double interval;
  };
  const std::vector<setting> settings{{2, 0.5}, {2, 1}, {3, 0.5}, {3, 1}, {5, 0.5}, {5, 1}};
  std::list<service> services;
  std::list<lapse_watch> watches;
  for (const auto& [timeout, interval] : settings) {
    auto& it = services.emplace_back(std::vector<std::string>{"--instance-timeout", fmt::format("{}", timeout),
                                                              "--health-check-interval", fmt::format("{}", interval)});
    watches.emplace_back(it.port(), timeout, interval);
  }
  for (auto& watch : watches)
    for (int i = 0; i < 30; ++i)
      watch.join(fmt::format("n{}", i));
  for (int i = 0; i < 30; ++i)
    for (auto& watch : watches) {
      watch.beat(fmt::format("n{}", i));
      watch.observe_for(1ms);
    }
  lapse_watch::observe_until_all_are_gone(watches);
}

BOOST_AUTO_TEST_CASE(sweeps_keep_their_pace_and_do_not_pile_up_in_a_pause) {
  service it{{"--instance-timeout", "3600", "--health-check-interval", "1", "--log-level", "debug"}};
  auto fleet = numbered_registrations("n", 50000);
  register_all(it.port(), fleet);
  const auto sweeps = [&] { return static_cast<double>(occurrences(it.process.output(), " health.sweep ")); };

  BOOST_TEST_REQUIRE(eventually(3s, [&, before = sweeps()] { return sweeps() > before; })); // in step with a sweep
  auto before = sweeps();
  let_pass(60500ms);
  const auto counted = sweeps() - before;
  BOOST_TEST(counted >= 59);
  BOOST_TEST(counted <= 61);

  before = sweeps();
  it.process.send_signal(SIGSTOP);
  let_pass(10s);
  it.process.send_signal(SIGCONT);
  let_pass(900ms);
  BOOST_TEST(sweeps() - before >= 1);
  BOOST_TEST(sweeps() - before <= 2);
  BOOST_TEST(listed_ids(it.api).size() == 50000u);
}

BOOST_AUTO_TEST_CASE(a_hundred_stops_during_the_start_end_within_the_grace) {
  for (int run = 0; run < 100; ++run) {
    child_process process{coordinator_command({})};
    let_pass(std::chrono::milliseconds{run * 5});
    process.send_signal(run % 2 == 0 ? SIGTERM : SIGINT);
    const auto status = process.wait_for_exit(5s);
    BOOST_TEST(status.has_value(), "run " << run << " does not end");
    if (status)
      BOOST_TEST((*status == clean_exit || status->signal == SIGTERM || status->signal == SIGINT),
                 "run " << run << ": " << *status);
  }
}

BOOST_AUTO_TEST_CASE(thousands_of_idle_connections_cost_little_and_delay_nobody) {
  constexpr std::size_t count = 5000;
  rlimit descriptors{};
  ::getrlimit(RLIMIT_NOFILE, &descriptors);
  descriptors.rlim_cur = descriptors.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &descriptors);
  BOOST_TEST_REQUIRE(descriptors.rlim_cur > count + 100,
                     "the descriptor limit of this machine is too low for this test");
  service it;
  register_instance(it.api, "a");
  const auto before = it.process.resident_bytes();
  std::vector<connection> idle;
  for (std::size_t i = 0; i < count; ++i) {
    idle.emplace_back(it.port());
    idle.back().send(health_request);
  }
  for (auto& one : idle)
    BOOST_TEST(one.read_response().status == 200);
  BOOST_TEST((it.process.resident_bytes() - before) / count < 30u * 1024);
  double slowest = 0;
  for (int i = 0; i < 2000; ++i) {
    const auto start = monotonic_clock::now();
    BOOST_TEST_REQUIRE(heartbeat(it.api, "a").status == 200);
    slowest = std::max(slowest, seconds_since(start));
  }
  BOOST_TEST(slowest < 0.1 * leniency);
}

BOOST_AUTO_TEST_SUITE_END()
