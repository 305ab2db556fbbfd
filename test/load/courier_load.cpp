#include "actors/courier.hpp"
#include "actors/errors.hpp"
#include "actors/system.hpp"
#include "http/outbound_loop.hpp"
#include "test/actors/registry_for_tests.hpp"
#include "test/load/server_farm.hpp"

#include <caf/actor_system.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/scoped_actor.hpp>
#include <caf/send.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

using namespace coordinator;
using namespace coordinator::load_test;
using namespace std::chrono_literals;

namespace {

using manner = server_farm::manner;
using steady = std::chrono::steady_clock;

/// Bounds on time hold for a machine with nothing else to do and a build without sanitizers; see test/CMakeLists.txt.
constexpr int leniency = TEST_LENIENCY;

/// What came of one call.
struct result {
  int answers = 0;
  outbound_reply reply;
  caf::error error;
  duration took{}; ///< As the asker saw it.
};

/// Asks the courier for calls, all at once, and gathers what comes of them.
class crowd {
public:
  crowd(caf::actor_system& system, const courier_actor& courier, const std::vector<instance_call>& calls)
      : shared_{std::make_shared<shared>()} {
    shared_->results.resize(calls.size());
    shared_->left = calls.size();
    const auto ask_all = [calls, courier](caf::event_based_actor* self, const std::shared_ptr<shared>& all) {
      const auto started = steady::now();
      for (std::size_t i = 0; i < calls.size(); ++i) {
        const auto note = [=] {
          auto& mine = all->results[i];
          ++mine.answers;
          mine.took = steady::now() - started;
          if (--all->left == 0)
            all->done.set_value();
        };
        self->request(courier, caf::infinite, call_atom_v, calls[i])
            .then(
                [=](outbound_reply& reply) {
                  all->results[i].reply = std::move(reply);
                  note();
                },
                [=](caf::error& error) {
                  all->results[i].error = std::move(error);
                  note();
                });
      }
    };
    actor_ = system.spawn(ask_all, shared_);
  }
  ~crowd() { caf::anon_send_exit(actor_, caf::exit_reason::kill); }
  crowd(const crowd&) = delete;
  crowd& operator=(const crowd&) = delete;

  /// To be called once.
  const std::vector<result>& results(duration patience) {
    BOOST_REQUIRE((shared_->done.get_future().wait_for(patience) == std::future_status::ready));
    return shared_->results;
  }

private:
  struct shared {
    std::vector<result> results;
    std::size_t left = 0;
    std::promise<void> done;
  };

  std::shared_ptr<shared> shared_;
  caf::actor actor_;
};

/// Sends the registry heartbeats, one after the other, for as long as it lives.
class heartbeats {
public:
  heartbeats(caf::actor_system& system, const registry_actor& registry, std::string id)
      : thread_{[this, &system, registry, id = std::move(id)] {
          const caf::scoped_actor self{system, true};
          while (!stopping_) {
            const auto started = steady::now();
            self->request(registry, caf::infinite, heartbeat_atom_v, instance_reference{id, {}})
                .receive([] {}, [this](const caf::error&) { ++failed_; });
            slowest_ = std::max<duration>(slowest_, steady::now() - started);
            ++sent_;
            std::this_thread::sleep_for(2ms); // the pace of the heartbeats
          }
        }} {}
  ~heartbeats() { stop(); }
  heartbeats(const heartbeats&) = delete;
  heartbeats& operator=(const heartbeats&) = delete;

  void stop() {
    stopping_ = true;
    if (thread_.joinable())
      thread_.join();
  }

  // After `stop`:
  std::size_t sent() const { return sent_; }
  std::size_t failed() const { return failed_; }
  duration slowest() const { return slowest_; }

private:
  std::atomic<bool> stopping_ = false;
  std::size_t sent_ = 0;
  std::size_t failed_ = 0;
  duration slowest_{};
  std::thread thread_;
};

/// A fleet on the farm, its registry, and a courier on the real HTTP client. One thread runs all actors, so that one
/// that waits would hold up every other.
struct fleet {
  server_farm farm;
  std::shared_ptr<http::outbound_loop> client = std::make_shared<http::outbound_loop>();
  system_config config{1};
  caf::actor_system system{config};
  links actors;
  std::vector<member> members;

