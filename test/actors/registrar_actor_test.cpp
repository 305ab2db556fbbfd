#include "http/registrar/registrar_actor.hpp"

#include "test/unit/scripted_server.hpp"

#include <boost/test/unit_test.hpp>
#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/scoped_actor.hpp>
#include <caf/send.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

using namespace mp_registrar;
using namespace std::chrono_literals;
using coordinator::unit_test::peer;
using coordinator::unit_test::scripted_server;

namespace {

/// Far longer than anything here takes, on any machine.
constexpr auto patience = 30s;

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

  bool wait_for(std::string_view line) const {
    std::unique_lock guard{lock_};
    return changed_.wait_for(guard, patience, [&] { return std::ranges::find(lines_, line) != lines_.end(); });
  }

private:
  mutable std::mutex lock_;
  mutable std::condition_variable changed_;
  std::vector<std::string> lines_;
};

event_listener::behavior_type note_kinds(const std::shared_ptr<notes>& events) {
  return {[events](const event& what) { events->add(std::string{to_string(what.kind)}); }};
}

event_listener::behavior_type note_kinds_and_keep(const std::shared_ptr<notes>& events,
                                                  const std::shared_ptr<registrar_actor>& kept) {
  return {[events, kept](const event& what) { events->add(std::string{to_string(what.kind)}); }};
}

/// An actor system with one thread, which nothing may hold up, and a coordinator.
struct fixture {
  fixture() { config.set("scheduler.max-threads", 1); }

  options how() {
    options result;
    result.coordinator_urls = {server.url()};
    result.http_port = 8080;
    result.instance_id = "a";
    return result;
  }

  notes requests;
  std::atomic<bool> answers_deletes{true};
  scripted_server server{[this](peer& client, int) {
    while (const auto request = client.read_request()) {
      requests.add(request->substr(0, request->find(' ')));
      if (!request->starts_with("DELETE"))
        client.answer(R"({"instance_id":"a","re_registered":false})");
      else if (answers_deletes)
        client.answer("", 204);
    }
  }};
  std::shared_ptr<notes> events = std::make_shared<notes>();
  caf::actor_system_config config;
};

registrar_actor spawn_well(caf::actor_system& system, options how, event_listener listener) {
  auto spawned = spawn_registrar(system, std::move(how), std::move(listener));
  if (const auto* wrong = std::get_if<configuration_problems>(&spawned))
    BOOST_FAIL(to_string(*wrong));
  return std::get<registrar_actor>(spawned);
}

} // namespace

BOOST_FIXTURE_TEST_SUITE(registrar_actor_test, fixture)

BOOST_AUTO_TEST_CASE(events_come_as_messages_and_the_actor_tells_who_it_is) {
  caf::actor_system system{config};
  const auto member = spawn_well(system, how(), system.spawn(note_kinds, events));
  BOOST_TEST(events->wait_for("registered"));
  caf::scoped_actor self{system};
  self->request(member, patience, caf::get_atom::value)
      .receive(
          [](const std::string& id, bool registered) {
            BOOST_TEST(id == "a");
            BOOST_TEST(registered);
          },
          [&](const caf::error& error) { BOOST_FAIL(system.render(error)); });
}

BOOST_AUTO_TEST_CASE(it_deregisters_when_it_is_told_to_exit_even_if_handles_are_left) {
  caf::actor_system system{config};
  const auto member = spawn_well(system, how(), system.spawn(note_kinds, events));
  BOOST_TEST(events->wait_for("registered"));
  caf::anon_send_exit(member, caf::exit_reason::user_shutdown);
  BOOST_TEST(requests.wait_for("DELETE"));
  BOOST_TEST(events->wait_for("left"));
}

BOOST_AUTO_TEST_CASE(it_deregisters_when_nobody_refers_to_it_any_more_and_the_system_waits_for_that) {
  {
    caf::actor_system system{config};
    spawn_well(system, how(), system.spawn(note_kinds, events));
    BOOST_TEST(events->wait_for("registered"));
  }
  BOOST_TEST(events->all().back() == "left");
  BOOST_TEST(requests.all().back() == "DELETE");
}

BOOST_AUTO_TEST_CASE(a_coordinator_that_hangs_at_the_end_does_not_hold_up_other_actors) {
  answers_deletes = false;
  auto options = how();
  options.stop_timeout = patience;
  {
    caf::actor_system system{config};
    const auto listener = system.spawn(note_kinds, events);
    const auto member = spawn_well(system, options, listener);
    BOOST_TEST(events->wait_for("registered"));
    caf::anon_send_exit(member, caf::exit_reason::kill);
    BOOST_TEST(requests.wait_for("DELETE"));
    // The only thread of the system is free.
    event sign;
    sign.kind = event_kind::superseded;
    caf::anon_send(listener, sign);
    BOOST_TEST(events->wait_for("superseded"));
    BOOST_TEST(std::ranges::count(events->all(), "left") == 0);
    answers_deletes = true; // a second time, since it is sent again
    server.hang_up();
  }
  BOOST_TEST(events->all().back() == "left");
}

BOOST_AUTO_TEST_CASE(a_listener_that_keeps_the_handle_ends_both_by_ending) {
  caf::actor_system system{config};
  auto kept = std::make_shared<registrar_actor>();
  const auto listener = system.spawn(note_kinds_and_keep, events, kept);
  *std::exchange(kept, nullptr) = spawn_well(system, how(), listener);
  BOOST_TEST(events->wait_for("registered"));
  caf::anon_send_exit(listener, caf::exit_reason::user_shutdown);
  BOOST_TEST(requests.wait_for("DELETE"));
}

BOOST_AUTO_TEST_CASE(it_needs_no_listener_and_calls_the_callback_of_the_options_too) {
  caf::actor_system system{config};
  auto options = how();
  options.on_event = [events = events](const event& what) { events->add(std::string{to_string(what.kind)}); };
  {
    const auto member = spawn_well(system, options, {});
    BOOST_TEST(events->wait_for("registered"));
  }
  BOOST_TEST(events->wait_for("left"));
}

BOOST_AUTO_TEST_CASE(a_wrong_configuration_is_returned_and_nothing_is_spawned) {
  caf::actor_system system{config};
  auto options = how();
  options.http_port = 0;
  const auto spawned = spawn_registrar(system, options, {});
  const auto* wrong = std::get_if<configuration_problems>(&spawned);
  BOOST_TEST_REQUIRE(wrong != nullptr);
  BOOST_TEST(wrong->at(0).field == "http_port");
}

BOOST_AUTO_TEST_SUITE_END()
