#include "harness/service.hpp"
#include "harness/steps.hpp"

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>

#include <fmt/format.h>

#include <ostream>
#include <regex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

using namespace coordinator::service_test;

namespace {

const std::string health_request = "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n";

/// The head of a registration whose body comes in chunks.
const std::string chunked_head =
    "POST /instances HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n";

std::string chunk(std::string_view data) {
  return fmt::format("{:x}\r\n{}\r\n", data.size(), data);
}

const std::string last_chunk = "0\r\n\r\n";

std::string registration_request(const std::string& id) {
  return render_request("POST", "/instances", to_json({.instance_id = id}));
}

/// With one HTTP thread it is known when the service has read a part of a request.
struct one_thread_service : service {
  one_thread_service() : service{std::vector<std::string>{"--http-threads", "1"}} {}
};

} // namespace

// What any HTTP/1.x client may do.
BOOST_AUTO_TEST_SUITE(http_edge)

// ---- pipelining

BOOST_FIXTURE_TEST_CASE(pipelined_requests_are_answered_in_order, service) {
  register_all(port(), numbered_registrations("n", 50));
  std::string requests;
  for (int i = 0; i < 50; ++i)
    requests += render_request("PUT", heartbeat_path(fmt::format("n-{}", i)));
  connection raw{port()};
  raw.send(requests);
  for (int i = 0; i < 50; ++i)
    BOOST_TEST(raw.read_response().body == fmt::format(R"({{"instance_id":"n-{}"}})", i));
}

BOOST_FIXTURE_TEST_CASE(a_pipeline_of_different_requests_takes_effect_in_order, service) {
  connection raw{port()};
  raw.send(registration_request("a") + render_request("PUT", heartbeat_path("a")) + render_request("GET", "/instances")
           + render_request("DELETE", instance_path("a")) + render_request("PUT", heartbeat_path("a"))
           + render_request("GET", "/instances"));
  BOOST_TEST(raw.read_response().body == R"({"instance_id":"a","re_registered":false})");
  BOOST_TEST(raw.read_response().status == 200);
  BOOST_TEST(ids_in(raw.read_response()).size() == 1u);
  BOOST_TEST(raw.read_response().status == 204);
  BOOST_TEST(raw.read_response().status == 404);
  BOOST_TEST(rows_in(raw.read_response()) == R"({"instances":[])");
}

BOOST_FIXTURE_TEST_CASE(a_request_right_behind_a_body_is_not_lost, service) {
  connection raw{port()};
  raw.send(registration_request("a") + health_request + chunked_head + chunk(to_json({.instance_id = "b"})) + last_chunk
           + health_request);
  for (int i = 0; i < 4; ++i)
    BOOST_TEST(raw.read_response().status == 200);
  BOOST_TEST(listed_ids(api).size() == 2u);
}

BOOST_FIXTURE_TEST_CASE(a_pipeline_of_thousands_is_answered_to_its_end, service) {
  constexpr int depth = 20000;
  register_instance(api, "a");
  std::string requests;
  for (int i = 0; i < depth; ++i)
    requests += "PUT /instances/a/heartbeat HTTP/1.1\r\nHost: x\r\n\r\n";
  connection raw{port()};
  // Not all of it fits into the sockets at once, so both directions go on at the same time.
  std::thread sender{[&] { raw.try_send(requests, 30s); }};
  int answered = 0;
  try {
    for (; answered < depth; ++answered)
      if (raw.read_response().status != 200)
        break;
  } catch (const transport_error& problem) {
    BOOST_ERROR(problem.what());
  }
  sender.join();
  BOOST_TEST(answered == depth);
}

BOOST_FIXTURE_TEST_CASE(an_error_in_a_pipeline_does_not_disturb_its_neighbours, service) {
  connection raw{port()};
  raw.send(health_request + render_request("POST", "/instances", "{") + render_request("GET", "/nothing")
           + render_request("PUT", "/instances") + render_request("HEAD", "/healthz") + health_request);
  BOOST_TEST(raw.read_response().status == 200);
  BOOST_TEST(raw.read_response().status == 422);
  BOOST_TEST(raw.read_response().status == 404);
  BOOST_TEST(raw.read_response().status == 405);
  BOOST_TEST(raw.read_response(reply_body::absent).status == 200);
  BOOST_TEST(raw.read_response().body == R"({"status":"healthy"})");
}

