#include "http/registrar/registrar.hpp"

#include "harness/service.hpp"
#include "test/unit/scripted_server.hpp"

#include <fmt/format.h>

#include <signal.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <variant>
#include <vector>

using namespace coordinator::service_test;
using coordinator::unit_test::peer;
using coordinator::unit_test::scripted_server;
using mp_registrar::event_kind;

namespace {

std::vector<std::string> with_times(double instance_timeout, double health_check_interval) {
  return {"--instance-timeout", fmt::format("{}", instance_timeout), "--health-check-interval",
          fmt::format("{}", health_check_interval)};
}

std::string url_of(std::uint16_t port) {
  return fmt::format("http://127.0.0.1:{}", port);
}

/// An mp server as far as membership goes.
class mp_server {
public:
  explicit mp_server(std::vector<std::string> urls, std::chrono::milliseconds interval, std::uint16_t http_port = 8080,
                     const std::string& id = "node") {
    mp_registrar::options how;
    how.coordinator_urls = std::move(urls);
    how.http_port = http_port;
    how.instance_id = id;
    how.metadata = {{"zone", "a"}};
    how.heartbeat_interval = interval;
    how.on_event = [seen = seen_](const mp_registrar::event& what) {
      const std::lock_guard guard{seen->lock};
      seen->kinds.push_back(what.kind);
    };
    auto started = mp_registrar::start(std::move(how));
    if (const auto* wrong = std::get_if<mp_registrar::configuration_problems>(&started))
      throw std::runtime_error{mp_registrar::to_string(*wrong)};
    registrar_ = std::make_unique<mp_registrar::registrar>(std::get<mp_registrar::registrar>(std::move(started)));
  }

  bool registered() const { return registrar_->registered(); }
  void stop() { registrar_->stop(); }

  std::size_t count(event_kind kind) const {
    const std::lock_guard guard{seen_->lock};
    return static_cast<std::size_t>(std::ranges::count(seen_->kinds, kind));
  }

private:
  struct events {
    std::mutex lock;
    std::vector<event_kind> kinds;
  };

  std::shared_ptr<events> seen_ = std::make_shared<events>();
  std::unique_ptr<mp_registrar::registrar> registrar_;
};

int listed_port(client& api) {
  const auto row = listed_row(api, "node");
  return static_cast<int>(row["http_port"].integer());
}

} // namespace

// The registrar with the real coordinator.
BOOST_AUTO_TEST_SUITE(registrar)

BOOST_AUTO_TEST_CASE(a_server_joins_stays_for_many_leases_and_leaves_when_stopped) {
  service it{with_times(0.5 * leniency, 0.1)};
  mp_server member{{url_of(it.port())}, 100ms};
  BOOST_TEST_REQUIRE(eventually(5s, [&] { return is_listed(it.api, "node"); }));
  const auto row = listed_row(it.api, "node");
  BOOST_TEST(row["ip"].text() == "127.0.0.1");
  BOOST_TEST(row["http_port"].integer() == 8080);
  BOOST_TEST(row["metadata"] == json::parse(R"({"zone":"a"})"));
  BOOST_TEST(holds_for(3s, [&] { return is_listed(it.api, "node"); }));
  BOOST_TEST(member.registered());
  member.stop();
  BOOST_TEST(!is_listed(it.api, "node"));
  BOOST_TEST(member.count(event_kind::registered) == 1u);
  BOOST_TEST(member.count(event_kind::left) == 1u);
}

BOOST_AUTO_TEST_CASE(an_id_with_any_characters_is_addressed_correctly) {
  service it{with_times(1 * leniency, 0.2)};
  for (const std::string id : {"a/b", "a b?c#d", "%41", ".", "..", "\u00fc\u4e2d"}) {
    mp_server member{{url_of(it.port())}, 50ms, 8080, id};
    BOOST_TEST_REQUIRE(eventually(5s, [&] { return is_listed(it.api, id); }));
    let_pass(200ms); // some heartbeats
    BOOST_TEST(member.count(event_kind::registered) == 1u);
    member.stop();
    BOOST_TEST(!is_listed(it.api, id), id);
  }
}

BOOST_AUTO_TEST_CASE(a_server_is_back_within_an_interval_of_a_restart_of_the_coordinator) {
  const auto port = free_port();
  const std::vector<std::string> flags{"--port", std::to_string(port)};
  auto first = std::make_unique<coordinator_process>(flags);
  mp_server member{{url_of(port)}, 500ms};
  BOOST_TEST_REQUIRE(eventually(5s, [&] { return member.registered(); }));
  first->send_signal(SIGKILL);
  BOOST_TEST_REQUIRE(first->wait_for_exit(5s).has_value());
  BOOST_TEST(eventually(5s, [&] { return member.count(event_kind::unreachable) == 1; }));
  const service second{[&] {
    coordinator_options options;
    options.flags = flags;
    return options;
  }()};
  const auto start = monotonic_clock::now();
  client api{port};
  BOOST_TEST(eventually(5s, [&] { return is_listed(api, "node"); }));
  BOOST_TEST(seconds_since(start) < 0.5 * leniency);
  BOOST_TEST(eventually(5s, [&] { return member.count(event_kind::registered) == 2; }));
  BOOST_TEST(member.count(event_kind::lost) == 1u);
}

