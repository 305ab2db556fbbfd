#include "http/outbound_loop.hpp"

#include "scripted_server.hpp"

#include <boost/test/unit_test.hpp>

#include <signal.h>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

using namespace coordinator;
using namespace std::chrono_literals;
using coordinator::http::outbound_loop;
using coordinator::unit_test::peer;
using coordinator::unit_test::scripted_server;
using coordinator::unit_test::unused_port;

namespace coordinator {

std::ostream& operator<<(std::ostream& out, outbound_outcome outcome) {
  return out << to_string(outcome);
}

} // namespace coordinator

namespace {

using outcome = outbound_outcome;

/// Far longer than anything here takes, on any machine.
constexpr auto patience = 30s;

std::future<outbound_reply> call(outbound_loop& loop, outbound_request request) {
  auto promise = std::make_shared<std::promise<outbound_reply>>();
  auto future = promise->get_future();
  loop.start(std::move(request), [promise](outbound_reply reply) { promise->set_value(std::move(reply)); });
  return future;
}

template <class T>
T get(std::future<T> future) {
  BOOST_REQUIRE((future.wait_for(patience) == std::future_status::ready));
  return future.get();
}

outbound_reply call_and_wait(outbound_loop& loop, outbound_request request) {
  return get(call(loop, std::move(request)));
}

/// Waits until the loop has done what was posted to it up to now.
void settle(outbound_loop& loop) {
  auto done = std::make_shared<std::promise<bool>>();
  auto future = done->get_future();
  loop.post([done] { done->set_value(true); });
  get(std::move(future));
}

/// Answers every request with itself.
void echo(peer& client, int) {
  while (const auto request = client.read_request())
    if (!client.answer(*request))
      return;
}

void stay_silent(peer& client, int) {
  client.wait_for_end();
}

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

} // namespace

BOOST_AUTO_TEST_SUITE(outbound_loop_test)

// -- answers ----------------------------------------------------------------

BOOST_AUTO_TEST_CASE(an_answer_has_status_headers_and_body) {
  scripted_server server{[](peer& client, int) {
    client.read_request();
    client.send("HTTP/1.1 200 OK\r\nX-Mixed-Case:  some value \r\nX-Empty:\r\nContent-Length: 5\r\n\r\nhello");
    client.wait_for_end();
  }};
  outbound_loop loop;
  const auto reply = call_and_wait(loop, {.url = server.url("/x")});
  BOOST_TEST(reply.outcome == outcome::answered);
  BOOST_TEST(reply.status == 200);
  BOOST_TEST(reply.succeeded());
  BOOST_TEST(reply.body == "hello");
  BOOST_TEST(reply.header("x-mixed-case") == "some value");
  BOOST_TEST(reply.header("x-empty") == "");
  BOOST_TEST(reply.header("absent") == "");
  BOOST_TEST(reply.detail == "");
  BOOST_TEST((reply.took > 0s));
}

BOOST_AUTO_TEST_CASE(an_error_status_is_an_answer_and_so_is_a_redirection_which_is_not_followed) {
  for (const int status : {301, 307, 404, 422, 500, 503}) {
    scripted_server server{[status](peer& client, int) {
      client.read_request();
      client.send("HTTP/1.1 " + std::to_string(status)
                  + " X\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 2\r\n\r\n{}");
      client.wait_for_end();
    }};
    outbound_loop loop;
    const auto reply = call_and_wait(loop, {.url = server.url()});
    BOOST_TEST(reply.outcome == outcome::answered);
    BOOST_TEST(reply.status == status);
    BOOST_TEST(!reply.succeeded());
    BOOST_TEST(reply.body == "{}");
  }
}

