#include "http/registrar/session.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using namespace mp_registrar;
using namespace std::chrono_literals;
using coordinator::outbound_outcome;
using coordinator::outbound_reply;
using coordinator::outbound_request;

namespace mp_registrar {

std::ostream& operator<<(std::ostream& out, session_event_kind kind) {
  return out << to_string(kind);
}

} // namespace mp_registrar

namespace {

using kind = session_event_kind;

constexpr std::string_view registered_body = R"({"instance_id":"node-a","re_registered":false})";

outbound_reply answer(int status, std::string_view body = {},
                      std::vector<std::pair<std::string, std::string>> headers = {}) {
  outbound_reply reply;
  reply.outcome = outbound_outcome::answered;
  reply.status = status;
  reply.headers = std::move(headers);
  reply.body = body;
  return reply;
}

outbound_reply no_answer(outbound_outcome outcome) {
  outbound_reply reply;
  reply.outcome = outcome;
  reply.detail = "nobody there";
  return reply;
}

session_options with_urls(std::vector<std::string> urls) {
  return {.coordinator_urls = std::move(urls), .ip = "192.0.2.17", .http_port = 8080, .instance_id = "node-a"};
}

/// A session and its clock. Heartbeats are every 5 s.
struct mp_server {
  explicit mp_server(session_options options = with_urls({"http://c1:9300"}))
      : loop{std::move(options), [this] { return random; }, now} {}

  /// Waits for the next request, as a driver does.
  outbound_request request() {
    now = std::max(now, loop.wake());
    auto next = loop.next(now);
    BOOST_REQUIRE(next.has_value());
    last_sent = now;
    return *next;
  }

  void reply(const outbound_reply& what, duration after = 1ms) {
    now += after;
    loop.on_reply(what, now);
  }

  std::string call(const outbound_reply& what, duration after = 1ms) {
    const auto sent = request();
    reply(what, after);
    return sent.method + " " + sent.url;
  }

  void join(std::vector<std::pair<std::string, std::string>> headers = {}) {
    call(answer(200, registered_body, std::move(headers)));
    BOOST_REQUIRE(loop.registered());
    loop.take_events();
  }

  /// From the start of the latest request to that of the next.
  duration pause() const { return loop.wake() - last_sent; }

  std::vector<kind> kinds() {
    std::vector<kind> result;
    for (const auto& event : loop.take_events())
      result.push_back(event.kind);
    return result;
  }

  time_point now{1h};
  time_point last_sent{};
  double random = 0;
  session loop;
};

std::string if_match(const outbound_request& request) {
  const auto found =
      std::ranges::find_if(request.headers, [](const auto& header) { return header.first == "If-Match"; });
  return found == request.headers.end() ? "" : found->second;
}

const std::vector<kind> nothing{};

} // namespace

BOOST_TEST_SPECIALIZED_COLLECTION_COMPARE(std::vector<kind>)

BOOST_AUTO_TEST_SUITE(registrar_session_test)

// -- registering ------------------------------------------------------------

BOOST_AUTO_TEST_CASE(it_registers_at_once_with_all_six_fields) {
  auto options = with_urls({"http://c1:9300/"});
  options.metadata = {{"zone", "a"}};
  options.p2p_advertised_url = "192.0.2.17:7700";
  options.mq_port = 5600;
  mp_server it{options};
  BOOST_TEST((it.loop.wake() == it.now));
  const auto sent = it.request();
  BOOST_TEST(sent.method == "POST");
  BOOST_TEST(sent.url == "http://c1:9300/instances");
  BOOST_TEST(sent.body
             == R"({"ip":"192.0.2.17","http_port":8080,"instance_id":"node-a","metadata":{"zone":"a"},)"
                R"("p2p_advertised_url":"192.0.2.17:7700","mq_port":5600})");
}

BOOST_AUTO_TEST_CASE(fields_that_are_not_set_are_sent_at_their_defaults) {
  mp_server it;
  BOOST_TEST(it.request().body
             == R"({"ip":"192.0.2.17","http_port":8080,"instance_id":"node-a","metadata":{},)"
                R"("p2p_advertised_url":"","mq_port":0})");
}