  explicit fleet(const std::vector<manner>& servers) : farm{servers} {
    auto of_registry = test::options_of_registry(steady::now());
    of_registry.instance_timeout = 1h;
    actors.registry = system.spawn(registry, std::move(of_registry));
    for (std::size_t i = 0; i < servers.size(); ++i)
      members.push_back(join("node-" + std::to_string(i), server_farm::address(i), farm.port()));
    courier_options of_courier;
    of_courier.client = client;
    of_courier.actors = actors;
    of_courier.progress = std::make_shared<progress_mark>("courier", 3s, steady::now());
    actors.courier = system.spawn(courier, std::move(of_courier));
  }

  ~fleet() {
    caf::anon_send_exit(actors.courier, caf::exit_reason::user_shutdown);
    caf::anon_send_exit(actors.registry, caf::exit_reason::user_shutdown);
    actors = {};
    system.await_all_actors_done();
    client.reset();
  }

  member join(const std::string& id, const std::string& ip, std::uint16_t port) {
    schema::register_request request;
    request.instance_id = id;
    request.ip = ip;
    request.http_port = port;
    member joined;
    caf::scoped_actor self{system};
    self->request(actors.registry, caf::infinite, register_atom_v, std::move(request))
        .receive([&](registration& made) { joined = made.joined; },
                 [&](const caf::error& error) { BOOST_FAIL(system.render(error)); });
    return joined;
  }

  std::uint64_t counter(std::string_view name) {
    std::uint64_t value = 0;
    caf::scoped_actor self{system};
    self->request(actors.courier, caf::infinite, status_atom_v)
        .receive(
            [&](const actor_status& status) {
              const auto found =
                  std::ranges::find(status.counters, name, &std::pair<std::string, std::uint64_t>::first);
              BOOST_REQUIRE((found != status.counters.end()));
              value = found->second;
            },
            [&](const caf::error& error) { BOOST_FAIL(system.render(error)); });
    return value;
  }
};

instance_call call_of(const member& target, duration timeout) {
  instance_call result;
  result.target = target;
  result.path = "/healthcheck";
  result.timeout = timeout;
  return result;
}

std::vector<instance_call> calls_of(const std::vector<member>& targets, duration timeout) {
  std::vector<instance_call> calls;
  for (const auto& target : targets)
    calls.push_back(call_of(target, timeout));
  return calls;
}

template <class Condition>
bool eventually(duration limit, Condition condition) {
  for (const auto end = steady::now() + limit; steady::now() < end; std::this_thread::sleep_for(5ms))
    if (condition())
      return true;
  return condition();
}

} // namespace

BOOST_AUTO_TEST_SUITE(courier_load)

BOOST_AUTO_TEST_CASE(a_tenth_of_a_thousand_servers_that_hang_hold_up_neither_the_others_nor_heartbeats) {
  constexpr std::size_t servers = 1000;
  constexpr duration limit = 1500ms * leniency;
  const auto hangs = [](std::size_t server) { return server % 10 == 3; };
  std::vector<manner> manners;
  for (std::size_t i = 0; i < servers; ++i)
    manners.push_back(hangs(i) ? manner::hangs : manner::answers);
  fleet all{manners};

  heartbeats beside{all.system, all.actors.registry, "node-0"};
  crowd askers{all.system, all.actors.courier, calls_of(all.members, limit)};
  const auto& results = askers.results(limit + 20s * leniency);
  beside.stop();

  std::size_t answered = 0;
  duration last_answer{};
  for (std::size_t i = 0; i < servers; ++i) {
    const auto& each = results[i];
    BOOST_TEST_CONTEXT("server " << i) {
      BOOST_TEST(each.answers == 1);
      if (hangs(i)) {
        BOOST_TEST((each.reply.outcome == outbound_outcome::timed_out));
        BOOST_TEST((each.took >= limit));
        BOOST_TEST((each.took < limit + 500ms * leniency));
      } else {
        BOOST_TEST((each.reply.outcome == outbound_outcome::answered));
        BOOST_TEST(each.reply.body == server_farm::address(i));
        last_answer = std::max(last_answer, each.took);
        ++answered;
      }
    }
  }
  BOOST_TEST(answered == 900u);
  BOOST_TEST((last_answer < 1s * leniency));
  BOOST_TEST(all.counter("answered_2xx") == 900u);
  BOOST_TEST(all.counter("timed_out") == 100u);
  BOOST_TEST(all.counter("running") == 0u);

  BOOST_TEST(beside.sent() > 10u);
  BOOST_TEST(beside.failed() == 0u);
  BOOST_TEST((beside.slowest() < 250ms * leniency));
  BOOST_TEST_MESSAGE("last answer after " << last_answer / 1ms << " ms, slowest of " << beside.sent() << " heartbeats "
                                          << beside.slowest() / 1us << " us");
}

