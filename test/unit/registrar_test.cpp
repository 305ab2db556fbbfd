#include "http/registrar/registrar.hpp"

#include "http/registrar/configuration.hpp"
#include "scripted_server.hpp"

#include <boost/test/unit_test.hpp>

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

using namespace mp_registrar;
using namespace std::chrono_literals;
using coordinator::unit_test::peer;
using coordinator::unit_test::scripted_server;
using coordinator::unit_test::unused_port;

namespace {

using clock_type = std::chrono::steady_clock;

/// Far longer than anything here takes, on any machine.
constexpr auto patience = 30s;

/// What a thread notes and another waits for.
class notes {
public:
  void add(std::string line) {
    const std::lock_guard guard{lock_};
    lines_.push_back(std::move(line));
    changed_.notify_all();
  }

  std::vector<std::string> all() const {
    const std::lock_guard guard{lock_};
    return lines_;
  }

  bool wait_for(std::string_view start, std::size_t times = 1) const {
    std::unique_lock guard{lock_};
    return changed_.wait_for(guard, patience, [&] {
      std::size_t found = 0;
      for (const auto& line : lines_)
        found += line.starts_with(start) ? 1 : 0;
      return found >= times;
    });
  }

private:
  mutable std::mutex lock_;
  mutable std::condition_variable changed_;
  std::vector<std::string> lines_;
};

/// Answers as a coordinator does, and notes the request lines.
struct fake_coordinator {
  notes requests;
  scripted_server server{[this](peer& client, int) {
    while (const auto request = client.read_request()) {
      requests.add(request->substr(0, request->find(" HTTP/")));
      if (request->starts_with("POST"))
        client.answer(R"({"instance_id":"a","re_registered":false})");
      else if (request->starts_with("PUT"))
        client.answer(R"({"instance_id":"a"})");
      else
        client.answer("", 204);
    }
  }};
};

options with_url(std::string url) {
  options how;
  how.coordinator_urls = {std::move(url)};
  how.http_port = 8080;
  how.instance_id = "a";
  return how;
}

/// For as long as it lives no thread can be started with the default attributes: none has room for such a stack.
class no_threads {
public:
  no_threads() {
    ::pthread_getattr_default_np(&before_);
    auto wanted = before_;
    ::pthread_attr_setstacksize(&wanted, std::size_t{1} << 62);
    BOOST_TEST_REQUIRE(::pthread_setattr_default_np(&wanted) == 0);
  }
  ~no_threads() {
    ::pthread_setattr_default_np(&before_);
    ::pthread_attr_destroy(&before_);
  }
  no_threads(const no_threads&) = delete;
  no_threads& operator=(const no_threads&) = delete;

private:
  pthread_attr_t before_{};
};

registrar start_well(options how) {
  auto started = start(std::move(how));
  if (const auto* found = std::get_if<configuration_problems>(&started))
    BOOST_FAIL(to_string(*found));
  return std::get<registrar>(std::move(started));
}

std::string problems_of(options how) {
  auto started = start(std::move(how));
  const auto* found = std::get_if<configuration_problems>(&started);
  return found ? to_string(*found) : "none";
}

std::string problems_with(const std::function<void(options&)>& change) {
  auto how = with_url("http://127.0.0.1:1");
  change(how);
  return problems_of(std::move(how));
}

} // namespace

BOOST_AUTO_TEST_SUITE(registrar_test)

// -- configuration ----------------------------------------------------------

BOOST_AUTO_TEST_CASE(without_a_coordinator_nothing_happens_and_nothing_is_looked_at) {
  options how;
  how.coordinator_urls = {"", " "};
  how.advertise_ip = "nonsense nonsense";
  auto member = start_well(how);
  BOOST_TEST(!member.registered());
  BOOST_TEST(member.instance_id() == "");
  member.stop();
}

