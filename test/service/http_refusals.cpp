#include "harness/service.hpp"

#include <fmt/format.h>

#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using namespace coordinator::service_test;

namespace {

// Behind every refused request follows one that would leave a trace, were it taken for a request: it would be smuggled.
const std::string smuggled = render_request("POST", "/instances", to_json({.instance_id = "smuggled"}));

/// Sends what the service may refuse before its end, and returns all that comes back before the connection ends.
std::vector<response> exchange(std::uint16_t port, std::string_view bytes) {
  connection raw{port};
  raw.try_send(bytes);
  return raw.read_responses_to_end(5s);
}

/// The only response to all that was sent; throws unless there is exactly one.
response only_response(std::uint16_t port, std::string_view bytes) {
  auto replies = exchange(port, bytes);
  if (replies.size() != 1)
    throw std::runtime_error{fmt::format("{} responses, not one", replies.size())};
  return replies.front();
}

struct refused_request {
  const char* name;
  std::string bytes;
  int status;
};

std::string post_with(std::string_view headers, std::string_view body = "{}") {
  return fmt::format("POST /instances HTTP/1.1\r\nHost: x\r\n{}\r\n{}", headers, body);
}

std::string get_with(std::string_view headers) {
  return fmt::format("GET /healthz HTTP/1.1\r\nHost: x\r\n{}\r\n", headers);
}

std::string chunks(std::string_view bytes) {
  return post_with("Transfer-Encoding: chunked\r\n", bytes);
}

std::string many_headers(int count) {
  std::string result;
  for (int i = 0; i < count; ++i)
    result += fmt::format("X{}: y\r\n", i);
  return result;
}

const std::vector<refused_request> refused_requests{
    {"both framings", post_with("Content-Length: 2\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"), 400},
    {"both framings, the other way round",
     post_with("Transfer-Encoding: chunked\r\nContent-Length: 2\r\n", "0\r\n\r\n"), 400},
    {"two lengths", post_with("Content-Length: 2\r\nContent-Length: 3\r\n"), 400},
    {"a list of lengths", post_with("Content-Length: 2, 3\r\n"), 400},
    {"a length with a sign", post_with("Content-Length: +2\r\n"), 400},
    {"a negative length", post_with("Content-Length: -1\r\n"), 400},
    {"a length with letters behind", post_with("Content-Length: 2abc\r\n"), 400},
    {"a length of letters", post_with("Content-Length: abc\r\n"), 400},
    {"an empty length", post_with("Content-Length:\r\n"), 400},
    {"a hexadecimal length", post_with("Content-Length: 0x2\r\n"), 400},
    {"a length with an exponent", post_with("Content-Length: 1e3\r\n"), 400},
    {"a length with a blank inside", post_with("Content-Length: 1 2\r\n"), 400},
    {"a blank before the colon", post_with("Content-Length : 2\r\n"), 400},
    {"a header line without a colon", post_with("Nonsense\r\nContent-Length: 2\r\n"), 400},
    {"a header without a name", post_with(": x\r\nContent-Length: 2\r\n"), 400},
    {"a folded header line", get_with("X-Folded: a\r\n b\r\n"), 400},
    {"a null byte in a header", get_with(std::string_view{"X: a\0b\r\n", 8}), 400},
    {"a line end without its carriage return", "GET /healthz HTTP/1.1\nHost: x\n\n", 400},
    {"a carriage return within a line", get_with("X: a\rb\r\n"), 400},
    {"no host", "GET /healthz HTTP/1.1\r\n\r\n", 400},
    {"two hosts", get_with("Host: y\r\n"), 400},
    {"no version", "GET /healthz\r\nHost: x\r\n\r\n", 400},
    {"no target", "GET HTTP/1.1\r\nHost: x\r\n\r\n", 400},
    {"a target with a blank", "GET /health z HTTP/1.1\r\nHost: x\r\n\r\n", 400},
    {"a version of another protocol", "GET /healthz HTTX/1.1\r\nHost: x\r\n\r\n", 400},
    {"a newer protocol", "GET /healthz HTTP/2.0\r\nHost: x\r\n\r\n", 505},
    {"another transfer coding", post_with("Transfer-Encoding: gzip\r\n"), 501},
    {"another transfer coding before chunked", post_with("Transfer-Encoding: gzip, chunked\r\n", "0\r\n\r\n"), 501},
    {"chunks of a size beyond 64 bits", chunks("FFFFFFFFFFFFFFFFFF\r\n"), 400},
    {"chunks of a size that is no number", chunks("zz\r\n"), 400},
    {"chunks of a negative size", chunks("-1\r\n"), 400},
    {"chunks of a prefixed size", chunks("0x2\r\n{}\r\n0\r\n\r\n"), 400},
    {"chunks without a size", chunks("\r\n{}\r\n0\r\n\r\n"), 400},
    {"chunks longer than they say", chunks("1\r\n{}\r\n0\r\n\r\n"), 400},
    {"chunks with bare line feeds", chunks("2\n{}\n0\n\n"), 400},
    {"not a request at all", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 TLS, say\r\n\r\n", 400},
    {"a request line that is too long", fmt::format("GET /{} HTTP/1.1\r\nHost: x\r\n\r\n", std::string(9000, 'x')),
     414},
    {"a request line of a mebibyte", fmt::format("GET /{} HTTP/1.1\r\nHost: x\r\n\r\n", std::string(1024 * 1024, 'x')),
     414},
    {"a header that is too long", get_with(fmt::format("X: {}\r\n", std::string(70 * 1024, 'x'))), 431},
    {"a header of a mebibyte", get_with(fmt::format("X: {}\r\n", std::string(1024 * 1024, 'x'))), 431},
    {"too many headers", get_with(many_headers(300)), 431},
    {"50,000 headers", get_with(many_headers(50000)), 431},
    {"a body that is too large", post_with("Content-Length: 1048577\r\n", std::string(1048577, ' ')), 413},
    {"a length of the largest signed number", post_with("Content-Length: 9223372036854775807\r\n"), 413},
    {"a length of twenty gigabytes", post_with("Content-Length: 20000000000\r\n"), 413},
    {"a chunk that is too large", chunks(fmt::format("{:x}\r\n{}\r\n0\r\n\r\n", 1100000, std::string(1100000, ' '))),
     413},
};

} // namespace

// What can't be framed, or is too large: answered with its own status, once, and the connection ends, since where the
// next request would start is unknown.
BOOST_AUTO_TEST_SUITE(http_refusals)

BOOST_AUTO_TEST_CASE(a_request_that_can_not_be_framed_is_refused_once_and_nothing_behind_it_is_read) {
  service it;
  for (const auto& sample : refused_requests) {
    BOOST_TEST_CONTEXT(sample.name) {
      const auto replies = exchange(it.port(), sample.bytes + smuggled);
      BOOST_TEST(replies.size() == 1u);
      if (replies.empty())
        continue;
      BOOST_TEST(replies.front().status == sample.status, replies.front());
      BOOST_TEST(equals_ignoring_case(replies.front().header_text("Connection"), "close"), replies.front());
      BOOST_TEST(!replies.front().body_json()["detail"].text().empty());
      BOOST_TEST(listed_ids(it.api).empty());
    }
  }
  BOOST_TEST(is_alive(it.port()));
}

BOOST_FIXTURE_TEST_CASE(a_length_beyond_64_bits_is_refused, service) {
  std::vector<std::string> requests{chunks("FFFFFFFFFFFFFFF0\r\n{}\r\n")};
  for (const char* length : {"18446744073709551615", "18446744073709551616", "1000000000000000000000000000"})
    requests.push_back(post_with(fmt::format("Content-Length: {}\r\n", length)));
  for (const auto& request : requests) {
    const auto reply = only_response(port(), request + smuggled);
    BOOST_TEST((reply.status == 400 || reply.status == 413), reply);
    BOOST_TEST(reply.closes());
  }
  BOOST_TEST(listed_ids(api).empty());
}

BOOST_FIXTURE_TEST_CASE(a_large_length_alone_costs_no_memory, service) {
  register_instance(api, "warm-up");
  const auto before = process.resident_bytes();
  std::vector<connection> waiting;
  for (int i = 0; i < 100; ++i) {
    waiting.emplace_back(port());
    waiting.back().send(post_with("Content-Length: 1048576\r\n", "{"));
  }
  BOOST_TEST(is_alive(port()));
  BOOST_TEST(process.resident_bytes() < before + 20 * 1024 * 1024);
}

BOOST_FIXTURE_TEST_CASE(a_refusal_reaches_a_client_that_is_still_sending, service) {
  // Closing with unread bytes in the socket would reset the connection, and the response could be lost with it.
  for (int round = 0; round < 20; ++round) {
    const auto reply = only_response(port(), post_with("Content-Length: 8000000\r\n", std::string(8000000, ' ')));
    BOOST_TEST(reply.status == 413, reply);
  }
  BOOST_TEST(is_alive(port()));
}

BOOST_FIXTURE_TEST_CASE(what_was_complete_before_a_broken_request_is_answered_first, service) {
  const auto replies = exchange(port(), render_request("POST", "/instances", to_json({.instance_id = "a"}))
                                            + post_with("Content-Length: x\r\n"));
  BOOST_TEST_REQUIRE(replies.size() == 2u);
  BOOST_TEST(replies[0].status == 200);
  BOOST_TEST(replies[1].status == 400);
  BOOST_TEST(is_listed(api, "a"));
}

BOOST_FIXTURE_TEST_CASE(a_refusal_of_a_route_keeps_the_connection, service) {
  // These are framed well: only what they ask for is wrong.
  for (const auto& [method, target] : std::vector<std::pair<std::string, std::string>>{{"POST", "/nothing"},
                                                                                       {"POST", "/healthz"},
                                                                                       {"BREW", "/instances"},
                                                                                       {"POST", "/instances"},
                                                                                       {"GET", "/instances/%zz"}}) {
    connection raw{port()};
    raw.send(render_request(method, target, "not json") + render_request("GET", "/healthz"));
    const auto refusal = raw.read_response();
    BOOST_TEST(refusal.status >= 400);
    BOOST_TEST(refusal.status < 500);
    BOOST_TEST(!refusal.closes(), method << " " << target << " got " << refusal);
    BOOST_TEST(raw.read_response().body == R"({"status":"healthy"})");
  }
}

BOOST_FIXTURE_TEST_CASE(random_mutations_of_a_registration_harm_nobody, service) {
  const auto original =
      render_request("POST", "/instances", to_json({.instance_id = "a", .metadata = {{"zone", "x"}}}));
  std::mt19937 random{20240607}; // the same every time, so that a failure can be repeated
  const auto below = [&](std::size_t bound) {
    return std::uniform_int_distribution<std::size_t>{0, bound - 1}(random);
  };
  for (int round = 0; round < 2000; ++round) {
    auto bytes = original;
    for (auto edits = 1 + below(4); edits > 0; --edits) {
      const auto at = below(bytes.size());
      switch (below(4)) {
      case 0:
        bytes[at] = static_cast<char>(below(256));
        break;
      case 1:
        bytes.erase(at, 1 + below(8));
        break;
      case 2:
        bytes.insert(at, 1 + below(8), static_cast<char>(below(256)));
        break;
      case 3:
        bytes.insert(at, bytes.substr(below(bytes.size()), below(32)));
        break;
      }
    }
    connection raw{port()};
    raw.try_send(bytes);
    raw.finish_sending();
    for (const auto& reply : raw.read_responses_to_end(5s)) {
      const bool refusal_by_version = reply.status == 501 || reply.status == 505;
      BOOST_TEST((reply.status < 500 || refusal_by_version), "mutation " << round << ":\n"
                                                                         << bytes << "\ngot " << reply);
    }
  }
  BOOST_TEST(is_alive(port()));
}

BOOST_AUTO_TEST_SUITE_END()