// ---- persistence

BOOST_FIXTURE_TEST_CASE(an_http_1_1_connection_stays_open, service) {
  connection raw{port()};
  for (int i = 0; i < 3; ++i) {
    raw.send(health_request);
    const auto reply = raw.read_response();
    BOOST_TEST(reply.version == "HTTP/1.1");
    BOOST_TEST(!reply.closes());
  }
  BOOST_TEST(raw.stays_silent(200ms));
}

struct persistence {
  const char* version;
  const char* header;
  bool stays;
};

std::ostream& operator<<(std::ostream& out, const persistence& x) {
  return out << x.version << ' ' << x.header;
}

const std::vector<persistence> persistence_rules{
    {"HTTP/1.1", "", true},
    {"HTTP/1.1", "Connection: keep-alive\r\n", true},
    {"HTTP/1.1", "Connection: Upgrade\r\n", true},
    {"HTTP/1.1", "Connection: close\r\n", false},
    {"HTTP/1.1", "Connection: CLOSE\r\n", false},
    {"HTTP/1.1", "connection:close\r\n", false},
    {"HTTP/1.1", "Connection: keep-alive, close\r\n", false},
    {"HTTP/1.1", "Connection: keep-alive\r\nConnection: close\r\n", false},
    {"HTTP/1.0", "", false},
    {"HTTP/1.0", "Connection: close\r\n", false},
    {"HTTP/1.0", "Connection: keep-alive\r\n", true},
    {"HTTP/1.0", "Connection: Keep-Alive\r\n", true},
};

BOOST_DATA_TEST_CASE_F(service, a_connection_ends_when_version_and_header_say_so,
                       boost::unit_test::data::make(persistence_rules)) {
  for (const std::string target : {"/healthz", "/instances", "/nothing"}) {
    connection raw{port()};
    const auto request = fmt::format("GET {} {}\r\nHost: x\r\n{}\r\n", target, sample.version, sample.header);
    raw.send(request);
    const auto reply = raw.read_response();
    BOOST_TEST(reply.closes() == !sample.stays, reply);
    if (sample.stays) {
      if (std::string_view{sample.version} == "HTTP/1.0")
        BOOST_TEST(equals_ignoring_case(reply.header_text("Connection"), "keep-alive"));
      raw.send(request);
      BOOST_TEST(raw.read_response().status == reply.status);
    } else {
      BOOST_TEST(raw.ends(1s));
    }
  }
}

BOOST_FIXTURE_TEST_CASE(what_follows_a_request_that_closes_is_not_answered, service) {
  register_instance(api, "a");
  connection raw{port()};
  raw.send("GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
           + render_request("DELETE", instance_path("a")));
  BOOST_TEST(raw.read_response().closes());
  BOOST_TEST(raw.ends(3s));
  BOOST_TEST(is_listed(api, "a"));
}

BOOST_FIXTURE_TEST_CASE(an_http_1_0_client_without_a_host_is_served, service) {
  connection raw{port()};
  raw.send("GET /healthz HTTP/1.0\r\n\r\n");
  BOOST_TEST(raw.read_response().body == R"({"status":"healthy"})");
  BOOST_TEST(raw.ends(1s));
}

BOOST_FIXTURE_TEST_CASE(a_thousand_connections_of_one_request_each_are_served, service) {
  for (int i = 0; i < 1000; ++i) {
    connection raw{port()};
    raw.send("GET /healthz HTTP/1.0\r\n\r\n");
    const auto reply = raw.read_to_end();
    if (!reply.ends_with(R"({"status":"healthy"})"))
      BOOST_ERROR("reply " << i << ": " << reply);
  }
}

BOOST_FIXTURE_TEST_CASE(an_idle_connection_is_closed_in_time_and_without_a_word, service) {
  service quick{{"--timeout-keep-alive", "1"}};
  connection used{quick.port()};
  connection kept{quick.port()};
  used.send(health_request);
  used.read_response();
  const auto idle_since = monotonic_clock::now();
  double ended_after = 0;
  // A client that uses its connection more often than that keeps it.
  BOOST_TEST(holds_for(2500ms, [&] {
    kept.send(health_request);
    if (ended_after == 0 && used.ends(300ms))
      ended_after = seconds_since(idle_since);
    return kept.read_response().status == 200;
  }));
  BOOST_TEST(ended_after >= 0.99);
  BOOST_TEST(ended_after < 2.5);
}