BOOST_AUTO_TEST_CASE(a_url_is_complete_and_of_http) {
  for (const auto* url : {"http://c", "http://c:9300", "https://c:9300/", "http://192.0.2.1:9300/base/path",
                          "http://[2001:db8::1]:9300", "http://localhost"})
    BOOST_TEST(!coordinator_url_problem(url).has_value(), url);
  for (const auto* url : {"c", "c:9300", "http://", "http:///c", "http:/c", "ftp://c", "http://c:port", "http://c:0",
                          "http://c:65536", "http://a b", "http://c\n", "http://[::1", "http://c?x=1", "http://c/#f",
                          "http://user:secret@c", "http://user@c", ""})
    BOOST_TEST(coordinator_url_problem(url).has_value(), url);
  const auto problem = coordinator_url_problem("http://user:secret@c");
  BOOST_TEST(problem->find("secret") == std::string::npos);
}

BOOST_AUTO_TEST_CASE(each_wrong_setting_is_named_with_what_is_allowed) {
  BOOST_TEST(problems_with([](options& how) { how.coordinator_urls.emplace_back("c2"); })
             == "coordinator_urls: must be http://HOST:PORT or https://HOST:PORT, optionally followed by a path, not "
                "\"c2\"\n");
  BOOST_TEST(
      problems_with([](options& how) { how.advertise_ip = "::"; })
      == "advertise_ip: a wildcard address means every interface and leads nowhere from other machines: \"::\"\n");
  BOOST_TEST(problems_with([](options& how) { how.http_port = 0; })
             == "http_port: must be a port from 1 to 65535, not 0\n");
  BOOST_TEST(problems_with([](options& how) { how.instance_id = "a\tb"; })
             == "instance_id: an instance id must not contain control characters\n");
  BOOST_TEST(problems_with([](options& how) { how.instance_id = std::string(257, 'x'); })
             == "instance_id: an instance id has at most 256 bytes, this one has 257\n");
  BOOST_TEST(problems_with([](options& how) {
               how.metadata = {{"a", "1"}, {"a", "2"}};
             })
             == "metadata: must not have the same name twice: \"a\"\n");
  BOOST_TEST(problems_with([](options& how) {
               how.metadata = {{"a", std::string(65536, 'x')}};
             })
             == "metadata: must have at most 65536 bytes, names and values together, not 65537\n");
  BOOST_TEST(problems_with([](options& how) {
               how.metadata = {{"a", "\xFF"}};
             })
             == "metadata: must be valid UTF-8: \"a\"\n");
  BOOST_TEST(problems_with([](options& how) {
               for (int i = 0; i < 1025; ++i)
                 how.metadata.emplace_back(std::to_string(i), "");
             })
             == "metadata: must have at most 1024 entries, not 1025\n");
  BOOST_TEST(problems_with([](options& how) { how.p2p_advertised_url = std::string(1025, 'x'); })
             == "p2p_advertised_url: must have at most 1024 bytes, not 1025\n");
  BOOST_TEST(problems_with([](options& how) { how.heartbeat_interval = 0s; })
             == "heartbeat_interval: must be a number of seconds from 0.001 to 31622400, not 0.0\n");
  BOOST_TEST(problems_with([](options& how) { how.heartbeat_interval = -5s; })
             == "heartbeat_interval: must be a number of seconds from 0.001 to 31622400, not -5.0\n");
  BOOST_TEST(problems_with([](options& how) { how.stop_timeout = -1s; })
             == "stop_timeout: must be from 0 to 3600 seconds\n");
}

BOOST_AUTO_TEST_CASE(all_that_is_wrong_is_listed_at_once) {
  const auto text = problems_with([](options& how) {
    how.coordinator_urls = {"c1", "c2"};
    how.http_port = 0;
    how.heartbeat_interval = 0s;
  });
  BOOST_TEST(std::count(text.begin(), text.end(), '\n') == 4);
}

BOOST_AUTO_TEST_CASE(an_interval_is_a_finite_positive_number) {
  for (const double seconds :
       {0.0, -1.0, 0.0001, 1e9, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()})
    BOOST_TEST(heartbeat_interval_problem(std::chrono::duration<double>{seconds}).has_value());
  BOOST_TEST(!heartbeat_interval_problem(std::chrono::duration<double>{0.001}).has_value());
}