BOOST_AUTO_TEST_CASE(an_interim_answer_is_skipped_and_chunks_are_put_together) {
  scripted_server server{[](peer& client, int) {
    client.read_request();
    client.send("HTTP/1.1 100 Continue\r\nX-Interim: 1\r\n\r\n");
    client.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n");
    client.wait_for_end();
  }};
  outbound_loop loop;
  const auto reply = call_and_wait(loop, {.url = server.url()});
  BOOST_TEST(reply.status == 200);
  BOOST_TEST(reply.body == "abcde");
  BOOST_TEST(reply.header("x-interim") == "");
}

// -- requests ---------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_body_is_sent_as_json_with_any_method) {
  scripted_server server{echo};
  outbound_loop loop;
  for (const auto* method : {"POST", "PUT", "DELETE", "PATCH"}) {
    const auto sent = call_and_wait(loop, {.method = method, .url = server.url("/k"), .body = R"({"keys":[1]})"}).body;
    BOOST_TEST(sent.starts_with(std::string{method} + " /k HTTP/1.1\r\n"));
    BOOST_TEST(contains(sent, "\r\nContent-Type: application/json\r\n"));
    BOOST_TEST(contains(sent, "\r\nContent-Length: 12\r\n"));
    BOOST_TEST(sent.ends_with("\r\n\r\n{\"keys\":[1]}"));
  }
}

BOOST_AUTO_TEST_CASE(without_a_body_there_is_no_content_type_and_the_length_is_told_where_one_is_expected) {
  scripted_server server{echo};
  outbound_loop loop;
  for (const auto* method : {"GET", "POST", "PUT", "DELETE"}) {
    const std::string_view name{method};
    const auto sent = call_and_wait(loop, {.method = method, .url = server.url("/")}).body;
    BOOST_TEST(sent.starts_with(std::string{name} + " / HTTP/1.1\r\n"));
    BOOST_TEST(!contains(sent, "Content-Type"));
    BOOST_TEST(contains(sent, "Content-Length: 0") == (name == "POST" || name == "PUT"));
  }
}

BOOST_AUTO_TEST_CASE(a_large_body_is_sent_without_asking_first) {
  scripted_server server{echo};
  outbound_loop loop;
  const std::string body(3'000'000, 'x');
  const auto sent =
      call_and_wait(loop, {.method = "POST", .url = server.url(), .body = body, .max_reply_bytes = 4'000'000}).body;
  BOOST_TEST(!contains(sent, "Expect"));
  BOOST_TEST(sent.ends_with("\r\n\r\n" + body));
}

BOOST_AUTO_TEST_CASE(headers_are_sent_as_given_and_those_that_would_smuggle_another_are_refused) {
  scripted_server server{echo};
  outbound_loop loop;
  const auto sent =
      call_and_wait(loop, {.url = server.url(), .headers = {{"If-Match", "\"r\""}, {"X-Empty", ""}}}).body;
  BOOST_TEST(contains(sent, "\r\nIf-Match: \"r\"\r\n"));
  BOOST_TEST(contains(sent, "\r\nX-Empty:\r\n"));
  for (const auto& header : std::vector<std::pair<std::string, std::string>>{
           {"X", "a\r\nY: b"}, {"X", "a\nb"}, {"X\r\nY", "b"}, {"", "b"}, {"X:Y", "b"}}) {
    const auto reply = call_and_wait(loop, {.url = server.url(), .headers = {header}});
    BOOST_TEST(reply.outcome == outcome::failed);
    BOOST_TEST(reply.detail == "a header of the request is malformed");
  }
}

BOOST_AUTO_TEST_CASE(a_path_is_sent_as_it_is) {
  scripted_server server{echo};
  outbound_loop loop;
  BOOST_TEST(call_and_wait(loop, {.url = server.url("/instances/../a%2Fb/.")})
                 .body.starts_with("GET /instances/../a%2Fb/. HTTP/1.1\r\n"));
}

BOOST_AUTO_TEST_CASE(the_environment_does_not_put_a_proxy_in_between) {
  scripted_server server{echo};
  setenv("http_proxy", "http://127.0.0.1:1", 1);
  outbound_loop loop;
  const auto reply = call_and_wait(loop, {.url = server.url()});
  unsetenv("http_proxy");
  BOOST_TEST(reply.outcome == outcome::answered);
}