BOOST_AUTO_TEST_CASE(one_request_at_a_time_is_under_way) {
  mp_server it;
  it.request();
  BOOST_TEST((it.loop.wake() == time_point::max()));
  BOOST_TEST(!it.loop.next(it.now + 1h).has_value());
}

BOOST_AUTO_TEST_CASE(a_registration_is_reported_with_what_the_coordinator_said) {
  mp_server it;
  BOOST_TEST(!it.loop.registered());
  it.call(answer(200, R"({"instance_id":"node-a","re_registered":true,"more":1})", {{"instance-timeout", "30"}}));
  BOOST_TEST(it.loop.registered());
  const auto events = it.loop.take_events();
  BOOST_TEST_REQUIRE(events.size() == 1u);
  BOOST_TEST(events[0].kind == kind::registered);
  BOOST_TEST(events[0].instance_id == "node-a");
  BOOST_TEST(events[0].coordinator_url == "http://c1:9300");
  BOOST_TEST(events[0].re_registered);
  BOOST_TEST((events[0].lease == 30s));
  BOOST_TEST((events[0].interval == 5s));
  BOOST_TEST(it.kinds() == nothing);
}

BOOST_AUTO_TEST_CASE(an_assigned_id_is_kept_for_heartbeats_and_later_registrations) {
  auto options = with_urls({"http://c1"});
  options.instance_id.clear();
  mp_server it{options};
  it.call(answer(200, R"({"instance_id":"mp-7","re_registered":false})"));
  BOOST_TEST(it.loop.instance_id() == "mp-7");
  BOOST_TEST(it.call(answer(404)) == "PUT http://c1/instances/mp-7/heartbeat");
  BOOST_TEST(it.request().body.find(R"("instance_id":"mp-7")") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(the_id_that_the_coordinator_returned_is_the_one_that_heartbeats_use) {
  auto options = with_urls({"http://c1"});
  options.instance_id = " node-a";
  mp_server it{options};
  it.join();
  BOOST_TEST(it.call(answer(200)) == "PUT http://c1/instances/node-a/heartbeat");
}

BOOST_AUTO_TEST_CASE(an_id_is_one_path_segment_whatever_it_holds) {
  mp_server it;
  it.call(answer(200, R"({"instance_id":"a/b c?\u00e9","re_registered":false})"));
  BOOST_TEST(it.call(answer(200)) == "PUT http://c1:9300/instances/a%2Fb%20c%3F%C3%A9/heartbeat");
}

BOOST_AUTO_TEST_CASE(failed_registrations_are_repeated_at_a_spread_pace_for_as_long_as_it_takes) {
  for (const double random : {0.0, 0.5, 0.999}) {
    mp_server it;
    it.random = random;
    for (int i = 0; i < 50; ++i) {
      BOOST_TEST(it.call(no_answer(outbound_outcome::refused)) == "POST http://c1:9300/instances");
      BOOST_TEST((it.pause() >= 2500ms));
      BOOST_TEST((it.pause() <= 5s));
      BOOST_TEST((it.pause() == std::chrono::round<duration>(std::chrono::duration<double>{2.5 + 2.5 * random})));
    }
  }
}

BOOST_AUTO_TEST_CASE(whatever_is_no_registration_counts_as_a_failure) {
  const std::vector<outbound_reply> failures{
      answer(404),
      answer(422, R"({"detail":[]})"),
      answer(500, "Internal Server Error"),
      answer(307, registered_body),
      answer(200, ""),
      answer(200, "<html>"),
      answer(200, "[]"),
      answer(200, R"({"instance_id":"node-a"})"),
      answer(200, R"({"re_registered":false})"),
      answer(200, R"({"instance_id":7,"re_registered":false})"),
      answer(200, R"({"instance_id":"","re_registered":false})"),
      answer(200, R"({"instance_id":"a\nb","re_registered":false})"),
      no_answer(outbound_outcome::refused),
      no_answer(outbound_outcome::timed_out),
      no_answer(outbound_outcome::failed),
  };
  for (const auto& failure : failures) {
    mp_server it;
    it.call(failure);
    BOOST_TEST(!it.loop.registered());
    BOOST_TEST((it.pause() >= 2500ms));
    BOOST_TEST(it.call(answer(200, registered_body)) == "POST http://c1:9300/instances");
    BOOST_TEST(it.loop.registered());
  }
}

BOOST_AUTO_TEST_CASE(a_failure_is_reported_once_with_its_reason_until_something_works_again) {
  mp_server it;
  it.call(no_answer(outbound_outcome::refused));
  auto events = it.loop.take_events();
  BOOST_TEST_REQUIRE(events.size() == 1u);
  BOOST_TEST(events[0].kind == kind::unreachable);
  BOOST_TEST(events[0].coordinator_url == "http://c1:9300");
  BOOST_TEST(events[0].detail == "nobody there");
  it.call(no_answer(outbound_outcome::timed_out));
  BOOST_TEST(it.kinds() == nothing);
  it.call(answer(422, "{\"detail\":\n[1]}"));
  events = it.loop.take_events();
  BOOST_TEST_REQUIRE(events.size() == 1u);
  BOOST_TEST(events[0].kind == kind::refused);
  BOOST_TEST(events[0].detail == "status 422: {\"detail\": [1]}");
  it.call(answer(422));
  BOOST_TEST(it.kinds() == nothing);
  it.call(answer(200, registered_body));
  BOOST_TEST(it.kinds() == (std::vector{kind::registered}));
  it.call(no_answer(outbound_outcome::refused));
  BOOST_TEST(it.kinds() == (std::vector{kind::unreachable}));
}

BOOST_AUTO_TEST_CASE(a_long_error_body_is_cut) {
  mp_server it;
  it.call(answer(500, std::string(10000, 'x')));
  BOOST_TEST(it.loop.take_events().at(0).detail.size() < 400u);
}

// -- heartbeats -------------------------------------------------------------

BOOST_AUTO_TEST_CASE(heartbeats_follow_each_other_at_the_interval_however_long_answers_take) {
  mp_server it;
  it.join();
  for (const duration took : {duration{1ms}, duration{900ms}, duration{3s}}) {
    BOOST_TEST((it.pause() == 5s));
    BOOST_TEST(it.call(answer(200, "not read"), took) == "PUT http://c1:9300/instances/node-a/heartbeat");
    BOOST_TEST(it.loop.registered());
  }
  BOOST_TEST(it.kinds() == nothing);
  it.call(answer(200), 7s);
  BOOST_TEST((it.loop.wake() == it.now));
}

BOOST_AUTO_TEST_CASE(a_404_registers_again_at_once) {
  mp_server it;
  it.join();
  it.call(answer(404));
  BOOST_TEST(it.kinds() == (std::vector{kind::lost}));
  BOOST_TEST(!it.loop.registered());
  BOOST_TEST((it.loop.wake() == it.now));
  BOOST_TEST(it.call(answer(200, registered_body)) == "POST http://c1:9300/instances");
  BOOST_TEST(it.kinds() == (std::vector{kind::registered}));
  BOOST_TEST((it.pause() == 5s));
}

BOOST_AUTO_TEST_CASE(a_coordinator_that_forgets_every_registration_does_not_make_the_loop_spin) {
  mp_server it;
  for (int i = 0; i < 20; ++i) {
    it.join();
    BOOST_TEST((it.pause() == 5s));
    it.call(answer(404));
  }
}

BOOST_AUTO_TEST_CASE(other_failures_of_a_heartbeat_keep_the_registration) {
  mp_server it;
  it.join();
  const std::vector<outbound_reply> failures{
      answer(500),
      answer(503),
      answer(307),
      answer(400),
      no_answer(outbound_outcome::refused),
      no_answer(outbound_outcome::timed_out),
  };
  for (const auto& failure : failures) {
    BOOST_TEST(it.call(failure) == "PUT http://c1:9300/instances/node-a/heartbeat");
    BOOST_TEST(it.loop.registered());
    BOOST_TEST((it.pause() >= 2500ms));
    BOOST_TEST((it.pause() <= 5s));
  }
  BOOST_TEST(it.call(answer(200)) == "PUT http://c1:9300/instances/node-a/heartbeat");
}

BOOST_AUTO_TEST_CASE(after_a_heartbeat_that_timed_out_the_pause_is_short_but_there_is_one) {
  mp_server it;
  it.join();
  it.call(no_answer(outbound_outcome::timed_out), 10s);
  BOOST_TEST((it.loop.wake() - it.now == 500ms));
}

// -- the lease --------------------------------------------------------------

BOOST_AUTO_TEST_CASE(an_interval_that_is_too_long_for_the_lease_is_shortened_and_that_is_reported_once) {
  mp_server it;
  it.call(answer(200, registered_body, {{"instance-timeout", "6"}}));
  const auto events = it.loop.take_events();
  BOOST_TEST_REQUIRE(events.size() == 2u);
  BOOST_TEST(events[0].kind == kind::registered);
  BOOST_TEST(events[1].kind == kind::interval_shortened);
  BOOST_TEST((events[1].lease == 6s));
  BOOST_TEST((events[1].interval == 2s));
  BOOST_TEST((it.pause() == 2s));
  it.call(answer(404));
  it.call(answer(200, registered_body, {{"instance-timeout", "6"}}));
  BOOST_TEST(it.kinds() == (std::vector{kind::lost, kind::registered}));
  it.call(answer(404));
  it.call(answer(200, registered_body, {{"instance-timeout", "1.5"}}));
  BOOST_TEST(it.kinds() == (std::vector{kind::lost, kind::registered, kind::interval_shortened}));
  BOOST_TEST((it.pause() == 500ms));
  it.call(answer(404));
  it.call(answer(200, registered_body, {{"instance-timeout", "60"}}));
  BOOST_TEST(it.kinds() == (std::vector{kind::lost, kind::registered}));
  BOOST_TEST((it.pause() == 5s));
}

BOOST_AUTO_TEST_CASE(an_interval_of_half_the_lease_is_left_as_it_is) {
  mp_server it;
  it.join({{"instance-timeout", "10"}});
  BOOST_TEST((it.pause() == 5s));
}

BOOST_AUTO_TEST_CASE(a_lease_that_makes_no_sense_is_ignored) {
  for (const auto* text : {"", "abc", "0", "-5", "nan", "inf", "5s", "1e999"}) {
    mp_server it;
    it.call(answer(200, registered_body, {{"instance-timeout", text}}));
    BOOST_TEST(it.kinds() == (std::vector{kind::registered}));
    BOOST_TEST((it.pause() == 5s));
    BOOST_TEST((it.request().timeout == 10s));
  }
}

BOOST_AUTO_TEST_CASE(not_even_the_shortest_lease_makes_the_loop_spin) {
  mp_server it;
  it.join({{"instance-timeout", "0.000001"}});
  BOOST_TEST((it.pause() == 20ms));
  BOOST_TEST((it.request().timeout == 100ms));
}

BOOST_AUTO_TEST_CASE(a_request_leaves_time_in_the_lease_for_another_one) {
  mp_server it;
  BOOST_TEST((it.request().timeout == 10s));
  it.reply(answer(200, registered_body, {{"instance-timeout", "12"}}));
  const auto beat = it.request();
  BOOST_TEST((beat.timeout == 4s));
  BOOST_TEST((beat.connect_timeout <= beat.timeout));
  // Even the first failure takes as long as it can, and the second heartbeat is sent within the lease.
  const auto leased_from = it.last_sent - 5s;
  it.random = 0.999;
  it.reply(no_answer(outbound_outcome::timed_out), beat.timeout);
  BOOST_TEST((it.loop.wake() < leased_from + 12s));
}

// -- the registration has a name --------------------------------------------

BOOST_AUTO_TEST_CASE(heartbeats_and_the_goodbye_are_for_the_own_registration_only) {
  mp_server it;
  BOOST_TEST(if_match(it.request()) == "");
  it.reply(answer(200, registered_body, {{"etag", "\"r-1\""}}));
  BOOST_TEST(if_match(it.request()) == "\"r-1\"");
  it.reply(answer(404));
  BOOST_TEST(if_match(it.request()) == "");
  it.reply(answer(200, registered_body, {{"etag", "\"r-2\""}}));
  BOOST_TEST(if_match(it.request()) == "\"r-2\"");
  it.loop.stop(it.now);
  it.reply(answer(200));
  BOOST_TEST(if_match(it.request()) == "\"r-2\"");
}

BOOST_AUTO_TEST_CASE(a_coordinator_without_tags_gets_no_condition) {
  // The last ones would never match.
  for (const auto* tag : {"", "bare", "W/\"weak\"", "\"\"", "\"a\", \"b\""}) {
    mp_server it;
    it.join({{"etag", tag}});
    BOOST_TEST(if_match(it.request()) == "");
    it.reply(answer(200));
    it.loop.stop(it.now);
    BOOST_TEST(if_match(it.request()) == "");
  }
}

BOOST_AUTO_TEST_CASE(the_older_of_two_servers_yields_and_takes_over_when_the_newer_is_gone) {
  mp_server it;
  it.join({{"etag", "\"old\""}});
  for (int i = 0; i < 3; ++i) {
    BOOST_TEST(it.call(answer(412)) == "PUT http://c1:9300/instances/node-a/heartbeat");
    BOOST_TEST((it.pause() == 5s));
    BOOST_TEST(!it.loop.registered());
  }
  BOOST_TEST(it.kinds() == (std::vector{kind::superseded}));
  BOOST_TEST(if_match(it.request()) == "\"old\"");
  it.reply(answer(404));
  it.join({{"etag", "\"new\""}});
  BOOST_TEST(if_match(it.request()) == "\"new\"");
  it.reply(answer(412));
  BOOST_TEST(it.kinds() == (std::vector{kind::superseded}));
}

// -- several coordinators ---------------------------------------------------

BOOST_AUTO_TEST_CASE(while_registering_all_urls_are_tried_before_there_is_a_pause) {
  mp_server it{with_urls({"http://c1", "http://c2", "http://c3"})};
  for (int round = 0; round < 3; ++round) {
    for (const auto* url : {"http://c1", "http://c2", "http://c3"}) {
      BOOST_TEST((round > 0 || it.loop.wake() == it.now));
      BOOST_TEST(it.call(no_answer(outbound_outcome::refused)) == std::string{"POST "} + url + "/instances");
    }
    BOOST_TEST((it.pause() >= 2500ms));
  }
  // Each is complained about once.
  BOOST_TEST(it.kinds() == (std::vector{kind::unreachable, kind::unreachable, kind::unreachable}));
}

BOOST_AUTO_TEST_CASE(it_stays_with_the_coordinator_that_works) {
  mp_server it{with_urls({"http://c1", "http://c2"})};
  it.call(no_answer(outbound_outcome::refused));
  it.call(answer(200, registered_body));
  const auto events = it.loop.take_events();
  BOOST_TEST(events.back().coordinator_url == "http://c2");
  BOOST_TEST(it.call(answer(200)) == "PUT http://c2/instances/node-a/heartbeat");
  BOOST_TEST(it.call(answer(404)) == "PUT http://c2/instances/node-a/heartbeat");
  BOOST_TEST(it.call(answer(200, registered_body)) == "POST http://c2/instances");
}

BOOST_AUTO_TEST_CASE(two_unanswered_heartbeats_in_a_row_move_on_to_the_next_coordinator) {
  mp_server it{with_urls({"http://c1", "http://c2"})};
  it.join({{"etag", "\"r\""}});
  it.call(no_answer(outbound_outcome::refused));
  BOOST_TEST(it.call(answer(200)) == "PUT http://c1/instances/node-a/heartbeat");
  it.call(no_answer(outbound_outcome::refused));
  BOOST_TEST(it.call(no_answer(outbound_outcome::failed)) == "PUT http://c1/instances/node-a/heartbeat");
  BOOST_TEST(it.loop.registered());
  BOOST_TEST((it.pause() >= 2500ms));
  BOOST_TEST(it.call(answer(404)) == "PUT http://c2/instances/node-a/heartbeat");
  BOOST_TEST(it.call(answer(200, registered_body)) == "POST http://c2/instances");
  // And back again, should it come to that.
  it.call(no_answer(outbound_outcome::timed_out));
  it.call(no_answer(outbound_outcome::timed_out));
  BOOST_TEST(it.call(answer(200)) == "PUT http://c1/instances/node-a/heartbeat");
}

BOOST_AUTO_TEST_CASE(another_coordinator_that_knows_the_id_from_earlier_is_no_rival) {
  mp_server it{with_urls({"http://c1", "http://c2"})};
  it.join({{"etag", "\"of c1\""}});
  it.call(no_answer(outbound_outcome::refused));
  it.call(no_answer(outbound_outcome::refused));
  it.loop.take_events();
  BOOST_TEST(it.call(answer(412)) == "PUT http://c2/instances/node-a/heartbeat");
  BOOST_TEST((it.loop.wake() == it.now));
  BOOST_TEST(it.call(answer(200, registered_body)) == "POST http://c2/instances");
  BOOST_TEST(it.kinds() == (std::vector{kind::lost, kind::registered}));
}

BOOST_AUTO_TEST_CASE(a_coordinator_that_answers_with_errors_is_not_left_for_the_next) {
  mp_server it{with_urls({"http://c1", "http://c2"})};
  it.join();
  for (const int status : {503, 503, 500, 503, 400})
    BOOST_TEST(it.call(answer(status)) == "PUT http://c1/instances/node-a/heartbeat");
  // An error shows that it is there, and so it takes two more without an answer.
  it.call(no_answer(outbound_outcome::timed_out));
  it.call(answer(503));
  it.call(no_answer(outbound_outcome::timed_out));
  BOOST_TEST(it.call(answer(200)) == "PUT http://c1/instances/node-a/heartbeat");
  BOOST_TEST(it.loop.registered());
}

// -- stopping ---------------------------------------------------------------

BOOST_AUTO_TEST_CASE(stopping_deregisters_once_whatever_comes_of_it) {
  for (const auto& last :
       {answer(204), answer(500), no_answer(outbound_outcome::refused), no_answer(outbound_outcome::timed_out)}) {
    mp_server it;
    it.join();
    it.loop.stop(it.now);
    BOOST_TEST(!it.loop.finished());
    BOOST_TEST((it.loop.wake() == it.now));
    BOOST_TEST(it.call(last) == "DELETE http://c1:9300/instances/node-a");
    BOOST_TEST(it.loop.finished());
    BOOST_TEST(!it.loop.registered());
    const auto events = it.loop.take_events();
    BOOST_TEST_REQUIRE(events.size() == 1u);
    BOOST_TEST(events[0].kind == kind::left);
    BOOST_TEST(events[0].instance_id == "node-a");
    BOOST_TEST(events[0].detail.empty() == last.succeeded());
    BOOST_TEST((it.loop.wake() == time_point::max()));
    BOOST_TEST(!it.loop.next(it.now + 1h).has_value());
  }
}

BOOST_AUTO_TEST_CASE(a_goodbye_of_a_superseded_server_says_that_it_changed_nothing) {
  mp_server it;
  it.join({{"etag", "\"r\""}});
  it.call(answer(412));
  it.loop.stop(it.now);
  it.call(answer(412));
  BOOST_TEST(it.loop.finished());
  BOOST_TEST(it.loop.take_events().back().detail == "the id is registered by somebody else now");
}

BOOST_AUTO_TEST_CASE(the_goodbye_goes_to_the_coordinator_that_holds_the_registration) {
  for (const auto& heard : {no_answer(outbound_outcome::refused), answer(503)}) {
    mp_server it{with_urls({"http://c1", "http://c2"})};
    it.join({{"etag", "\"r-1\""}});
    it.call(no_answer(outbound_outcome::refused));
    it.call(no_answer(outbound_outcome::refused));
    BOOST_TEST(it.call(heard) == "PUT http://c2/instances/node-a/heartbeat");
    it.loop.take_events();
    it.loop.stop(it.now);
    const auto goodbye = it.request();
    BOOST_TEST(goodbye.method + " " + goodbye.url == "DELETE http://c1/instances/node-a");
    BOOST_TEST(if_match(goodbye) == "\"r-1\"");
    it.reply(answer(204));
    BOOST_TEST(it.loop.take_events().at(0).coordinator_url == "http://c1");
  }
}

BOOST_AUTO_TEST_CASE(after_a_move_the_goodbye_goes_to_the_coordinator_that_registered_last_or_takes_the_heartbeats) {
  const auto move = [](mp_server& it) {
    it.join({{"etag", "\"r-1\""}});
    it.call(no_answer(outbound_outcome::refused));
    it.call(no_answer(outbound_outcome::refused));
  };
  mp_server registered_again{with_urls({"http://c1", "http://c2"})};
  move(registered_again);
  registered_again.call(answer(404));
  registered_again.call(answer(200, registered_body, {{"etag", "\"r-2\""}}));
  registered_again.loop.stop(registered_again.now);
  auto goodbye = registered_again.request();
  BOOST_TEST(goodbye.url == "http://c2/instances/node-a");
  BOOST_TEST(if_match(goodbye) == "\"r-2\"");

  // Two ways to one coordinator.
  mp_server confirmed{with_urls({"http://c1", "http://c2"})};
  move(confirmed);
  confirmed.call(answer(200));
  confirmed.loop.stop(confirmed.now);
  goodbye = confirmed.request();
  BOOST_TEST(goodbye.url == "http://c2/instances/node-a");
  BOOST_TEST(if_match(goodbye) == "\"r-1\"");
}

BOOST_AUTO_TEST_CASE(a_404_of_the_next_coordinator_after_the_stop_leaves_the_goodbye_to_the_one_before) {
  mp_server it{with_urls({"http://c1", "http://c2"})};
  it.join();
  it.call(no_answer(outbound_outcome::refused));
  it.call(no_answer(outbound_outcome::refused));
  BOOST_TEST(it.request().url == "http://c2/instances/node-a/heartbeat");
  it.loop.stop(it.now);
  it.reply(answer(404));
  BOOST_TEST(it.call(answer(204)) == "DELETE http://c1/instances/node-a");
  BOOST_TEST(it.loop.finished());
}

BOOST_AUTO_TEST_CASE(a_reply_that_nothing_was_asked_for_is_ignored) {
  mp_server it;
  it.loop.on_reply(answer(200, registered_body), it.now);
  BOOST_TEST(!it.loop.registered());
  it.join();
  it.loop.on_reply(answer(404), it.now);
  BOOST_TEST(it.loop.registered());
}

BOOST_AUTO_TEST_CASE(stopping_before_a_registration_worked_sends_nothing) {
  mp_server never_tried;
  never_tried.loop.stop(never_tried.now);
  BOOST_TEST(never_tried.loop.finished());
  mp_server failed;
  failed.call(no_answer(outbound_outcome::refused));
  failed.loop.stop(failed.now);
  BOOST_TEST(failed.loop.finished());
  BOOST_TEST(!failed.loop.next(failed.now + 1h).has_value());
}

BOOST_AUTO_TEST_CASE(a_registration_that_succeeds_after_the_stop_is_given_up_again) {
  mp_server it;
  it.request();
  it.loop.stop(it.now);
  BOOST_TEST(!it.loop.finished());
  it.reply(answer(200, registered_body));
  BOOST_TEST(it.call(answer(204)) == "DELETE http://c1:9300/instances/node-a");
  BOOST_TEST(it.loop.finished());
}

BOOST_AUTO_TEST_CASE(a_registration_that_fails_after_the_stop_is_not_repeated) {
  mp_server it{with_urls({"http://c1", "http://c2"})};
  it.request();
  it.loop.stop(it.now);
  it.reply(no_answer(outbound_outcome::timed_out));
  BOOST_TEST(it.loop.finished());
}

BOOST_AUTO_TEST_CASE(a_heartbeat_under_way_when_stopped_decides_whether_there_is_anything_to_give_up) {
  for (const int status : {200, 404, 412, 500}) {
    mp_server it;
    it.join({{"etag", "\"r\""}});
    it.request();
    it.loop.stop(it.now);
    it.reply(answer(status));
    BOOST_TEST(it.loop.finished() == (status == 404));
    if (status != 404)
      BOOST_TEST(it.call(answer(204)) == "DELETE http://c1:9300/instances/node-a");
    BOOST_TEST(it.loop.finished());
  }
}

BOOST_AUTO_TEST_SUITE_END()