BOOST_AUTO_TEST_CASE(without_an_address_that_of_the_way_to_the_coordinator_is_taken) {
  BOOST_TEST(detect_own_address("http://127.0.0.1:9300").value() == "127.0.0.1");
  BOOST_TEST(detect_own_address("http://localhost:9300").value() == "127.0.0.1");
  auto member = start_well(with_url("http://127.0.0.1:" + std::to_string(unused_port())));
  BOOST_TEST(member.advertised_ip() == "127.0.0.1");
  auto how = with_url("http://127.0.0.1:" + std::to_string(unused_port()));
  how.advertise_ip = " [2001:db8::7] ";
  BOOST_TEST(start_well(how).advertised_ip() == "2001:db8::7");
}

BOOST_AUTO_TEST_CASE(without_an_id_each_start_has_a_new_one) {
  auto how = with_url("http://127.0.0.1:" + std::to_string(unused_port()));
  how.instance_id = " ";
  const auto first = start_well(how);
  const auto second = start_well(how);
  BOOST_TEST(!first.instance_id().empty());
  BOOST_TEST(first.instance_id() != second.instance_id());
}

// -- life -------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(it_registers_heartbeats_and_leaves_once) {
  fake_coordinator fake;
  notes events;
  auto how = with_url(fake.server.url());
  how.heartbeat_interval = 20ms;
  how.on_event = [&](const event& what) { events.add(describe(what)); };
  auto member = start_well(how);
  BOOST_TEST(fake.requests.wait_for("PUT /instances/a/heartbeat", 3));
  BOOST_TEST(member.registered());
  member.stop();
  BOOST_TEST(!member.registered());
  member.stop();
  const auto requests = fake.requests.all();
  BOOST_TEST(requests.front() == "POST /instances");
  BOOST_TEST(requests.back() == "DELETE /instances/a");
  BOOST_TEST(std::ranges::count(requests, "POST /instances") == 1);
  BOOST_TEST(std::ranges::count(requests, "DELETE /instances/a") == 1);
  const std::vector<std::string> expected{"registered as a with " + fake.server.url() + "; a heartbeat every 0.02 s",
                                          "a left " + fake.server.url()};
  BOOST_TEST(events.all() == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(the_destructor_and_being_replaced_leave_too) {
  fake_coordinator fake;
  {
    auto member = start_well(with_url(fake.server.url()));
    BOOST_TEST(fake.requests.wait_for("POST"));
    auto moved = std::move(member);
    moved = start_well(with_url(fake.server.url()));
    BOOST_TEST(fake.requests.wait_for("DELETE"));
    BOOST_TEST(fake.requests.wait_for("POST", 2));
  }
  BOOST_TEST(std::ranges::count(fake.requests.all(), "DELETE /instances/a") == 2);
}

BOOST_AUTO_TEST_CASE(one_that_was_moved_from_is_nobody) {
  auto how = with_url("http://127.0.0.1:" + std::to_string(unused_port()));
  how.advertise_ip = "192.0.2.1";
  auto member = start_well(how);
  const auto moved = std::move(member);
  BOOST_TEST(moved.instance_id() == "a");
  BOOST_TEST(moved.advertised_ip() == "192.0.2.1");
  // NOLINTBEGIN(bugprone-use-after-move)
  BOOST_TEST(member.instance_id() == "");
  BOOST_TEST(member.advertised_ip() == "");
  BOOST_TEST(!member.registered());
  member.stop();
  // NOLINTEND(bugprone-use-after-move)
}

BOOST_AUTO_TEST_CASE(one_that_is_abandoned_falls_silent_without_leaving) {
  fake_coordinator fake;
  notes events;
  auto how = with_url(fake.server.url());
  how.heartbeat_interval = 20ms;
  how.on_event = [&](const event& what) { events.add(describe(what)); };
  std::size_t sent = 0;
  {
    auto member = start_well(how);
    BOOST_TEST(fake.requests.wait_for("PUT"));
    member.abandon();
    sent = fake.requests.all().size();
    member.stop();
  }
  const auto requests = fake.requests.all();
  BOOST_TEST(requests.size() <= sent + 1); // one may have been on its way
  BOOST_TEST(std::ranges::count(requests, "DELETE /instances/a") == 0);
  BOOST_TEST(events.all().size() == 1U); // it registered, and nothing was heard of since
}

BOOST_AUTO_TEST_CASE(several_threads_may_stop_it_and_all_return_when_it_has_left) {
  fake_coordinator fake;
  notes events;
  auto how = with_url(fake.server.url());
  how.on_event = [&](const event& what) { events.add(std::string{to_string(what.kind)}); };
  auto member = start_well(how);
  BOOST_TEST(events.wait_for("registered"));
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      member.stop();
      events.add("stopped");
    });
  for (auto& thread : threads)
    thread.join();
  BOOST_TEST(events.all().at(1) == "left");
  BOOST_TEST(std::ranges::count(fake.requests.all(), "DELETE /instances/a") == 1);
}