BOOST_AUTO_TEST_CASE(only_http_is_spoken) {
  outbound_loop loop;
  for (const auto* url :
       {"file:///etc/passwd", "ftp://127.0.0.1/", "gopher://127.0.0.1/", "http://", "", "http://a b/"})
    BOOST_TEST(call_and_wait(loop, {.url = url}).outcome != outcome::answered, url);
}

BOOST_AUTO_TEST_CASE(ipv6_works) {
  std::optional<scripted_server> server;
  try {
    server.emplace(echo, AF_INET6);
  } catch (const std::runtime_error&) {
    BOOST_TEST_MESSAGE("no IPv6 here");
    return;
  }
  outbound_loop loop;
  BOOST_TEST(call_and_wait(loop, {.url = server->url("/six")}).status == 200);
}

// -- failures ---------------------------------------------------------------

BOOST_AUTO_TEST_CASE(nobody_listens) {
  outbound_loop loop;
  const auto reply = call_and_wait(loop, {.url = "http://127.0.0.1:" + std::to_string(unused_port())});
  BOOST_TEST(reply.outcome == outcome::refused);
  BOOST_TEST(reply.status == 0);
  BOOST_TEST(!reply.detail.empty());
}

BOOST_AUTO_TEST_CASE(a_silent_server_is_given_up_at_the_time_limit) {
  scripted_server server{stay_silent};
  outbound_loop loop;
  const auto reply = call_and_wait(loop, {.url = server.url(), .timeout = 200ms});
  BOOST_TEST(reply.outcome == outcome::timed_out);
  BOOST_TEST((reply.took >= 200ms));
  BOOST_TEST((reply.took < 5s));
  BOOST_TEST(reply.detail == "no whole reply within 200 ms");
}

BOOST_AUTO_TEST_CASE(a_reply_that_drips_in_is_given_up_at_the_time_limit_all_the_same) {
  scripted_server server{[](peer& client, int) {
    client.read_request();
    client.send("HTTP/1.1 200 OK\r\nX: ");
    while (client.send("x"))
      std::this_thread::sleep_for(20ms);
  }};
  outbound_loop loop;
  const auto reply = call_and_wait(loop, {.url = server.url(), .timeout = 300ms});
  BOOST_TEST(reply.outcome == outcome::timed_out);
  BOOST_TEST((reply.took >= 300ms));
  BOOST_TEST((reply.took < 5s));
}

BOOST_AUTO_TEST_CASE(a_reply_that_breaks_off_is_a_failure_without_a_part_of_it) {
  for (const bool by_reset : {false, true}) {
    scripted_server server{[by_reset](peer& client, int) {
      client.read_request();
      client.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhello");
      if (by_reset)
        client.reset_at_end();
    }};
    outbound_loop loop;
    const auto reply = call_and_wait(loop, {.url = server.url()});
    BOOST_TEST(reply.outcome == outcome::failed);
    BOOST_TEST(reply.status == 0);
    BOOST_TEST(reply.body == "");
    BOOST_TEST(reply.headers.empty());
    BOOST_TEST(!reply.detail.empty());
  }
}

BOOST_AUTO_TEST_CASE(a_reply_that_is_too_long_is_a_failure_whether_or_not_it_says_so_first) {
  for (const auto* head : {"HTTP/1.1 200 OK\r\nContent-Length: 1001\r\n\r\n", "HTTP/1.1 200 OK\r\n\r\n"}) {
    scripted_server server{[head](peer& client, int) {
      client.read_request();
      client.send(head + std::string(1001, 'x'));
    }};
    outbound_loop loop;
    const auto reply = call_and_wait(loop, {.url = server.url(), .max_reply_bytes = 1000});
    BOOST_TEST(reply.outcome == outcome::failed);
    BOOST_TEST(reply.detail == "the reply is longer than 1000 bytes");
    BOOST_TEST(call_and_wait(loop, {.url = server.url(), .max_reply_bytes = 1001}).outcome == outcome::answered);
  }
}