BOOST_AUTO_TEST_CASE(connections_are_kept_for_the_next_calls_and_those_of_calls_given_up_are_closed) {
  std::vector<manner> manners(100, manner::answers);
  manners.back() = manner::hangs;
  fleet all{manners};
  for (int round = 0; round < 3; ++round) {
    crowd askers{all.system, all.actors.courier, calls_of(all.members, 500ms * leniency)};
    const auto& results = askers.results(20s * leniency);
    BOOST_TEST(std::ranges::count(results, 200, [](const result& each) { return each.reply.status; }) == 99);
  }
  BOOST_TEST(all.farm.accepted() == 99u + 3u);
  BOOST_TEST(eventually(2s * leniency, [&] { return all.farm.open() == 99u; }));
}

BOOST_AUTO_TEST_CASE(many_calls_to_one_server_take_turns_on_few_connections) {
  fleet all{{manner::answers}};
  const std::vector<member> targets(2000, all.members.front());
  crowd askers{all.system, all.actors.courier, calls_of(targets, 10s * leniency)};
  const auto& results = askers.results(20s * leniency);
  BOOST_TEST(std::ranges::count(results, 200, [](const result& each) { return each.reply.status; }) == 2000);
  BOOST_TEST(all.farm.requests() == 2000u);
  BOOST_TEST(all.farm.most_connections_of_a_server() <= call_limits{}.running_per_target);
  BOOST_TEST(all.counter("most_running") == call_limits{}.running_per_target);
  BOOST_TEST(all.counter("most_waiting") > 0u);
}

BOOST_AUTO_TEST_CASE(a_call_to_a_server_that_hangs_ends_and_its_connection_is_closed_when_the_instance_leaves) {
  fleet all{{manner::hangs}};
  crowd asker{all.system, all.actors.courier, {call_of(all.members.front(), 1h)}};
  BOOST_REQUIRE(eventually(5s * leniency, [&] { return all.farm.requests() == 1u; }));
  caf::anon_send(all.actors.registry, deregister_atom_v, instance_reference{"node-0", {}});
  const auto& results = asker.results(5s * leniency);
  BOOST_TEST((results.front().error == ec::departed));
  BOOST_TEST(eventually(5s * leniency, [&] { return all.farm.open() == 0u; }));
}

BOOST_AUTO_TEST_CASE(a_server_that_is_not_there_refuses_long_before_the_time_limit) {
  fleet all{{manner::answers}};
  const auto absent = all.join("absent", server_farm::address(1), all.farm.port());
  crowd asker{all.system, all.actors.courier, {call_of(absent, 1h)}};
  const auto& results = asker.results(5s * leniency);
  BOOST_TEST((results.front().reply.outcome == outbound_outcome::refused));
  BOOST_TEST(!results.front().reply.detail.empty());
}

BOOST_AUTO_TEST_CASE(every_asker_is_answered_when_the_courier_ends_in_the_middle_of_calls) {
  fleet all{std::vector<manner>(50, manner::hangs)};
  crowd askers{all.system, all.actors.courier, calls_of(all.members, 1h)};
  BOOST_REQUIRE(eventually(5s * leniency, [&] { return all.farm.requests() == 50u; }));
  caf::anon_send_exit(all.actors.courier, caf::exit_reason::user_shutdown);
  for (const auto& each : askers.results(5s * leniency)) {
    BOOST_TEST(each.answers == 1);
    BOOST_TEST(static_cast<bool>(each.error));
  }
  BOOST_TEST(eventually(5s * leniency, [&] { return all.farm.open() == 0u; }));
}

BOOST_AUTO_TEST_SUITE_END()
