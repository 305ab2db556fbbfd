#include "actors/call_queue.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <map>
#include <random>
#include <string>
#include <vector>

using namespace coordinator;
using namespace std::chrono_literals;

namespace {

/// The mp server of that number. Its registration has the same number.
member server(std::uint64_t number) {
  schema::instance entry;
  entry.instance_id = "node-" + std::to_string(number);
  entry.ip = "192.0.2.1";
  entry.http_port = static_cast<std::uint16_t>(1000 + number);
  return {std::make_shared<const schema::instance>(std::move(entry)), number, number};
}

instance_call call_of(const member& target, duration timeout = 5s, std::string body = {}) {
  instance_call result;
  result.target = target;
  result.path = "/healthcheck";
  result.body = std::move(body);
  result.timeout = timeout;
  return result;
}

outbound_reply reply_of(outbound_outcome outcome, int status = 0) {
  outbound_reply result;
  result.outcome = outcome;
  result.status = status;
  return result;
}

using numbers = std::vector<call_queue::call_number>;

const outbound_reply ok = reply_of(outbound_outcome::answered, 200);

struct fixture {
  time_point now{1h};

  /// The numbers of the calls that may start, in their order.
  numbers start_all(call_queue& calls) const {
    numbers result;
    while (const auto next = calls.start_next(now))
      result.push_back(next->which.number);
    return result;
  }

  call_queue::call_number ask(call_queue& calls, const instance_call& call) const {
    const auto number = calls.ask(call, now);
    BOOST_REQUIRE(number);
    return *number;
  }

  static numbers numbers_of(const std::vector<call_queue::entry>& entries) {
    numbers result;
    for (const auto& each : entries)
      result.push_back(each.number);
    std::ranges::sort(result);
    return result;
  }