BOOST_AUTO_TEST_CASE(endless_headers_are_a_failure) {
  scripted_server server{[](peer& client, int) {
    client.read_request();
    client.send("HTTP/1.1 200 OK\r\n");
    while (client.send("X-More: " + std::string(1000, 'x') + "\r\n")) {
    }
  }};
  outbound_loop loop;
  BOOST_TEST(call_and_wait(loop, {.url = server.url()}).outcome == outcome::failed);
}

BOOST_AUTO_TEST_CASE(what_is_not_http_is_a_failure) {
  for (const auto* nonsense : {"SSH-2.0-OpenSSH\r\n", "hello", "", "\r\n\r\n", "HTTP/1.1 abc\r\n\r\n"}) {
    scripted_server server{[nonsense](peer& client, int) {
      client.read_request();
      client.send(nonsense);
    }};
    outbound_loop loop;
    BOOST_TEST(call_and_wait(loop, {.url = server.url()}).outcome == outcome::failed, nonsense);
  }
}

// -- connections ------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_connection_is_used_again) {
  scripted_server server{echo};
  outbound_loop loop;
  for (int i = 0; i < 20; ++i)
    BOOST_TEST(call_and_wait(loop, {.method = "PUT", .url = server.url()}).status == 200);
  BOOST_TEST(server.connections() == 1);
}

BOOST_AUTO_TEST_CASE(a_connection_that_the_server_closed_while_it_was_idle_is_no_error) {
  std::atomic<int> closed{0};
  scripted_server server{[&closed](peer& client, int) {
    client.read_request();
    client.answer("x");
    ++closed;
  }};
  outbound_loop loop;
  for (int i = 0; i < 20; ++i)
    BOOST_TEST(call_and_wait(loop, {.method = "PUT", .url = server.url()}).status == 200);
}

BOOST_AUTO_TEST_CASE(a_connection_that_the_server_closes_just_as_a_request_comes_is_no_error_either) {
  for (const bool by_reset : {false, true})
    for (const auto* method : {"GET", "PUT", "DELETE", "POST"}) {
      scripted_server server{[by_reset](peer& client, int) {
        client.read_request();
        client.answer("x");
        client.read_request(); // and no answer to it
        if (by_reset)
          client.reset_at_end();
      }};
      outbound_loop loop;
      for (int i = 0; i < 3; ++i)
        BOOST_TEST(call_and_wait(loop, {.method = method, .url = server.url(), .body = "{}"}).status == 200, method);
      BOOST_TEST(server.connections() == 3);
    }
}

BOOST_AUTO_TEST_CASE(calls_beyond_the_limit_of_connections_wait_for_one) {
  std::atomic<int> open{0};
  std::atomic<int> most{0};
  scripted_server server{[&](peer& client, int) {
    const int now = ++open;
    for (int seen = most; now > seen && !most.compare_exchange_weak(seen, now);) {
    }
    echo(client, 0);
    --open;
  }};
  outbound_loop loop{{.max_connections = 3, .max_idle_connections = 3}};
  std::vector<std::future<outbound_reply>> calls;
  for (int i = 0; i < 60; ++i)
    calls.push_back(call(loop, {.url = server.url()}));
  for (auto& each : calls)
    BOOST_TEST(get(std::move(each)).status == 200);
  BOOST_TEST(most <= 3);
}

BOOST_AUTO_TEST_CASE(waiting_for_a_connection_counts_for_the_time_limit) {
  scripted_server server{stay_silent};
  outbound_loop loop{{.max_connections = 1, .max_idle_connections = 1}};
  auto hanging = call(loop, {.url = server.url(), .timeout = patience});
  const auto reply = call_and_wait(loop, {.url = server.url(), .timeout = 100ms});
  BOOST_TEST(reply.outcome == outcome::timed_out);
  BOOST_TEST(reply.detail == "no connection was free within 100 ms");
  BOOST_TEST(server.connections() <= 1);
}