BOOST_AUTO_TEST_CASE(a_coordinator_that_never_answers_delays_a_stop_by_no_more_than_its_limit) {
  scripted_server silent{[](peer& client, int) { client.wait_for_end(); }};
  auto how = with_url(silent.url());
  how.stop_timeout = 100ms;
  auto member = start_well(how);
  while (silent.connections() == 0)
    std::this_thread::yield();
  const auto start = clock_type::now();
  member.stop();
  BOOST_TEST((clock_type::now() - start >= 100ms));
  BOOST_TEST((clock_type::now() - start < 9s)); // the request's own limit is 10 s
}

BOOST_AUTO_TEST_CASE(with_nobody_there_a_stop_takes_no_time) {
  notes events;
  auto how = with_url("http://127.0.0.1:" + std::to_string(unused_port()));
  how.stop_timeout = patience;
  how.log = [&](log_level level, std::string_view text) {
    events.add((level == log_level::warning ? "warning " : "info ") + std::string{text});
  };
  auto member = start_well(how);
  BOOST_TEST(events.wait_for("warning no answer from http://127.0.0.1:"));
  const auto start = clock_type::now();
  member.stop();
  BOOST_TEST((clock_type::now() - start < patience / 2));
}

BOOST_AUTO_TEST_CASE(coordinators_that_talk_nonsense_harm_nobody) {
  for (const std::string_view nonsense :
       {"hello", "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nnull", "HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{",
        "HTTP/1.1 302 X\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n", ""}) {
    notes events;
    scripted_server server{[nonsense](peer& client, int) {
      client.read_request();
      client.send(nonsense);
    }};
    auto how = with_url(server.url());
    how.heartbeat_interval = 20ms;
    how.on_event = [&](const event& what) { events.add(std::string{to_string(what.kind)}); };
    auto member = start_well(how);
    while (server.connections() < 3)
      std::this_thread::yield();
    BOOST_TEST(!member.registered());
    member.stop();
    BOOST_TEST(events.all().size() == 1u); // one complaint
  }
}

BOOST_AUTO_TEST_CASE(each_event_has_a_line_of_its_own_that_names_the_coordinator) {
  std::vector<std::string> lines;
  for (const auto kind : {event_kind::registered, event_kind::lost, event_kind::superseded, event_kind::unreachable,
                          event_kind::refused, event_kind::interval_shortened, event_kind::left}) {
    event what;
    what.kind = kind;
    what.instance_id = "a";
    what.coordinator_url = "http://c";
    what.lease = 1500ms;
    what.interval = 500ms;
    lines.push_back(describe(what));
    BOOST_TEST(lines.back().find("http://c") != std::string::npos);
    BOOST_TEST(to_string(kind) != "unknown");
  }
  BOOST_TEST(lines[5]
             == "http://c evicts after 1.5 s of silence: a heartbeat every 0.5 s from now on, not as configured");
  std::sort(lines.begin(), lines.end());
  BOOST_TEST((std::unique(lines.begin(), lines.end()) == lines.end()));
}