// ---- chunked bodies

BOOST_FIXTURE_TEST_CASE(a_chunked_body_is_read_as_one, service) {
  const auto body = to_json({.instance_id = "a", .metadata = {{"zone", "x"}}});
  const std::vector<std::string> spellings{
      chunk(body) + last_chunk,
      chunk(body.substr(0, 1)) + chunk(body.substr(1, 10)) + chunk(body.substr(11)) + last_chunk,
      fmt::format("{:X}\r\n{}\r\n000\r\n\r\n", body.size(), body),
      fmt::format("{:x};name=value;flag\r\n{}\r\n0;last\r\n\r\n", body.size(), body),
      fmt::format("0000{:x}\r\n{}\r\n0\r\n\r\n", body.size(), body),
      chunk(body) + "0\r\nX-Trailer: ignored\r\nContent-Length: 5\r\n\r\n",
  };
  for (const auto& spelling : spellings) {
    connection raw{port()};
    raw.send(chunked_head + spelling + health_request);
    BOOST_TEST(raw.read_response().status == 200, spelling);
    BOOST_TEST(raw.read_response().body == R"({"status":"healthy"})", spelling);
    BOOST_TEST(listed_row(api, "a")["metadata"] == json::parse(R"({"zone":"x"})"));
    api.del(instance_path("a"));
  }
}

BOOST_FIXTURE_TEST_CASE(a_chunked_body_may_arrive_byte_by_byte, one_thread_service) {
  connection raw{port()};
  stepwise_sender steps{raw, port()};
  const auto body = to_json({.instance_id = "a"});
  steps.send_byte_by_byte(chunked_head + chunk(body.substr(0, 7)) + chunk(body.substr(7))
                          + "0\r\nX-Trailer: y\r\n\r\n");
  BOOST_TEST(raw.read_response().body == R"({"instance_id":"a","re_registered":false})");
}

BOOST_FIXTURE_TEST_CASE(a_chunked_body_may_be_split_inside_its_line_ends, one_thread_service) {
  const auto body = to_json({.instance_id = "a"});
  const auto half = body.size() / 2;
  const std::string bytes = chunk(body.substr(0, half)) + chunk(body.substr(half)) + last_chunk;
  for (std::size_t at = 1; at < bytes.size(); ++at) {
    if (bytes[at - 1] != '\r' && bytes[at - 1] != '\n')
      continue;
    connection raw{port()};
    stepwise_sender steps{raw, port()};
    steps.send(chunked_head + bytes.substr(0, at));
    steps.send(bytes.substr(at));
    BOOST_TEST(raw.read_response().status == 200, "split after byte " << at);
  }
}

// ---- Expect

BOOST_FIXTURE_TEST_CASE(a_client_that_waits_for_leave_to_send_its_body_gets_it_at_once, service) {
  const auto body = to_json({.instance_id = "a"});
  for (const auto& framing :
       {fmt::format("Content-Length: {}\r\n", body.size()), std::string{"Transfer-Encoding: chunked\r\n"}}) {
    connection raw{port()};
    const auto start = monotonic_clock::now();
    raw.send("POST /instances HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nExpect: 100-continue\r\n"
             + framing + "\r\n");
    BOOST_TEST(raw.read_response().status == 100);
    BOOST_TEST(seconds_since(start) < 0.5);
    raw.send(framing.starts_with("Content") ? body : chunk(body) + last_chunk);
    BOOST_TEST(raw.read_response().status == 200);
    raw.send(health_request);
    BOOST_TEST(raw.read_response().status == 200);
  }
}

BOOST_FIXTURE_TEST_CASE(a_client_that_asks_for_leave_and_does_not_wait_is_served, service) {
  connection raw{port()};
  const auto body = to_json({.instance_id = "a"});
  raw.send(fmt::format("POST /instances HTTP/1.1\r\nHost: x\r\nExpect: 100-Continue\r\nContent-Length: {}\r\n\r\n{}",
                       body.size(), body)
           + health_request);
  auto reply = raw.read_response();
  if (reply.status == 100) // allowed, and needless once the body is there
    reply = raw.read_response();
  BOOST_TEST(reply.status == 200);
  BOOST_TEST(reply.body == R"({"instance_id":"a","re_registered":false})");
  BOOST_TEST(raw.read_response().body == R"({"status":"healthy"})");
}