BOOST_AUTO_TEST_CASE(a_tenth_of_the_servers_hang_and_the_calls_to_the_others_are_done_promptly) {
  scripted_server hangs{stay_silent};
  scripted_server works{echo};
  outbound_loop loop;
  constexpr int count = 500;
  std::vector<std::future<outbound_reply>> hanging;
  std::vector<std::future<outbound_reply>> others;
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < count; ++i) {
    if (i % 10 == 0)
      hanging.push_back(call(loop, {.url = hangs.url(), .timeout = 10s}));
    else
      others.push_back(call(loop, {.url = works.url(), .timeout = 9s}));
  }
  for (auto& each : others)
    BOOST_TEST(get(std::move(each)).status == 200);
  BOOST_TEST((std::chrono::steady_clock::now() - start < 9s));
  for (auto& each : hanging)
    BOOST_TEST((each.wait_for(0s) == std::future_status::timeout));
}

// -- giving up --------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_cancelled_call_is_not_completed_and_its_connection_is_closed) {
  std::promise<bool> arrived;
  std::promise<bool> hung_up;
  scripted_server server{[&](peer& client, int) {
    client.read_request();
    arrived.set_value(true);
    client.wait_for_end();
    hung_up.set_value(true);
  }};
  outbound_loop loop;
  std::atomic<int> completions{0};
  const auto id = loop.start({.url = server.url()}, [&](const outbound_reply&) { ++completions; });
  BOOST_TEST(get(arrived.get_future()));
  loop.cancel(id);
  BOOST_TEST(get(hung_up.get_future()));
  loop.cancel(id);        // done
  loop.cancel(id + 1000); // unknown
  settle(loop);
  BOOST_TEST(completions == 0);
}

BOOST_AUTO_TEST_CASE(calls_under_way_when_the_loop_goes_are_dropped_without_a_completion) {
  scripted_server server{stay_silent};
  std::atomic<int> completions{0};
  const auto kept = std::make_shared<int>(0);
  {
    outbound_loop loop{{.max_connections = 5, .max_idle_connections = 5}};
    for (int i = 0; i < 10; ++i) // half of them wait for a connection
      loop.start({.url = server.url()}, [&, kept](const outbound_reply&) { ++completions; });
    loop.post_at(std::chrono::steady_clock::now() + 1h, [&, kept] { ++completions; });
    settle(loop);
    BOOST_TEST(kept.use_count() == 12);
  }
  BOOST_TEST(completions == 0);
  BOOST_TEST(kept.use_count() == 1);
}

BOOST_AUTO_TEST_CASE(what_is_dropped_may_cancel_calls_while_it_is_destroyed) {
  struct canceller {
    outbound_loop* loop;
    ~canceller() { loop->cancel(1); }
  };
  scripted_server server{stay_silent};
  outbound_loop loop;
  const auto owner = std::make_shared<canceller>(canceller{&loop});
  loop.start({.url = server.url()}, [owner](const outbound_reply&) {});
  settle(loop);
  BOOST_TEST(owner.use_count() == 2);
}

// -- tasks and timers -------------------------------------------------------

BOOST_AUTO_TEST_CASE(tasks_run_in_order_on_the_loops_thread) {
  outbound_loop loop;
  std::vector<int> order;
  std::set<std::thread::id> threads;
  for (int i = 0; i < 100; ++i)
    loop.post([&, i] {
      order.push_back(i);
      threads.insert(std::this_thread::get_id());
    });
  settle(loop);
  BOOST_TEST(threads.size() == 1u);
  BOOST_TEST(!threads.contains(std::this_thread::get_id()));
  BOOST_TEST_REQUIRE(order.size() == 100u);
  BOOST_TEST(std::is_sorted(order.begin(), order.end()));
}