  /// Whether every call that was asked for is somewhere, once.
  static bool adds_up(const call_queue& calls) {
    const auto& counts = calls.counts();
    std::uint64_t ended = counts.refused + counts.timed_out + counts.failed + counts.departed + counts.overloaded;
    for (const auto answered : counts.answered)
      ended += answered;
    return counts.asked == ended + calls.running() + calls.waiting();
  }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(call_queue_test, fixture)

BOOST_AUTO_TEST_CASE(a_call_runs_at_once_when_there_is_room) {
  call_queue calls{{}};
  const auto number = ask(calls, call_of(server(1), 5s, "{}"));
  const auto next = calls.start_next(now);
  BOOST_REQUIRE(next);
  BOOST_TEST(next->which.number == number);
  BOOST_TEST(next->which.call.target.entry->instance_id == "node-1");
  BOOST_TEST(next->body == "{}");
  BOOST_TEST((next->which.deadline == now + 5s));
  BOOST_TEST(!calls.start_next(now));
  BOOST_TEST(calls.running() == 1u);
  BOOST_TEST(calls.waiting() == 0u);
  const auto ended = calls.finish(number, ok, now);
  BOOST_REQUIRE(ended);
  BOOST_TEST((ended->asked_at == now));
  BOOST_TEST(calls.running() == 0u);
  BOOST_TEST(!calls.finish(number, ok, now));
  BOOST_TEST(!calls.next_deadline());
}

BOOST_AUTO_TEST_CASE(no_more_calls_run_at_a_target_than_its_limit) {
  call_queue calls{{.running_per_target = 2}};
  const auto target = server(1);
  for (int i = 0; i < 5; ++i)
    ask(calls, call_of(target));
  BOOST_TEST(start_all(calls) == (numbers{1, 2}), boost::test_tools::per_element());
  calls.finish(2, ok, now);
  BOOST_TEST(start_all(calls) == (numbers{3}), boost::test_tools::per_element());
  calls.finish(1, ok, now);
  calls.finish(3, ok, now);
  BOOST_TEST(start_all(calls) == (numbers{4, 5}), boost::test_tools::per_element());
  BOOST_TEST(calls.counts().most_running == 2u);
}

BOOST_AUTO_TEST_CASE(two_instances_at_one_address_share_its_limit) {
  call_queue calls{{.running_per_target = 1}};
  auto twin = server(1);
  twin.registration = 77;
  ask(calls, call_of(server(1)));
  ask(calls, call_of(twin));
  BOOST_TEST(start_all(calls).size() == 1u);
}

BOOST_AUTO_TEST_CASE(no_more_calls_run_than_the_limit_for_all) {
  call_queue calls{{.running = 3}};
  for (std::uint64_t i = 1; i <= 5; ++i)
    ask(calls, call_of(server(i)));
  BOOST_TEST(start_all(calls) == (numbers{1, 2, 3}), boost::test_tools::per_element());
  calls.finish(1, ok, now);
  BOOST_TEST(start_all(calls) == (numbers{4}), boost::test_tools::per_element());
  BOOST_TEST(calls.running() == 3u);
  BOOST_TEST(calls.waiting() == 1u);
}

BOOST_AUTO_TEST_CASE(a_target_at_its_limit_holds_up_no_other) {
  call_queue calls{{.running = 10, .running_per_target = 2}};
  for (int i = 0; i < 50; ++i)
    ask(calls, call_of(server(1)));
  const auto other = ask(calls, call_of(server(2)));
  BOOST_TEST(start_all(calls) == (numbers{1, 2, other}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(of_calls_that_may_run_the_one_asked_for_first_is_next) {
  call_queue calls{{.running = 2, .running_per_target = 1}};
  ask(calls, call_of(server(1)));                     // 1, runs
  ask(calls, call_of(server(2)));                     // 2, runs
  ask(calls, call_of(server(1)));                     // 3, its target is busy
  const auto third = ask(calls, call_of(server(3)));  // 4
  const auto fourth = ask(calls, call_of(server(2))); // 5, its target is busy
  const auto fifth = ask(calls, call_of(server(4)));  // 6
  BOOST_TEST(start_all(calls).size() == 2u);
  calls.finish(2, ok, now);
  BOOST_TEST(start_all(calls) == (numbers{third}), boost::test_tools::per_element());
  calls.finish(third, ok, now);
  BOOST_TEST(start_all(calls) == (numbers{fourth}), boost::test_tools::per_element());
  calls.finish(1, ok, now);
  BOOST_TEST(start_all(calls) == (numbers{3}), boost::test_tools::per_element());
  calls.finish(3, ok, now);
  BOOST_TEST(start_all(calls) == (numbers{fifth}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(time_limits_count_from_asking_while_waiting_and_while_running) {
  call_queue calls{{.running_per_target = 1}};
  const auto runs = ask(calls, call_of(server(1), 4s));
  const auto waits = ask(calls, call_of(server(1), 2s));
  const auto patient = ask(calls, call_of(server(1), 10s));
  start_all(calls);
  BOOST_TEST((calls.next_deadline() == now + 2s));
  BOOST_TEST(calls.expire(now + 2s - 1ns).empty());
  const auto first = calls.expire(now + 2s);
  BOOST_TEST(numbers_of(first) == (numbers{waits}), boost::test_tools::per_element());
  BOOST_TEST(!first.front().running);
  const auto second = calls.expire(now + 4s);
  BOOST_TEST(numbers_of(second) == (numbers{runs}), boost::test_tools::per_element());
  BOOST_TEST(second.front().running);
  BOOST_TEST(start_all(calls) == (numbers{patient}), boost::test_tools::per_element());
  BOOST_TEST(!calls.finish(runs, ok, now));
  BOOST_TEST(calls.counts().timed_out == 2u);
  BOOST_TEST(adds_up(calls));
}

BOOST_AUTO_TEST_CASE(calls_expire_in_the_order_of_their_deadlines) {
  call_queue calls{{}};
  const auto late = ask(calls, call_of(server(1), 3s));
  const auto early = ask(calls, call_of(server(2), 1s));
  const auto expired = calls.expire(now + 1h);
  BOOST_REQUIRE(expired.size() == 2u);
  BOOST_TEST(expired[0].number == early);
  BOOST_TEST(expired[1].number == late);
}

BOOST_AUTO_TEST_CASE(a_time_limit_of_nothing_has_run_out_and_an_endless_one_is_a_day) {
  call_queue calls{{}};
  const auto none = ask(calls, call_of(server(1), -1s));
  BOOST_TEST(numbers_of(calls.expire(now)) == (numbers{none}), boost::test_tools::per_element());
  ask(calls, call_of(server(1), duration::max()));
  BOOST_TEST((calls.next_deadline() == now + 24h));
}

BOOST_AUTO_TEST_CASE(all_calls_of_a_registration_are_given_up_running_or_waiting) {
  call_queue calls{{.running_per_target = 1}};
  ask(calls, call_of(server(1)));
  ask(calls, call_of(server(2)));
  ask(calls, call_of(server(1)));
  ask(calls, call_of(server(2)));
  start_all(calls);
  const auto given_up = calls.give_up(1);
  BOOST_TEST(numbers_of(given_up) == (numbers{1, 3}), boost::test_tools::per_element());
  BOOST_TEST(given_up[0].running);
  BOOST_TEST(!given_up[1].running);
  BOOST_TEST(calls.give_up(1).empty());
  BOOST_TEST(calls.give_up(99).empty());
  BOOST_TEST(calls.running() == 1u);
  BOOST_TEST(calls.waiting() == 1u);
  BOOST_TEST(calls.counts().departed == 2u);
  BOOST_TEST(adds_up(calls));
}

BOOST_AUTO_TEST_CASE(a_registration_that_ends_makes_room_for_the_next_one_at_its_address) {
  call_queue calls{{.running_per_target = 1}};
  auto successor = server(1);
  successor.registration = 2;
  ask(calls, call_of(server(1)));
  const auto next = ask(calls, call_of(successor));
  start_all(calls);
  calls.give_up(1);
  BOOST_TEST(start_all(calls) == (numbers{next}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(calls_are_given_up_by_what_is_known_of_their_target) {
  call_queue calls{{.running_per_target = 1}};
  for (std::uint64_t i = 1; i <= 6; ++i)
    ask(calls, call_of(server(i % 3)));
  start_all(calls);
  const auto given_up = calls.give_up_if([](const member& target) { return target.registration != 1; });
  BOOST_TEST(numbers_of(given_up) == (numbers{2, 3, 5, 6}), boost::test_tools::per_element());
  BOOST_TEST(calls.counts().departed == 4u);
  BOOST_TEST(adds_up(calls));
}

BOOST_AUTO_TEST_CASE(what_would_have_to_wait_is_turned_away_when_too_many_wait) {
  call_queue calls{{.running_per_target = 1, .waiting = 2}};
  for (int i = 0; i < 3; ++i) {
    ask(calls, call_of(server(1)));
    start_all(calls);
  }
  BOOST_TEST(!calls.ask(call_of(server(1)), now));
  BOOST_TEST(calls.counts().overloaded == 1u);
  BOOST_TEST(calls.counts().most_waiting == 2u);
  ask(calls, call_of(server(2))); // need not wait
  BOOST_TEST(start_all(calls).size() == 1u);
  calls.finish(1, ok, now);
  start_all(calls);
  BOOST_TEST(calls.ask(call_of(server(1)), now).has_value());
  BOOST_TEST(adds_up(calls));
}

BOOST_AUTO_TEST_CASE(what_would_have_to_wait_is_turned_away_when_its_body_does_not_fit) {
  call_queue calls{{.running_per_target = 1, .waiting_bytes = 10}};
  ask(calls, call_of(server(1), 5s, std::string(100, 'x'))); // runs at once
  start_all(calls);
  ask(calls, call_of(server(1), 5s, std::string(6, 'x')));
  BOOST_TEST(!calls.ask(call_of(server(1), 5s, std::string(5, 'x')), now));
  const auto fits = ask(calls, call_of(server(1), 5s, std::string(4, 'x')));
  BOOST_TEST(calls.waiting_bytes() == 10u);
  calls.finish(1, ok, now);
  start_all(calls);
  BOOST_TEST(calls.waiting_bytes() == 4u);
  calls.finish(2, ok, now);
  BOOST_TEST(start_all(calls) == (numbers{fits}), boost::test_tools::per_element());
  BOOST_TEST(calls.waiting_bytes() == 0u);
}

BOOST_AUTO_TEST_CASE(a_body_that_waits_no_more_makes_room_however_its_call_ended) {
  call_queue calls{{.running_per_target = 1}};
  ask(calls, call_of(server(1)));
  start_all(calls);
  ask(calls, call_of(server(1), 1s, "12345"));
  ask(calls, call_of(server(1), 5s, "12345"));
  calls.expire(now + 1s);
  BOOST_TEST(calls.waiting_bytes() == 5u);
  calls.give_up(1);
  BOOST_TEST(calls.waiting_bytes() == 0u);
}

BOOST_AUTO_TEST_CASE(every_call_is_counted_once_by_what_became_of_it) {
  call_queue calls{{.waiting = 0}};
  for (const int status : {200, 204, 301, 404, 503, 599, 100, 999, 0})
    calls.finish(ask(calls, call_of(server(1))), reply_of(outbound_outcome::answered, status), now);
  calls.finish(ask(calls, call_of(server(1))), reply_of(outbound_outcome::refused), now);
  calls.finish(ask(calls, call_of(server(1))), reply_of(outbound_outcome::timed_out), now);
  calls.finish(ask(calls, call_of(server(1))), reply_of(outbound_outcome::failed), now);
  calls.note_departed();
  const auto& counts = calls.counts();
  BOOST_TEST(counts.asked == 13u);
  BOOST_TEST(counts.answered == (std::array<std::uint64_t, 6>{2, 1, 2, 1, 1, 2}), boost::test_tools::per_element());
  BOOST_TEST(counts.refused == 1u);
  BOOST_TEST(counts.timed_out == 1u);
  BOOST_TEST(counts.failed == 1u);
  BOOST_TEST(counts.departed == 1u);
  BOOST_TEST(adds_up(calls));
}

BOOST_AUTO_TEST_CASE(whatever_happens_the_limits_hold_turns_are_fair_and_every_call_ends_once) {
  constexpr call_limits limits{.running = 6, .running_per_target = 2, .waiting = 12, .waiting_bytes = 40};
  constexpr std::uint64_t servers = 5;
  struct expected {
    std::uint64_t server;
    time_point deadline;
    std::size_t bytes;
    bool running;
  };
  std::mt19937 random{20261130};
  const auto below = [&](std::size_t bound) {
    return std::uniform_int_distribution<std::size_t>{0, bound - 1}(random);
  };
  call_queue calls{limits};
  std::map<call_queue::call_number, expected> model; // every call that has not ended
  std::uint64_t overloaded = 0;
  const auto count = [&](auto condition) {
    return static_cast<std::size_t>(
        std::ranges::count_if(model, [&](const auto& each) { return condition(each.second); }));
  };
  const auto running = [&] { return count([](const expected& each) { return each.running; }); };
  const auto running_at = [&](std::uint64_t server) {
    return count([&](const expected& each) { return each.running && each.server == server; });
  };
  const auto waiting_bytes = [&] {
    std::size_t sum = 0;
    for (const auto& [number, each] : model)
      sum += each.running ? 0 : each.bytes;
    return sum;
  };
  const auto forget = [&](const std::vector<call_queue::entry>& ended, auto condition) {
    std::vector<call_queue::call_number> due;
    for (const auto& [number, each] : model)
      if (condition(each))
        due.push_back(number);
    BOOST_TEST(numbers_of(ended) == due, boost::test_tools::per_element());
    for (const auto number : due)
      model.erase(number);
  };

  for (int step = 0; step < 20'000; ++step) {
    const auto server_number = 1 + below(servers);
    switch (below(8)) {
    case 0:
    case 1:
    case 2:
    case 3: {
      const std::size_t bytes = below(3) == 0 ? below(30) : 0;
      const auto timeout = std::chrono::milliseconds{1 + below(200)};
      const bool must_wait = running() == limits.running || running_at(server_number) == limits.running_per_target;
      const bool room = model.size() - running() < limits.waiting && waiting_bytes() + bytes <= limits.waiting_bytes;
      const auto number = calls.ask(call_of(server(server_number), timeout, std::string(bytes, 'x')), now);
      BOOST_REQUIRE(number.has_value() == (!must_wait || room));
      if (number)
        model.emplace(*number, expected{server_number, now + timeout, bytes, false});
      else
        ++overloaded;
      break;
    }
    case 4:
    case 5:
      if (!model.empty()) {
        const auto chosen = std::next(model.begin(), static_cast<std::ptrdiff_t>(below(model.size())));
        if (chosen->second.running) {
          BOOST_TEST(calls.finish(chosen->first, ok, now).has_value());
          model.erase(chosen);
        }
      }
      break;
    case 6:
      now += std::chrono::milliseconds{below(20)};
      break;
    default:
      if (below(10) == 0)
        forget(calls.give_up(server_number), [&](const expected& each) { return each.server == server_number; });
    }
    forget(calls.expire(now), [&](const expected& each) { return each.deadline <= now; });
    for (;;) {
      const auto next = calls.start_next(now);
      const auto first = std::ranges::find_if(model, [&](const auto& each) {
        return !each.second.running && running() < limits.running
               && running_at(each.second.server) < limits.running_per_target;
      });
      BOOST_REQUIRE(next.has_value() == (first != model.end()));
      if (!next)
        break;
      BOOST_REQUIRE(next->which.number == first->first);
      BOOST_TEST(next->body.size() == first->second.bytes);
      first->second.running = true;
    }
    BOOST_REQUIRE(calls.running() == running());
    BOOST_REQUIRE(calls.waiting() == model.size() - running());
    BOOST_REQUIRE(calls.waiting_bytes() == waiting_bytes());
    BOOST_REQUIRE(adds_up(calls));
  }
  BOOST_TEST(calls.counts().overloaded == overloaded);
  BOOST_TEST(overloaded > 100u); // or the bounds were not reached
  BOOST_TEST(calls.counts().most_running == limits.running);
  BOOST_TEST(calls.counts().most_waiting == limits.waiting);
  BOOST_TEST(calls.counts().timed_out > 100u);
  BOOST_TEST(calls.counts().departed > 100u);
}

BOOST_AUTO_TEST_CASE(it_tells_how_long_calls_waited_and_took_as_a_whole) {
  call_queue calls{{.running_per_target = 1}};
  ask(calls, call_of(server(1)));
  ask(calls, call_of(server(1)));
  start_all(calls);
  now += 2s;
  calls.finish(1, ok, now);
  start_all(calls);
  now += 1s;
  calls.finish(2, reply_of(outbound_outcome::failed), now);
  BOOST_TEST(calls.waits().count() == 2u);
  BOOST_TEST((calls.waits().max() == 2s));
  BOOST_TEST(calls.latencies().count() == 1u);
  BOOST_TEST((calls.latencies().max() == 2s));
}

BOOST_AUTO_TEST_CASE(a_step_costs_about_the_same_with_a_hundred_thousand_calls_waiting_for_one_slow_target) {
  constexpr int steps = 1000;
  const auto slow = server(1);
  const auto quick = server(2);
  const auto fastest_round = [&](std::size_t waiting) {
    call_queue calls{{.running_per_target = 1, .waiting = 1'000'000}};
    for (std::size_t i = 0; i < waiting; ++i)
      ask(calls, call_of(slow, 1min));
    start_all(calls);
    auto best = duration::max();
    for (int round = 0; round < 5; ++round) {
      const auto started = std::chrono::steady_clock::now();
      for (int i = 0; i < steps; ++i) {
        const auto other = ask(calls, call_of(quick, 1s)); // runs at once, and is done
        start_all(calls);
        calls.finish(other, ok, now);
        ask(calls, call_of(slow, 1s)); // waits behind all others until its time is over
        start_all(calls);
        calls.expire(now + 1s);
      }
      best = std::min<duration>(best, std::chrono::steady_clock::now() - started);
    }
    BOOST_TEST(calls.waiting() == waiting - 1);
    return best;
  };
  const auto few = fastest_round(100);
  const auto many = fastest_round(100'000);
  BOOST_TEST(many.count() < 20 * few.count());
}

BOOST_AUTO_TEST_SUITE_END()