BOOST_FIXTURE_TEST_CASE(a_body_that_would_be_too_large_is_refused_before_it_is_sent, service) {
  connection raw{port()};
  raw.send("POST /instances HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 10000000\r\n\r\n");
  const auto reply = raw.read_response();
  BOOST_TEST(reply.status == 413);
  BOOST_TEST(reply.closes());
  BOOST_TEST(raw.ends(3s));
}

BOOST_FIXTURE_TEST_CASE(an_http_1_0_client_never_gets_an_interim_response, service) {
  connection raw{port()};
  const auto body = to_json({.instance_id = "a"});
  raw.send(fmt::format("POST /instances HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: {}\r\n\r\n{}", body.size(),
                       body));
  BOOST_TEST(raw.read_response().status == 200);
}

BOOST_FIXTURE_TEST_CASE(an_unknown_expectation_is_refused, service) {
  connection raw{port()};
  raw.send("GET /healthz HTTP/1.1\r\nHost: x\r\nExpect: wonders\r\n\r\n");
  BOOST_TEST(raw.read_response().status == 417);
}

// ---- half-closed clients

BOOST_FIXTURE_TEST_CASE(a_client_that_has_finished_sending_is_still_answered, service) {
  connection raw{port()};
  raw.send(registration_request("a"));
  raw.finish_sending();
  BOOST_TEST(raw.read_response().status == 200);
  BOOST_TEST(raw.ends(2s));
  BOOST_TEST(is_listed(api, "a"));
}

BOOST_FIXTURE_TEST_CASE(a_pipeline_whose_client_has_finished_sending_is_answered_to_its_end, service) {
  register_all(port(), numbered_registrations("n", 500));
  connection raw{port(), {.receive_buffer = 4096}};
  std::string requests;
  for (int i = 0; i < 20; ++i)
    requests += render_request("GET", "/instances");
  raw.send(requests);
  raw.finish_sending();
  for (int i = 0; i < 20; ++i)
    BOOST_TEST(ids_in(raw.read_response()).size() == 500u);
  BOOST_TEST(raw.ends(2s));
}

BOOST_FIXTURE_TEST_CASE(a_request_that_its_client_did_not_finish_has_no_effect, service) {
  connection raw{port()};
  const auto request = registration_request("a");
  raw.send(request.substr(0, request.size() - 1));
  raw.finish_sending();
  const auto rest = raw.read_to_end();
  BOOST_TEST((rest.empty() || rest.starts_with("HTTP/1.1 400")), rest);
  BOOST_TEST(listed_ids(api).empty());
}

// ---- parts

BOOST_FIXTURE_TEST_CASE(a_request_may_be_split_at_every_byte, one_thread_service) {
  const auto request = registration_request("a");
  for (std::size_t at = 1; at < request.size(); ++at) {
    connection raw{port()};
    stepwise_sender steps{raw, port()};
    steps.send(request.substr(0, at));
    raw.send(request.substr(at));
    const auto reply = raw.read_response();
    BOOST_TEST(reply.status == 200, "split after byte " << at << ": " << reply);
  }
}

BOOST_FIXTURE_TEST_CASE(requests_may_arrive_byte_by_byte, one_thread_service) {
  register_instance(api, "a");
  connection raw{port()};
  stepwise_sender steps{raw, port()};
  steps.send_byte_by_byte("PUT /instances/a/heartbeat HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc"
                          + health_request);
  BOOST_TEST(raw.read_response().body == R"({"instance_id":"a"})");
  BOOST_TEST(raw.read_response().body == R"({"status":"healthy"})");
}

BOOST_FIXTURE_TEST_CASE(every_prefix_of_a_registration_creates_nothing, service) {
  const auto request = registration_request("a");
  const auto at_rest = process.open_descriptors();
  for (std::size_t size = 0; size < request.size(); ++size) {
    connection raw{port()};
    raw.send(request.substr(0, size));
  }
  BOOST_TEST(eventually(3s, [&] { return process.open_descriptors() <= at_rest + 1; }));
  BOOST_TEST(listed_ids(api).empty());
  BOOST_TEST(is_alive(port()));
}

// ---- forms of a request

