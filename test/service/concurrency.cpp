#include "harness/service.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <exception>
#include <functional>
#include <mutex>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

using namespace coordinator::service_test;

namespace {

/// Runs `work(i)` for 0 ≤ i < `count`, each on a thread of its own, and starts them together once every thread has its
/// connection. What they throw is reported afterwards: the checks of the framework are not for several threads.
void at_the_same_time(std::uint16_t port, int count, const std::function<void(int, client&)>& work) {
  std::barrier start{count};
  std::mutex mutex;
  std::vector<std::string> problems;
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i)
    threads.emplace_back([&, i] {
      try {
        client mine{port};
        mine.get("/healthz");
        start.arrive_and_wait();
        work(i, mine);
      } catch (const std::exception& problem) {
        start.arrive_and_drop(); // or the others would wait for good
        const std::lock_guard guard{mutex};
        problems.push_back(fmt::format("client {}: {}", i, problem.what()));
      }
    });
  for (auto& thread : threads)
    thread.join();
  for (const auto& problem : problems)
    BOOST_ERROR(problem);
}

/// With several HTTP threads, whatever the machine has: the races are between them.
struct many_threads : service {
  many_threads() : service{std::vector<std::string>{"--http-threads", "4"}} {}
};

} // namespace

// Many clients at once.
BOOST_FIXTURE_TEST_SUITE(concurrency, many_threads)

BOOST_AUTO_TEST_CASE(of_32_simultaneous_first_registrations_exactly_one_is_the_first) {
  for (int round = 0; round < 20; ++round) {
    const auto id = fmt::format("contended-{}", round);
    std::atomic<int> firsts{0};
    std::atomic<int> accepted{0};
    at_the_same_time(port(), 32, [&](int, client& mine) {
      const auto reply = register_instance(mine, id);
      accepted += reply.status == 200;
      firsts += !reply.body_json()["re_registered"].boolean();
    });
    BOOST_TEST(accepted == 32);
    BOOST_TEST(firsts == 1);
  }
  BOOST_TEST(listed_ids(api).size() == 20u);
}

BOOST_AUTO_TEST_CASE(many_re_registrations_leave_one_entry_that_equals_one_of_them) {
  register_instance(api, "s");
  at_the_same_time(port(), 20, [&](int i, client& mine) {
    for (int round = 0; round < 5; ++round) {
      const int number = i * 5 + round;
      const auto text = std::to_string(number);
      const auto reply = register_instance(mine, {.instance_id = "s",
                                                  .ip = fmt::format("192.0.2.{}", number),
                                                  .http_port = 1000 + number,
                                                  .metadata = {{"number", text}, {"of-" + text, text}},
                                                  .p2p_advertised_url = "peer:" + text,
                                                  .mq_port = 2000 + number});
      if (!reply.body_json()["re_registered"].boolean())
        throw std::runtime_error{"a re-registration was taken for a first one"};
    }
  });
  BOOST_TEST(listed_ids(api).size() == 1u);
  const auto row = listed_row(api, "s");
  const auto number = row["mq_port"].integer() - 2000;
  const auto text = std::to_string(number);
  BOOST_TEST(row["ip"].text() == fmt::format("192.0.2.{}", number));
  BOOST_TEST(row["http_port"].integer() == 1000 + number);
  BOOST_TEST(row["p2p_advertised_url"].text() == "peer:" + text);
  BOOST_TEST(row["metadata"] == json::parse(fmt::format(R"({{"number":"{0}","of-{0}":"{0}"}})", text)));
}

BOOST_AUTO_TEST_CASE(of_many_simultaneous_deletes_by_tag_only_that_life_ends) {
  for (int round = 0; round < 20; ++round) {
    const auto earlier = register_instance(api, "s").header_text("ETag");
    const auto present = register_instance(api, "s").header_text("ETag");
    std::atomic<int> refused{0};
    at_the_same_time(port(), 8, [&](int, client& mine) {
      refused += mine.del(instance_path("s"), {{"If-Match", earlier}}).status == 412;
    });
    BOOST_TEST(refused == 8);
    BOOST_TEST(heartbeat(api, "s", {{"If-Match", present}}).status == 200);
  }
}

BOOST_AUTO_TEST_CASE(heartbeats_succeed_while_lists_are_read_and_the_fleet_changes) {
  constexpr int members = 32;
  register_all(port(), numbered_registrations("member", members));
  at_the_same_time(port(), members + 4, [&](int i, client& mine) {
    for (int round = 0; round < 50; ++round) {
      if (i < members) {
        const auto id = fmt::format("member-{}", i);
        const auto reply = heartbeat(mine, id);
        if (reply.body != fmt::format(R"({{"instance_id":"{}"}})", id))
          throw std::runtime_error{"a heartbeat got " + reply.body};
      } else if (i % 2 == 0) {
        const auto ids = listed_ids(mine);
        const auto listed =
            std::count_if(ids.begin(), ids.end(), [](const auto& id) { return id.starts_with("member-"); });
        if (listed != members)
          throw std::runtime_error{fmt::format("a list shows {} members", listed)};
      } else {
        const auto id = fmt::format("visitor-{}-{}", i, round);
        register_instance(mine, id);
        mine.del(instance_path(id));
      }
    }
  });
  BOOST_TEST(listed_ids(api).size() == static_cast<std::size_t>(members));
}

BOOST_AUTO_TEST_CASE(what_a_client_did_is_seen_by_its_next_request_and_by_all_later_ones_of_others) {
  at_the_same_time(port(), 16, [&](int i, client& mine) {
    const auto id = fmt::format("n-{}", i);
    client other{port()};
    for (int round = 0; round < 50; ++round) {
      register_instance(mine, id);
      if (!is_listed(mine, id) || !is_listed(other, id) || other.get(instance_path(id)).status != 200)
        throw std::runtime_error{"a registration is not seen"};
      mine.del(instance_path(id));
      if (is_listed(other, id) || is_listed(mine, id) || heartbeat(other, id).status != 404)
        throw std::runtime_error{"a departure is not seen"};
    }
  });
}

BOOST_AUTO_TEST_CASE(no_reply_reaches_another_client_while_others_come_and_go) {
  constexpr int members = 16;
  constexpr int leavers = 16;
  register_all(port(), numbered_registrations("member", members + leavers));
  std::atomic<bool> enough{false};
  std::atomic<int> checked{0};
  std::thread timer{[&] {
    let_pass(3s);
    enough = true;
  }};
  at_the_same_time(port(), members + leavers, [&](int i, client& mine) {
    const auto id = fmt::format("member-{}", i);
    const auto expected = fmt::format(R"({{"instance_id":"{}"}})", id);
    std::minstd_rand random{static_cast<unsigned>(i) + 1};
    while (!enough) {
      if (i < members) {
        // Half of them on connections of their own, whose descriptor numbers are those of clients that have just left.
        client fresh{port()};
        const auto reply = heartbeat(i % 2 == 0 ? mine : fresh, id);
        if (reply.status != 200 || reply.body != expected)
          throw std::runtime_error{fmt::format("{} got {}", id, reply.body)};
        ++checked;
      } else {
        connection raw{port()};
        raw.try_send(render_request("PUT", heartbeat_path(id)) + render_request("GET", "/instances"));
        if (random() % 4 != 0)
          std::this_thread::sleep_for(std::chrono::microseconds{random() % 250});
        raw.reset();
      }
    }
  });
  timer.join();
  BOOST_TEST(checked > 100);
  BOOST_TEST(is_alive(port()));
}

BOOST_AUTO_TEST_SUITE_END()