BOOST_AUTO_TEST_CASE(with_a_second_coordinator_a_server_moves_on_and_stays_there) {
  auto first = std::make_unique<coordinator_process>(coordinator_options{});
  service second;
  mp_server member{{url_of(first->port()), url_of(second.port())}, 100ms};
  BOOST_TEST_REQUIRE(eventually(5s, [&] { return member.registered(); }));
  BOOST_TEST(!is_listed(second.api, "node"));
  first->send_signal(SIGKILL);
  BOOST_TEST(eventually(5s, [&] { return is_listed(second.api, "node"); }));
  member.stop();
  BOOST_TEST(!is_listed(second.api, "node"));
}

BOOST_AUTO_TEST_CASE(of_two_servers_with_one_id_the_older_yields_and_takes_over_when_the_newer_is_gone) {
  service it{with_times(1 * leniency, 0.2)};
  mp_server older{{url_of(it.port())}, 100ms, 1001};
  BOOST_TEST_REQUIRE(eventually(5s, [&] { return older.registered(); }));
  {
    mp_server newer{{url_of(it.port())}, 100ms, 1002};
    BOOST_TEST_REQUIRE(eventually(5s, [&] { return older.count(event_kind::superseded) == 1; }));
    BOOST_TEST(!older.registered());
    // Neither takes it from the other.
    BOOST_TEST(holds_for(1s, [&] { return listed_port(it.api) == 1002; }));
    BOOST_TEST(newer.count(event_kind::superseded) == 0u);
    BOOST_TEST(newer.count(event_kind::registered) == 1u);
    BOOST_TEST(older.count(event_kind::registered) == 1u);
    BOOST_TEST(older.count(event_kind::superseded) == 1u);
  }
  BOOST_TEST(eventually(5s, [&] { return is_listed(it.api, "node") && listed_port(it.api) == 1001; }));
  BOOST_TEST(eventually(5s, [&] { return older.registered(); }));
}

BOOST_AUTO_TEST_CASE(the_goodbye_of_the_older_of_two_servers_does_not_remove_the_newer) {
  service it{with_times(5 * leniency, 0.2)};
  mp_server older{{url_of(it.port())}, 100ms, 1001};
  BOOST_TEST_REQUIRE(eventually(5s, [&] { return older.registered(); }));
  mp_server newer{{url_of(it.port())}, 100ms, 1002};
  BOOST_TEST_REQUIRE(eventually(5s, [&] { return newer.registered(); }));
  older.stop();
  BOOST_TEST(listed_port(it.api) == 1002);
}

BOOST_AUTO_TEST_CASE(a_coordinator_that_hangs_holds_up_neither_start_nor_stop) {
  service it{with_times(60, 1)};
  mp_server joined{{url_of(it.port())}, 100ms};
  BOOST_TEST_REQUIRE(eventually(5s, [&] { return joined.registered(); }));
  it.process.send_signal(SIGSTOP);
  auto start = monotonic_clock::now();
  mp_server late{{url_of(it.port())}, 100ms, 8081, "late"};
  BOOST_TEST(seconds_since(start) < 1 * leniency);
  let_pass(300ms); // requests of both hang
  for (auto* each : {&joined, &late}) {
    start = monotonic_clock::now();
    each->stop();
    BOOST_TEST(seconds_since(start) < 2 + 1 * leniency); // 2 s is the limit that the registrar sets itself
  }
  it.process.send_signal(SIGCONT);
}

BOOST_AUTO_TEST_CASE(an_interval_that_is_too_long_for_the_lease_is_shortened_and_nobody_is_evicted) {
  service it{with_times(1 * leniency, 0.2)};
  mp_server member{{url_of(it.port())}, 1h};
  BOOST_TEST_REQUIRE(eventually(5s, [&] { return is_listed(it.api, "node"); }));
  BOOST_TEST(holds_for(std::chrono::milliseconds{static_cast<int>(3000 * leniency)},
                       [&] { return is_listed(it.api, "node"); }));
  BOOST_TEST(member.count(event_kind::interval_shortened) == 1u);
  BOOST_TEST(member.count(event_kind::registered) == 1u);
}

BOOST_AUTO_TEST_CASE(a_server_that_was_removed_is_back_with_its_next_heartbeat) {
  service it{with_times(30, 1)};
  mp_server member{{url_of(it.port())}, 100ms};
  BOOST_TEST_REQUIRE(eventually(5s, [&] { return is_listed(it.api, "node"); }));
  it.api.del(instance_path("node"));
  BOOST_TEST(eventually(5s, [&] { return is_listed(it.api, "node"); }));
  BOOST_TEST(eventually(5s, [&] { return member.count(event_kind::registered) == 2; }));
  BOOST_TEST(member.count(event_kind::lost) == 1u);
}

BOOST_AUTO_TEST_CASE(a_coordinator_that_answers_nonsense_is_passed_over_for_one_that_does_not) {
  std::atomic<int> requests{0};
  auto nonsense = std::make_unique<scripted_server>([&](peer& from, int number) {
    from.read_request();
    ++requests;
    from.send(number % 2 == 0 ? "HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n{\"ok\":1" : "\x16\x03\x01 not HTTP");
  });
  service it{with_times(5, 0.5)};
  mp_server member{{url_of(nonsense->port()), url_of(it.port())}, 100ms};
  BOOST_TEST(eventually(5s, [&] { return member.registered(); })); // heard of a little later than the list shows it
  BOOST_TEST(is_listed(it.api, "node"));
  BOOST_TEST(requests >= 1);
  BOOST_TEST(member.count(event_kind::refused) + member.count(event_kind::unreachable) >= 1u);
  BOOST_TEST(holds_for(500ms, [&] { return member.registered(); }));
}

BOOST_AUTO_TEST_SUITE_END()