BOOST_FIXTURE_TEST_CASE(a_target_in_absolute_form_is_its_path, service) {
  connection raw{port()};
  raw.send("GET http://coordinator.example:9300/healthz HTTP/1.1\r\nHost: x\r\n\r\n");
  BOOST_TEST(raw.read_response().body == R"({"status":"healthy"})");
}

BOOST_FIXTURE_TEST_CASE(empty_lines_before_a_request_are_skipped, service) {
  connection raw{port()};
  raw.send("\r\n\r\n" + health_request);
  BOOST_TEST(raw.read_response().status == 200);
}

BOOST_FIXTURE_TEST_CASE(header_names_are_read_in_any_case_and_with_any_blanks_around_values, service) {
  connection raw{port()};
  const auto body = to_json({.instance_id = "a"});
  raw.send(fmt::format("POST /instances HTTP/1.1\r\nhOST:x\r\ncontent-LENGTH: \t {} "
                       "\t\r\nCONTENT-type:application/json\r\nX-Empty:\r\n\r\n{}",
                       body.size(), body));
  BOOST_TEST(raw.read_response().status == 200);
}

BOOST_FIXTURE_TEST_CASE(odd_values_of_headers_that_mean_nothing_here_do_not_matter, service) {
  for (const char* header : {"Host: [::1]:99999",     "Host: a_b.example",        "Host: ",
                             "Cookie: ;;;=",          "Cookie: a=b; c",           "Cookie: \xff\xfe",
                             "Date: yesterday",       "Cache-Control: max-age=x", "Cache-Control: ,,",
                             "Accept: text/html;q=x", "Accept: nonsense",         "Accept-Encoding: \"",
                             "Authorization: ",       "User-Agent: \x80",         "Content-Encoding: x",
                             "Connection: , ,",       "Range: bytes=0-1",         "If-Modified-Since: never",
                             "Upgrade: h2c",          "X-Forwarded-For: %00",     "Content-Type: ;;;"}) {
    connection raw{port()};
    const bool is_host = std::string_view{header}.starts_with("Host");
    raw.send(fmt::format("GET /instances HTTP/1.1\r\n{}{}\r\n\r\n", is_host ? "" : "Host: x\r\n", header));
    const auto reply = raw.read_response();
    BOOST_TEST(reply.status == 200, header << " got " << reply);
    BOOST_TEST(rows_in(reply) == R"({"instances":[])");
  }
}

BOOST_FIXTURE_TEST_CASE(twenty_kilobytes_of_headers_are_fine, service) {
  header_list many;
  for (int i = 0; i < 100; ++i)
    many.emplace_back(fmt::format("X-Header-{}", i), std::string(200, 'x'));
  BOOST_TEST(api.post("/instances", to_json({.instance_id = "a"}), many).status == 200);
}

BOOST_FIXTURE_TEST_CASE(a_body_of_up_to_a_mebibyte_is_read, service) {
  auto body = to_json({.instance_id = "a"});
  body.append(1024 * 1024 - body.size(), ' ');
  BOOST_TEST(api.post("/instances", body).status == 200);
  BOOST_TEST(register_instance(api, {.instance_id = "b", .metadata = {{"long", std::string(8 * 1024, 'x')}}}).status
             == 200);
  BOOST_TEST(listed_row(api, "b")["metadata"]["long"].text().size() == 8u * 1024);
}

BOOST_FIXTURE_TEST_CASE(thousands_of_slashes_are_just_an_unknown_path, service) {
  BOOST_TEST(api.get(std::string(8000, '/')).status == 404);
  std::string deep;
  for (int i = 0; i < 2600; ++i)
    deep += "/%2";
  BOOST_TEST(api.get(deep).status == 400);
  BOOST_TEST(is_alive(port()));
}

BOOST_FIXTURE_TEST_CASE(every_response_tells_its_date, service) {
  const std::regex format{
      "(Mon|Tue|Wed|Thu|Fri|Sat|Sun), [0-9]{2} [A-Z][a-z]{2} [0-9]{4} [0-9]{2}:[0-9]{2}:[0-9]{2} GMT"};
  for (const auto& reply : {api.get("/healthz"), api.get("/nothing"), api.del("/instances/a")})
    BOOST_TEST(std::regex_match(reply.header_text("Date"), format), reply);
}

BOOST_AUTO_TEST_SUITE_END()