BOOST_AUTO_TEST_CASE(timers_fire_in_the_order_of_their_times_and_not_before) {
  outbound_loop loop;
  const auto start = std::chrono::steady_clock::now();
  std::vector<int> order;
  bool early = false;
  std::promise<bool> last;
  const auto at = [&](std::chrono::milliseconds when, int what) {
    loop.post_at(start + when, [&, when, what] {
      order.push_back(what);
      early = early || std::chrono::steady_clock::now() < start + when;
    });
  };
  at(120ms, 4);
  at(60ms, 2);
  at(60ms, 3); // at the same time: in the order of arrival
  at(-5ms, 1);
  loop.post_at(start + 150ms, [&last] { last.set_value(true); });
  get(last.get_future());
  BOOST_TEST(order == (std::vector{1, 2, 3, 4}), boost::test_tools::per_element());
  BOOST_TEST(!early);
}

BOOST_AUTO_TEST_CASE(a_timer_that_sets_itself_again_for_now_does_not_hold_up_anything_else) {
  scripted_server server{echo};
  outbound_loop loop;
  std::function<void()> again = [&] { loop.post_at(std::chrono::steady_clock::now(), again); };
  loop.post(again);
  BOOST_TEST(call_and_wait(loop, {.url = server.url()}).status == 200);
}

BOOST_AUTO_TEST_CASE(many_threads_may_post_and_call_at_once) {
  scripted_server server{echo};
  outbound_loop loop;
  std::atomic<int> tasks{0};
  std::atomic<int> answers{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 500; ++i)
        loop.post([&tasks] { ++tasks; });
      std::vector<std::future<outbound_reply>> calls;
      for (int i = 0; i < 20; ++i)
        calls.push_back(call(loop, {.url = server.url(), .timeout = patience}));
      for (auto& each : calls)
        answers += each.get().succeeded() ? 1 : 0;
    });
  for (auto& thread : threads)
    thread.join();
  settle(loop);
  BOOST_TEST(tasks == 8 * 500);
  BOOST_TEST(answers == 8 * 20);
}

BOOST_AUTO_TEST_CASE(a_completion_may_start_the_next_call) {
  scripted_server server{echo};
  outbound_loop loop;
  std::promise<int> done;
  int calls = 0;
  std::function<void(outbound_reply)> next = [&](const outbound_reply& reply) {
    if (++calls == 10 || !reply.succeeded())
      done.set_value(calls);
    else
      loop.start({.url = server.url()}, next);
  };
  loop.start({.url = server.url()}, next);
  BOOST_TEST(get(done.get_future()) == 10);
}

BOOST_AUTO_TEST_CASE(a_task_or_completion_that_throws_does_not_end_the_process) {
  scripted_server server{echo};
  outbound_loop loop;
  loop.post([] { throw std::runtime_error{"task"}; });
  loop.post_at(std::chrono::steady_clock::now(), [] { throw std::runtime_error{"timer"}; });
  loop.start({.url = server.url()}, [](const outbound_reply&) { throw std::runtime_error{"completion"}; });
  BOOST_TEST(call_and_wait(loop, {.url = server.url()}).status == 200);
}

BOOST_AUTO_TEST_CASE(the_thread_takes_no_signals_of_the_process) {
  outbound_loop loop;
  sigset_t mask{};
  loop.post([&mask] { pthread_sigmask(SIG_SETMASK, nullptr, &mask); });
  settle(loop);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGPIPE, SIGUSR1, SIGCHLD, SIGALRM})
    BOOST_TEST(sigismember(&mask, signal) == 1);
  sigset_t here;
  pthread_sigmask(SIG_SETMASK, nullptr, &here);
  BOOST_TEST(sigismember(&here, SIGTERM) == 0);
}

BOOST_AUTO_TEST_SUITE_END()