// -- callbacks --------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_callback_that_throws_is_survived) {
  fake_coordinator fake;
  auto how = with_url(fake.server.url());
  how.heartbeat_interval = 20ms;
  how.on_event = [](const event&) { throw std::runtime_error{"mine"}; };
  how.log = [](log_level, std::string_view) { throw 7; };
  auto member = start_well(how);
  BOOST_TEST(fake.requests.wait_for("PUT", 2));
}

BOOST_AUTO_TEST_CASE(a_callback_may_stop_the_registrar) {
  fake_coordinator fake;
  notes events;
  std::optional<registrar> member;
  std::mutex ready;
  auto how = with_url(fake.server.url());
  how.on_event = [&](const event& what) {
    const std::lock_guard guard{ready};
    events.add(std::string{to_string(what.kind)});
    if (what.kind == event_kind::registered) {
      member->stop();
      member->stop();
    }
  };
  {
    const std::lock_guard guard{ready};
    member.emplace(start_well(how));
  }
  BOOST_TEST(events.wait_for("left"));
  member->stop();
  BOOST_TEST(std::ranges::count(fake.requests.all(), "DELETE /instances/a") == 1);
}

BOOST_AUTO_TEST_CASE(a_callback_may_even_destroy_the_registrar) {
  fake_coordinator fake;
  // Kept by the callback, which may outlast this test.
  struct shared_things {
    notes events;
    std::mutex ready;
    std::optional<registrar> member;
  };
  const auto things = std::make_shared<shared_things>();
  auto how = with_url(fake.server.url());
  how.on_event = [things](const event& what) {
    const std::lock_guard guard{things->ready};
    if (what.kind == event_kind::registered)
      things->member.reset();
    things->events.add(std::string{to_string(what.kind)});
  };
  {
    const std::lock_guard guard{things->ready};
    things->member.emplace(start_well(how));
  }
  BOOST_TEST(things->events.wait_for("left"));
  BOOST_TEST(fake.requests.wait_for("DELETE"));
}

BOOST_AUTO_TEST_CASE(a_callback_that_waits_for_the_thread_that_stops_is_not_waited_for) {
  fake_coordinator fake;
  struct shared_things {
    notes events;
    std::mutex lock;
  };
  const auto things = std::make_shared<shared_things>();
  auto how = with_url(fake.server.url());
  how.stop_timeout = 50ms;
  how.on_event = [things](const event&) {
    things->events.add("began");
    const std::lock_guard guard{things->lock};
    things->events.add("ended");
  };
  {
    const std::lock_guard guard{things->lock};
    auto member = start_well(how);
    BOOST_TEST(things->events.wait_for("began"));
    member.stop();
    BOOST_TEST(things->events.all().size() == 1u);
  }
  BOOST_TEST(things->events.wait_for("ended"));
  // Destroyed with the registrar's thread, which has come to its end then.
  how.on_event = nullptr;
  while (things.use_count() > 1)
    std::this_thread::yield();
  BOOST_TEST(things->events.all().size() == 2u);
}

BOOST_AUTO_TEST_CASE(without_a_thread_to_be_had_nobody_waits_for_ever) {
  fake_coordinator fake;
  notes events;
  std::mutex lock;
  auto how = with_url(fake.server.url());
  how.stop_timeout = 50ms;
  how.on_event = [&](const event&) {
    events.add("began");
    const std::lock_guard guard{lock};
  };
  auto member = std::make_unique<registrar>(start_well(how));
  {
    const std::lock_guard guard{lock};
    BOOST_TEST(events.wait_for("began"));
    const no_threads scarcity;
    member->stop(); // would leave the rest to a thread
    member->stop();
  }
  std::thread destroying{[&] {
    member.reset();
    events.add("destroyed");
  }};
  BOOST_TEST_REQUIRE(events.wait_for("destroyed"));
  destroying.join();
}

BOOST_AUTO_TEST_SUITE_END()
