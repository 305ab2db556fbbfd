#include "http/request_parser.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <limits>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace http = coordinator::http;

using http::Code;
using http::Method;
using http::request_parser;
using http::Version;
using progress = request_parser::progress;

namespace {

/// Small, so that tests reach every bound with little input.
const http::request_limits small_limits{.request_line = 64, .header_section = 256, .header_count = 8, .body = 64};

/// Feeds a stream to a parser as a connection does, and keeps an account of what came of it.
class feeder {
public:
  feeder() = default;
  explicit feeder(const http::request_limits& limits) : parser_(limits) {}

  void feed(std::string_view piece) {
    buffer_ += piece;
    while (!failed_) {
      switch (parser_.parse(buffer_)) {
      case progress::need_more:
        return;
      case progress::head_complete:
        BOOST_TEST_REQUIRE(parser_.in_body());
        account_ += "head " + described_head() + (parser_.expects_continue() ? " continue" : "") + '\n';
        break;
      case progress::complete:
        BOOST_TEST_REQUIRE(!parser_.in_body());
        BOOST_TEST_REQUIRE(parser_.consumed() <= buffer_.size());
        account_ += "request " + described_head() + " body=" + std::string{parser_.result().body} + '\n';
        buffer_.erase(0, parser_.consumed());
        parser_.reset();
        if (buffer_.empty())
          return;
        break;
      case progress::failed:
        failed_ = true;
        account_ +=
            "error " + std::to_string(static_cast<int>(parser_.error().status)) + ' ' + parser_.error().detail + '\n';
        BOOST_TEST(!parser_.in_body());
        break;
      }
    }
  }

  /// Everything that came out, and whether something was left in the middle.
  std::string account() const { return account_ + (failed_ || !parser_.started() ? "" : "unfinished\n"); }

  const std::string& buffer() const { return buffer_; }

private:
  std::string described_head() const {
    const auto& request = parser_.result();
    auto result = (request.method ? std::to_string(static_cast<int>(*request.method)) : std::string{"?"}) + ' '
                  + std::string{request.target} + (request.version == Version::Http10 ? " 1.0" : " 1.1")
                  + (request.keep_alive ? " keep-alive" : " close");
    for (const auto& [name, value] : request.headers)
      result += " [" + std::string{name} + ": " + std::string{value} + ']';
    return result;
  }

  request_parser parser_;
  std::string buffer_;
  std::string account_;
  bool failed_ = false;
};

std::string account_of(std::string_view stream, const http::request_limits& limits = {}) {
  feeder whole{limits};
  whole.feed(stream);
  return whole.account();
}

/// A request that was parsed in one piece, with the buffer its views point into.
struct parsed_request {
  std::string buffer;
  request_parser parser;
  progress outcome = progress::need_more;

  explicit parsed_request(std::string text, const http::request_limits& limits = {})
      : buffer(std::move(text)), parser(limits) {
    outcome = parser.parse(buffer);
    if (outcome == progress::head_complete)
      outcome = parser.parse(buffer);
  }

  const http::request& request() const {
    BOOST_TEST_REQUIRE((outcome == progress::complete), parser.error().detail);
    return parser.result();
  }
};

/// The status a stream is refused with, 0 when it is accepted or not finished. A refusal must explain itself.
int refusal(std::string_view text, const http::request_limits& limits = {}) {
  parsed_request attempt{std::string{text}, limits};
  if (attempt.outcome != progress::failed)
    return 0;
  const auto& [status, detail] = attempt.parser.error();
  BOOST_TEST(detail.size() > 10);
  BOOST_TEST(detail.ends_with('.'));
  for (const char c : detail)
    BOOST_TEST((c >= ' ' && c < '\x7f'));
  BOOST_TEST((attempt.parser.parse(attempt.buffer) == progress::failed)); // for good
  return static_cast<int>(status);
}

/// A GET with further header lines, each with its line end.
std::string get_with(std::string_view headers) {
  return "GET / HTTP/1.1\r\nHost: h\r\n" + std::string{headers} + "\r\n";
}

std::string chunked(std::string_view body) {
  return "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n" + std::string{body};
}

std::string body_of(std::string_view chunks, const http::request_limits& limits = {}) {
  const parsed_request parsed{chunked(chunks), limits};
  return std::string{parsed.request().body};
}

std::string target_of(std::string_view text, std::string_view method = "GET") {
  const parsed_request parsed{std::string{method} + ' ' + std::string{text} + " HTTP/1.1\r\nHost: h\r\n\r\n"};
  return std::string{parsed.request().target};
}

int target_refusal(std::string_view text, std::string_view method = "GET") {
  return refusal(std::string{method} + ' ' + std::string{text} + " HTTP/1.1\r\nHost: h\r\n\r\n");
}

bool keeps_alive(std::string_view version, std::string_view headers) {
  const parsed_request parsed{"GET / " + std::string{version} + "\r\nHost: h\r\n" + std::string{headers} + "\r\n"};
  return parsed.request().keep_alive;
}

const std::vector<std::string> valid_streams{
    "GET / HTTP/1.1\r\nHost: h\r\n\r\n",
    "\r\n\r\nPUT /instances/a%2Fb/heartbeat HTTP/1.1\r\nHost: [::1]:9300\r\nIf-Match: \"1\"\r\nEmpty:\r\n\r\n",
    "DELETE http://coordinator:9300/instances/a HTTP/1.1\r\nhost: coordinator:9300\r\nConnection: close\r\n\r\n",
    "GET http://h?q HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
    "POST /instances HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nContent-Length: 17\r\n"
    "Expect: 100-continue\r\n\r\n{\"ip\":\"192.0.2.1\"",
    "POST /events HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
    "5\r\nhello\r\n6;a=b;c=\"d e\"\r\n world\r\n00F\r\n\r\n0\r\n\r\nGET /a\r\n\r\n0\r\nChecksum: "
    "1\r\nOther:\r\n\r\n",
    // a pipeline of all kinds of framing
    "GET /1 HTTP/1.1\r\nHost: h\r\n\r\nPOST /2 HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc\r\n"
    "POST /3 HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n2\r\nyz\r\n0\r\n\r\n"
    "POST /4 HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
    "BREW /5 HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\nHEAD /6 HTTP/1.0\r\n\r\n",
};

} // namespace

BOOST_AUTO_TEST_SUITE(http_request_parser_test)

// The request line

BOOST_AUTO_TEST_CASE(a_request_is_method_target_version_and_headers) {
  const parsed_request parsed{"PUT /instances/a%2Fb?x=1 HTTP/1.1\r\nHost: h\r\nX-A:  b c \t\r\n\r\n"};
  const auto& request = parsed.request();
  BOOST_TEST((request.method == Method::Put));
  BOOST_TEST(request.target == "/instances/a%2Fb?x=1");
  BOOST_TEST((request.version == Version::Http11));
  BOOST_TEST(request.headers.size() == 2u);
  BOOST_TEST(request.header_value("x-a") == "b c");
  BOOST_TEST(request.body.empty());
  BOOST_TEST(request.keep_alive);
  BOOST_TEST(parsed.parser.consumed() == parsed.buffer.size());
}

BOOST_AUTO_TEST_CASE(every_standard_method_is_known_and_case_matters) {
  const auto method_of = [](std::string_view name) {
    const parsed_request parsed{std::string{name} + " /a HTTP/1.1\r\nHost: h\r\n\r\n"};
    return parsed.request().method;
  };
  BOOST_TEST((method_of("GET") == Method::Get));
  BOOST_TEST((method_of("HEAD") == Method::Head));
  BOOST_TEST((method_of("POST") == Method::Post));
  BOOST_TEST((method_of("PUT") == Method::Put));
  BOOST_TEST((method_of("DELETE") == Method::Delete));
  BOOST_TEST((method_of("PATCH") == Method::Patch));
  BOOST_TEST((method_of("OPTIONS") == Method::Options));
  BOOST_TEST((method_of("TRACE") == Method::Trace));
  BOOST_TEST(!method_of("get"));
  BOOST_TEST(!method_of("BREW"));
  BOOST_TEST(!method_of("M-SEARCH!#$%&'*+.^_`|~9"));
}

BOOST_AUTO_TEST_CASE(a_method_that_is_no_token_is_refused) {
  for (const auto* method : {"", "G(T", "GET,", "G\tT", "G\x80", "\x16\x03\x01", " GET", "{}", "\"GET\""})
    BOOST_TEST(refusal(std::string{method} + " / HTTP/1.1\r\nHost: h\r\n\r\n") == 400, method);
}

BOOST_AUTO_TEST_CASE(what_can_not_begin_a_request_is_refused_at_its_first_byte) {
  for (const auto* text : {"\x16", "\n", "{", " ", "\x80", "\rG"})
    BOOST_TEST(refusal(text) == 400);
}

BOOST_AUTO_TEST_CASE(exactly_one_blank_separates_the_parts_of_the_request_line) {
  for (const auto* line : {"GET", "GET ", "GET /", "GET / ", "GET  / HTTP/1.1", "GET /  HTTP/1.1", "GET / HTTP/1.1 ",
                           "GET\t/ HTTP/1.1", "GET /\tHTTP/1.1", "GET /a b HTTP/1.1", "GET/ HTTP/1.1", "/ HTTP/1.1"})
    BOOST_TEST(refusal(std::string{line} + "\r\nHost: h\r\n\r\n") == 400, line);
}

BOOST_AUTO_TEST_CASE(a_later_minor_version_is_treated_as_1_1) {
  BOOST_TEST((parsed_request{"GET / HTTP/1.0\r\n\r\n"}.request().version == Version::Http10));
  BOOST_TEST((parsed_request{"GET / HTTP/1.1\r\nHost:h\r\n\r\n"}.request().version == Version::Http11));
  BOOST_TEST((parsed_request{"GET / HTTP/1.9\r\nHost:h\r\n\r\n"}.request().version == Version::Http11));
}

BOOST_AUTO_TEST_CASE(other_major_versions_are_not_supported) {
  for (const auto* version : {"HTTP/2.0", "HTTP/0.9", "HTTP/3.1", "HTTP/2"})
    BOOST_TEST(refusal("GET / " + std::string{version} + "\r\nHost: h\r\n\r\n") == 505, version);
  BOOST_TEST(refusal("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n") == 505);
}

BOOST_AUTO_TEST_CASE(what_is_no_version_is_a_bad_request) {
  for (const auto* version : {"HTTP/1", "HTTP/1.", "HTTP/.1", "HTTP/1.1.1", "HTTP/11.1", "HTTP/1.10", "HTTP/a.b",
                              "http/1.1", "HTTP 1.1", "HTTPS/1.1", "HTTP/1,1", "HTTP/-1.1", "1.1", "HTTP/"})
    BOOST_TEST(refusal("GET / " + std::string{version} + "\r\nHost: h\r\n\r\n") == 400, version);
}

BOOST_AUTO_TEST_CASE(a_request_line_past_its_bound_is_refused_at_once) {
  const auto line = [](std::size_t length) { return "GET /" + std::string(length - 14, 'a') + " HTTP/1.1"; };
  BOOST_TEST(refusal(line(64) + "\r\nHost: h\r\n\r\n", small_limits) == 0);
  BOOST_TEST(refusal(line(65) + "\r\nHost: h\r\n\r\n", small_limits) == 414);
  BOOST_TEST(refusal("GET /" + std::string(1024 * 1024, 'a')) == 414); // no end in sight
  BOOST_TEST(refusal(std::string(67, 'G'), small_limits) == 414);
  BOOST_TEST(refusal(std::string(66, 'G'), small_limits) == 0);
}

BOOST_AUTO_TEST_CASE(a_few_empty_lines_before_a_request_are_skipped) {
  const parsed_request parsed{"\r\n\r\n\r\n\r\nGET /a HTTP/1.1\r\nHost: h\r\n\r\n"};
  BOOST_TEST(parsed.request().target == "/a");
  BOOST_TEST(parsed.parser.consumed() == parsed.buffer.size());
  BOOST_TEST(refusal("\r\n\r\n\r\n\r\n\r\n") == 400);
}

BOOST_AUTO_TEST_CASE(a_request_has_started_with_its_first_byte_after_empty_lines) {
  request_parser parser;
  std::string buffer;
  for (const auto* quiet : {"", "\r", "\n", "\r", "\n"}) {
    buffer += quiet;
    BOOST_TEST((parser.parse(buffer) == progress::need_more));
    BOOST_TEST(!parser.started());
  }
  buffer += 'G';
  BOOST_TEST((parser.parse(buffer) == progress::need_more));
  BOOST_TEST(parser.started());
  parser.reset();
  BOOST_TEST(!parser.started());
}

// The target

BOOST_AUTO_TEST_CASE(a_target_in_origin_form_is_kept_as_it_is) {
  for (const auto* text : {"/", "/a?b", "//a///b/", "/%zz", "/a#b", "/~!$&'()*+,;=:@[]{}|^\"<>\\`"})
    BOOST_TEST(target_of(text) == text);
}

BOOST_AUTO_TEST_CASE(a_target_in_absolute_form_is_cut_down_to_origin_form) {
  BOOST_TEST(target_of("http://h/p?q") == "/p?q");
  BOOST_TEST(target_of("HTTPS://h:9300/p/") == "/p/");
  BOOST_TEST(target_of("http://h") == "/");
  BOOST_TEST(target_of("http://h/") == "/");
  BOOST_TEST(target_of("http://h?q=1/2") == "/?q=1/2");
  BOOST_TEST(target_of("http://[::1]:9300?q") == "/?q");
  BOOST_TEST(target_of("http://u@h//p") == "//p");
  BOOST_TEST(target_of("http://h/http://other/") == "/http://other/");
}

BOOST_AUTO_TEST_CASE(other_targets_are_refused) {
  for (const auto* text : {"http://", "http:///p", "http://?q", "http:/p", "http:p", "ftp://h/p", "://h/p", "a", "?q",
                           "#", "h:9300", "a/b", "*a", "**"})
    BOOST_TEST(target_refusal(text) == 400, text);
}

BOOST_AUTO_TEST_CASE(a_target_is_visible_ascii) {
  for (const auto* text : {"/\x01", "/\x7f", "/\x80", "/\xc3\xa4", "/\t", "http://h/\x1f", "/a\rb"})
    BOOST_TEST(target_refusal(text) == 400);
  BOOST_TEST(target_refusal(std::string_view{"/\0", 2}) == 400);
}

BOOST_AUTO_TEST_CASE(a_star_is_for_options_only) {
  BOOST_TEST(target_of("*", "OPTIONS") == "*");
  BOOST_TEST(target_refusal("*", "GET") == 400);
  BOOST_TEST(target_refusal("*", "BREW") == 400);
}

BOOST_AUTO_TEST_CASE(the_authority_of_connect_is_kept_as_it_is) {
  BOOST_TEST(target_of("h:9300", "CONNECT") == "h:9300");
}

// Header lines

BOOST_AUTO_TEST_CASE(a_line_feed_alone_does_not_end_a_line) {
  for (const auto* text : {"GET / HTTP/1.1\nHost: h\r\n\r\n", "GET / HTTP/1.1\r\nHost: h\n\r\n",
                           "GET / HTTP/1.1\r\nHost: h\r\n\n", "\nGET / HTTP/1.1\r\nHost: h\r\n\r\n",
                           "GET / HTTP/1.1\r\n\nHost: h\r\n\r\n", "GET / HTTP/1.1\r\nHost: h\r\nA: b\nC: d\r\n\r\n"})
    BOOST_TEST(refusal(text) == 400, text);
}

BOOST_AUTO_TEST_CASE(a_carriage_return_alone_is_refused) {
  for (const auto* text : {"GET / HTTP/1.1\rHost: h\r\n\r\n", "GET / HTTP/1.1\r\nHost: h\rA: b\r\n\r\n",
                           "GET / HTTP/1.1\r\r\nHost: h\r\n\r\n", "GET / HTTP/1.1\r\nHost: h\r\r\n\r\n",
                           "GET / HTTP/1.1\r\nHost: h\r\n\r\r\n", "GET / HTTP/1.1\r\nHost: h\r\nA\r: b\r\n\r\n"})
    BOOST_TEST(refusal(text) == 400, text);
}

BOOST_AUTO_TEST_CASE(a_header_line_is_a_token_a_colon_and_a_value) {
  for (const auto* line : {"A : b", "A\t: b", " A: b", "\tA: b", ": b", "A", "A b", " ", "A b: c", "A(: b", "A\x80: b",
                           "\"A\": b", "A\x01: b"})
    BOOST_TEST(refusal(get_with(std::string{line} + "\r\n")) == 400, line);
}

BOOST_AUTO_TEST_CASE(a_refusal_names_the_mistake) {
  const auto detail = [](const std::string& header_line) {
    const parsed_request parsed{get_with(header_line + "\r\n")};
    return parsed.parser.error().detail;
  };
  BOOST_TEST(detail("A : b") == "A header name is followed by a blank instead of its colon.");
  BOOST_TEST(detail(" A: b") == "A header line begins with a blank; header lines can't be folded.");
  BOOST_TEST(detail("A") == "A header line has no colon.");
  BOOST_TEST(detail("Host: g") == "The request has several Host headers.");
}

BOOST_AUTO_TEST_CASE(header_lines_can_not_be_folded) {
  BOOST_TEST(refusal(get_with("A: b\r\n c\r\n")) == 400);
  BOOST_TEST(refusal(get_with("A: b\r\n\tc: d\r\n")) == 400);
  BOOST_TEST(refusal("GET / HTTP/1.1\r\n Host: h\r\n\r\n") == 400);
}

BOOST_AUTO_TEST_CASE(a_header_value_holds_no_control_characters) {
  for (int c = 0; c < 256; ++c) {
    const bool control = (c < 0x20 && c != '\t') || c == 0x7f;
    const auto line = std::string{"A: b"} + static_cast<char>(c) + "c\r\n";
    BOOST_TEST(refusal(get_with(line)) == (control ? 400 : 0), c);
  }
}

BOOST_AUTO_TEST_CASE(a_header_value_loses_the_blanks_around_it_only) {
  const parsed_request parsed{get_with("A:b\r\nB: \t b \t c\t \r\nC:\r\nD: \t\r\nE: a:b\r\nF: \xc3\xa4\r\n")};
  const auto& request = parsed.request();
  BOOST_TEST(request.header_value("A") == "b");
  BOOST_TEST(request.header_value("B") == "b \t c");
  BOOST_TEST(request.header_value("C").empty());
  BOOST_TEST(request.header_value("D").empty());
  BOOST_TEST(request.header_value("E") == "a:b");
  BOOST_TEST(request.header_value("F") == "\xc3\xa4");
}

BOOST_AUTO_TEST_CASE(a_header_section_past_its_bound_is_refused_at_once) {
  const auto section = [](std::size_t length) { // "Host: h\r\n" and one more line
    return "GET / HTTP/1.1\r\nHost: h\r\nA: " + std::string(length - 14, 'a') + "\r\n\r\n";
  };
  BOOST_TEST(refusal(section(256), small_limits) == 0);
  BOOST_TEST(refusal(section(257), small_limits) == 431);
  BOOST_TEST(refusal(section(258), small_limits) == 431);
  BOOST_TEST(refusal("GET / HTTP/1.1\r\nHost: h\r\nA: " + std::string(1024 * 1024, 'a')) == 431); // no end in sight
}

BOOST_AUTO_TEST_CASE(too_many_header_lines_are_refused) {
  const auto lines = [](std::size_t count) {
    std::string result;
    for (std::size_t i = 0; i < count; ++i)
      result += "A: b\r\n";
    return result;
  };
  BOOST_TEST(refusal(get_with(lines(7)), small_limits) == 0);
  BOOST_TEST(refusal(get_with(lines(8)), small_limits) == 431);
  BOOST_TEST(refusal(get_with(lines(50'000))) == 431);
}

BOOST_AUTO_TEST_CASE(one_host_header_is_needed_in_http_1_1) {
  BOOST_TEST(refusal("GET / HTTP/1.1\r\n\r\n") == 400);
  BOOST_TEST(refusal("GET http://h/ HTTP/1.1\r\n\r\n") == 400);
  BOOST_TEST(refusal("GET / HTTP/1.0\r\n\r\n") == 0);
  BOOST_TEST(refusal("GET / HTTP/1.1\r\nHost: h\r\nhost: h\r\n\r\n") == 400);
  BOOST_TEST(refusal("GET / HTTP/1.0\r\nHost: h\r\nhost: h\r\n\r\n") == 400);
}

BOOST_AUTO_TEST_CASE(a_host_is_a_name_or_an_address_with_an_optional_port) {
  for (const auto* host : {"", "h", "coordinator.example:9300", "192.0.2.1", "[2001:db8::1]:9300", "[fe80::1%25eth0]",
                           "h:", "a_b-c~d", "h%41"})
    BOOST_TEST(refusal("GET / HTTP/1.1\r\nHost: " + std::string{host} + "\r\n\r\n") == 0, host);
  for (const auto* host : {"a b", "a/b", "http://h", "u@h", "h:x", "h:1:2", "::1", "[::1", "[]", "[::1]x", "[::1]:x",
                           "[[::1]]", "h?", "h#", "h\\", "\xc3\xa4", "<h>"})
    BOOST_TEST(refusal("GET / HTTP/1.1\r\nHost: " + std::string{host} + "\r\n\r\n") == 400, host);
}

BOOST_AUTO_TEST_CASE(headers_that_are_none_of_its_business_do_not_disturb_the_parser) {
  BOOST_TEST(refusal(get_with("Cookie: ;;==\r\nDate: never\r\nCache-Control: max-age=x\r\nAccept: ///\r\n"
                              "Content-Type: ?\r\nAuthorization: \xff\r\n"))
             == 0);
}

// Connection and Expect

BOOST_AUTO_TEST_CASE(a_connection_persists_by_default_in_1_1_and_ends_in_1_0) {
  BOOST_TEST(keeps_alive("HTTP/1.1", ""));
  BOOST_TEST(!keeps_alive("HTTP/1.0", ""));
}

BOOST_AUTO_TEST_CASE(the_connection_header_is_a_list_without_case_in_which_close_wins) {
  BOOST_TEST(keeps_alive("HTTP/1.0", "Connection: keep-alive\r\n"));
  BOOST_TEST(keeps_alive("HTTP/1.0", "connection: Foo ,, KEEP-ALIVE\r\n"));
  BOOST_TEST(!keeps_alive("HTTP/1.0", "Connection: keep-alive-not\r\n"));
  BOOST_TEST(keeps_alive("HTTP/1.1", "Connection: Upgrade, closed\r\n"));
  for (const auto* version : {"HTTP/1.0", "HTTP/1.1"})
    for (const auto* headers : {"Connection: close\r\n", "Connection: CLOSE\r\n", "Connection: keep-alive, close\r\n",
                                "Connection: close, keep-alive\r\n", "Connection: close\r\nConnection: keep-alive\r\n",
                                "Connection: keep-alive\r\nConnection: ,close\t,\r\n"})
      BOOST_TEST(!keeps_alive(version, headers), version << ' ' << headers);
}

BOOST_AUTO_TEST_CASE(a_client_that_waits_for_100_continue_is_noticed_once_its_head_is_in) {
  std::string buffer = "POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-Continue\r\nContent-Length: 3\r\n\r\n";
  request_parser parser;
  BOOST_TEST(!parser.expects_continue());
  BOOST_TEST_REQUIRE((parser.parse(buffer) == progress::head_complete));
  BOOST_TEST(parser.expects_continue());
  BOOST_TEST((parser.parse(buffer) == progress::need_more));
  BOOST_TEST(parser.expects_continue());
  buffer += "abc";
  BOOST_TEST((parser.parse(buffer) == progress::complete));
  BOOST_TEST(!parser.expects_continue());
}

BOOST_AUTO_TEST_CASE(chunked_bodies_can_be_waited_with_too) {
  std::string buffer = "POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nTransfer-Encoding: chunked\r\n\r\n";
  request_parser parser;
  BOOST_TEST_REQUIRE((parser.parse(buffer) == progress::head_complete));
  BOOST_TEST(parser.expects_continue());
}

BOOST_AUTO_TEST_CASE(nobody_waits_for_100_continue_in_1_0_or_without_a_body) {
  std::string buffer = "POST / HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n";
  request_parser parser;
  BOOST_TEST_REQUIRE((parser.parse(buffer) == progress::head_complete));
  BOOST_TEST(!parser.expects_continue());
  const parsed_request without_body{get_with("Expect: 100-continue\r\n")};
  BOOST_TEST(without_body.request().body.empty());
  BOOST_TEST(!without_body.parser.expects_continue());
}

BOOST_AUTO_TEST_CASE(other_expectations_can_not_be_met) {
  BOOST_TEST(refusal(get_with("Expect: magic\r\n")) == 417);
  BOOST_TEST(refusal(get_with("Expect: 100-continue, magic\r\n")) == 417);
  BOOST_TEST(refusal(get_with("Expect: 100-continued\r\n")) == 417);
  BOOST_TEST(refusal(get_with("Expect: , 100-continue\r\n")) == 0);
  BOOST_TEST(refusal(get_with("Expect:\r\n")) == 0);
}

// Bodies with a length

BOOST_AUTO_TEST_CASE(a_body_of_a_known_length_is_a_view_into_the_buffer) {
  std::string buffer = "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhelloGET";
  request_parser parser;
  BOOST_TEST_REQUIRE((parser.parse(buffer) == progress::head_complete));
  BOOST_TEST(parser.result().target == "/");
  BOOST_TEST(parser.result().body.empty());
  BOOST_TEST_REQUIRE((parser.parse(buffer) == progress::complete));
  BOOST_TEST(parser.result().body == "hello");
  BOOST_TEST(static_cast<const void*>(parser.result().body.data()) == buffer.data() + buffer.size() - 8);
  BOOST_TEST(parser.consumed() == buffer.size() - 3);
}

BOOST_AUTO_TEST_CASE(a_request_without_a_body_is_complete_with_its_head) {
  for (const auto* headers : {"", "Content-Length: 0\r\n", "Content-Length: 000\r\n"}) {
    auto buffer = get_with(headers);
    request_parser parser;
    BOOST_TEST((parser.parse(buffer) == progress::complete));
    BOOST_TEST(parser.result().body.empty());
  }
}

BOOST_AUTO_TEST_CASE(any_method_may_have_a_body) {
  for (const auto* method : {"GET", "HEAD", "DELETE", "OPTIONS", "BREW"}) {
    const parsed_request parsed{std::string{method} + " / HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\nab"};
    BOOST_TEST(parsed.request().body == "ab");
  }
}

BOOST_AUTO_TEST_CASE(a_body_is_any_bytes) {
  std::string body;
  for (int c = 0; c < 256; ++c)
    body += static_cast<char>(c);
  const parsed_request parsed{get_with("Content-Length: 256\r\n") + body};
  BOOST_TEST(parsed.request().body == body);
}

BOOST_AUTO_TEST_CASE(a_length_that_is_no_decimal_number_is_refused) {
  for (const auto* length : {"", "-1", "+5", "5abc", "abc", "1e3", "0x10", "5.0", "5 5", "5,5", "5, 5", "5;", "\"5\"",
                             "18446744073709551616x", "\xd9\xa3"})
    BOOST_TEST(refusal(get_with("Content-Length: " + std::string{length} + "\r\n") + "hello") == 400, length);
}

BOOST_AUTO_TEST_CASE(several_lengths_are_refused_even_when_they_agree) {
  BOOST_TEST(refusal(get_with("Content-Length: 5\r\nContent-Length: 5\r\n") + "hello") == 400);
  BOOST_TEST(refusal(get_with("Content-Length: 5\r\ncontent-length: 6\r\n") + "hello") == 400);
  BOOST_TEST(refusal(get_with("Content-Length: 0\r\nContent-Length: 0\r\n")) == 400);
}

BOOST_AUTO_TEST_CASE(a_length_over_the_bound_is_refused_whatever_its_size) {
  for (const auto* length : {"65", "20000000000", "200000000000000", "9223372036854775807", "9223372036854775808",
                             "18446744073709551615", "18446744073709551616", "18446744073709551620",
                             "1000000000000000000000000000", "00000000000000000000000000000000000065"})
    BOOST_TEST(refusal(get_with("Content-Length: " + std::string{length} + "\r\n"), small_limits) == 413, length);
  BOOST_TEST(refusal(get_with("Content-Length: 64\r\n") + std::string(64, 'a'), small_limits) == 0);
  BOOST_TEST(refusal(get_with("Content-Length: 0000000000000000000000000000064\r\n"), small_limits) == 0);
}

BOOST_AUTO_TEST_CASE(a_head_is_reported_before_its_length_is_held_against_the_bound) {
  auto buffer = get_with("Content-Length: 65\r\n");
  request_parser parser{small_limits};
  BOOST_TEST((parser.parse(buffer) == progress::head_complete));
  BOOST_TEST(parser.in_body());
  BOOST_TEST((parser.parse(buffer) == progress::failed));
  BOOST_TEST((parser.error().status == Code::Request_Entity_Too_Large));
  BOOST_TEST(parser.error().detail.find("64") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_route_may_raise_the_bound_on_a_body) {
  auto buffer = get_with("Content-Length: 65\r\n") + std::string(65, 'a');
  request_parser parser{small_limits};
  BOOST_TEST_REQUIRE((parser.parse(buffer) == progress::head_complete));
  parser.limit_body(65);
  BOOST_TEST((parser.parse(buffer) == progress::complete));
  BOOST_TEST(parser.result().body.size() == 65u);
}

BOOST_AUTO_TEST_CASE(a_route_may_lower_the_bound_on_a_body) {
  auto buffer = get_with("Content-Length: 3\r\n");
  request_parser parser{small_limits};
  BOOST_TEST_REQUIRE((parser.parse(buffer) == progress::head_complete));
  parser.limit_body(2);
  BOOST_TEST((parser.parse(buffer) == progress::failed));
  BOOST_TEST((parser.error().status == Code::Request_Entity_Too_Large));
}

BOOST_AUTO_TEST_CASE(a_bound_that_a_route_chose_ends_with_its_request) {
  const auto request = get_with("Content-Length: 65\r\n") + std::string(65, 'a');
  auto buffer = request;
  request_parser parser{small_limits};
  BOOST_TEST_REQUIRE((parser.parse(buffer) == progress::head_complete));
  parser.limit_body(65);
  BOOST_TEST_REQUIRE((parser.parse(buffer) == progress::complete));
  parser.reset();
  buffer = request;
  BOOST_TEST_REQUIRE((parser.parse(buffer) == progress::head_complete));
  BOOST_TEST((parser.parse(buffer) == progress::failed));
}

BOOST_AUTO_TEST_CASE(no_memory_is_set_aside_for_a_length_that_is_only_declared) {
  auto buffer = get_with("Content-Length: 18446744073709551615\r\n");
  const auto capacity = buffer.capacity();
  request_parser parser;
  BOOST_TEST_REQUIRE((parser.parse(buffer) == progress::head_complete));
  parser.limit_body(std::numeric_limits<std::size_t>::max());
  BOOST_TEST((parser.parse(buffer) == progress::need_more));
  BOOST_TEST(buffer.capacity() == capacity);
}

// Chunked bodies

BOOST_AUTO_TEST_CASE(chunks_are_joined_in_place) {
  auto buffer = chunked("5\r\nhello\r\n6\r\n world\r\n0\r\n\r\nGET");
  const auto* start = buffer.data();
  request_parser parser;
  BOOST_TEST_REQUIRE((parser.parse(buffer) == progress::head_complete));
  BOOST_TEST((parser.parse(buffer) == progress::complete));
  BOOST_TEST(parser.result().body == "hello world");
  BOOST_TEST(buffer.substr(parser.consumed()) == "GET");
  BOOST_TEST(static_cast<const void*>(buffer.data()) == start);
  const auto* body = parser.result().body.data();
  BOOST_TEST((body >= start && body < start + buffer.size()));
}

BOOST_AUTO_TEST_CASE(a_chunk_size_is_hexadecimal_in_either_case) {
  BOOST_TEST(body_of("a\r\n0123456789\r\n0A\r\n0123456789\r\n0\r\n\r\n") == "01234567890123456789");
  BOOST_TEST(body_of("0000000000000001\r\nx\r\n0000000000000000\r\n\r\n") == "x");
}

BOOST_AUTO_TEST_CASE(a_chunked_body_may_be_empty) {
  auto buffer = chunked("0\r\n\r\n");
  request_parser parser;
  BOOST_TEST((parser.parse(buffer) == progress::head_complete));
  BOOST_TEST((parser.parse(buffer) == progress::complete));
  BOOST_TEST(parser.result().body.empty());
}

BOOST_AUTO_TEST_CASE(chunk_data_may_look_like_framing) {
  BOOST_TEST(body_of("7\r\n\r\n0\r\n\r\n\r\n1\r\n\n\r\n0\r\n\r\n") == "\r\n0\r\n\r\n\n");
}

BOOST_AUTO_TEST_CASE(chunk_extensions_and_trailers_are_skipped) {
  BOOST_TEST(body_of("1;a\r\nx\r\n1 ; a = \"b;c\"\r\ny\r\n0;last\r\nA: b\r\nContent-Length: 7\r\nHost: z\r\n\r\n")
             == "xy");
  const parsed_request parsed{chunked("0\r\nA: b\r\n\r\n")};
  BOOST_TEST(!parsed.request().has_header("A"));
}

BOOST_AUTO_TEST_CASE(what_is_no_chunk_size_is_refused) {
  for (const auto* chunks : {"\r\n", "g\r\n", "-1\r\nx", "+1\r\nx", " 1\r\nx", "0x1\r\nx", "1x\r\nx", "1 \r\nx",
                             "1 x\r\nx", "1,\r\nx", ";a\r\n", "1;\x01\r\nx", "1;a\rb\r\nx", "1\r\r\nx", "\xff\r\n",
                             "5\nhello", "1;a\nx", "0\n\r\n", "00000000000000001\r\nx"})
    BOOST_TEST(refusal(chunked(chunks)) == 400, chunks);
}

BOOST_AUTO_TEST_CASE(chunk_data_ends_with_a_line_end) {
  for (const auto* chunks : {"1\r\nxx", "1\r\nx\n", "1\r\nx\rx", "1\r\nx0\r\n", "1\r\nx\r\r\n"})
    BOOST_TEST(refusal(chunked(chunks)) == 400, chunks);
}

BOOST_AUTO_TEST_CASE(a_carriage_return_in_chunk_data_ends_no_line_after_it) {
  auto buffer = chunked("1\r\n\r\r\n");
  request_parser parser;
  BOOST_TEST_REQUIRE((parser.parse(buffer) == progress::head_complete));
  BOOST_TEST_REQUIRE((parser.parse(buffer) == progress::need_more));
  buffer += '\n'; // right behind the decoded carriage return by now
  BOOST_TEST((parser.parse(buffer) == progress::failed));
  BOOST_TEST(parser.error().detail.find("line feed alone") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_trailer_line_is_as_strict_as_a_header_line) {
  for (const auto* trailer : {"A", "A : b", " A: b", ": b", "A: \x01", "A: b\n", "A: b\rC"})
    BOOST_TEST(refusal(chunked("0\r\n" + std::string{trailer} + "\r\n\r\n")) == 400, trailer);
}

BOOST_AUTO_TEST_CASE(chunks_over_the_bound_are_refused_as_soon_as_their_size_is_known) {
  for (const auto* chunks : {"41\r\n", "FFFFFFFFFFFFFFF0\r\n", "ffffffffffffffff\r\n", "8000000000000000\r\n"})
    BOOST_TEST(refusal(chunked(chunks), small_limits) == 413, chunks);
  const auto first = "3F\r\n" + std::string(63, 'a') + "\r\n";
  BOOST_TEST(refusal(chunked(first + "2\r\n"), small_limits) == 413);
  BOOST_TEST(refusal(chunked(first + "FFFFFFFFFFFFFFC1\r\n"), small_limits) == 413); // 2^64 in all
  BOOST_TEST(refusal(chunked(first + "1\r\nb\r\n0\r\n\r\n"), small_limits) == 0);
  BOOST_TEST(refusal(chunked("FFFFFFFFFFFFFFFF0\r\n"), small_limits) == 400); // does not fit 64 bits
}

BOOST_AUTO_TEST_CASE(a_route_may_change_the_bound_on_a_chunked_body) {
  for (const auto& [bound, expected] : {std::pair<std::size_t, progress>{4, progress::failed},
                                        {5, progress::complete},
                                        {std::numeric_limits<std::size_t>::max(), progress::complete}}) {
    auto buffer = chunked("3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n");
    request_parser parser{{.body = 1}};
    BOOST_TEST_REQUIRE((parser.parse(buffer) == progress::head_complete));
    parser.limit_body(bound);
    BOOST_TEST((parser.parse(buffer) == expected));
  }
}

BOOST_AUTO_TEST_CASE(a_bound_below_what_has_arrived_is_over_at_the_next_chunk) {
  auto buffer = chunked("3\r\nabc\r\n");
  request_parser parser;
  BOOST_TEST_REQUIRE((parser.parse(buffer) == progress::head_complete));
  BOOST_TEST_REQUIRE((parser.parse(buffer) == progress::need_more));
  parser.limit_body(2);
  buffer += "1\r\nd\r\n0\r\n\r\n";
  BOOST_TEST((parser.parse(buffer) == progress::failed));
  BOOST_TEST((parser.error().status == Code::Request_Entity_Too_Large));
}

BOOST_AUTO_TEST_CASE(chunk_extensions_and_trailers_share_a_bound) {
  const auto extension = [](std::size_t length) { return ';' + std::string(length - 1, 'a'); };
  const auto trailer = [](std::size_t length) { return "A:" + std::string(length - 4, 'a') + "\r\n"; };
  const auto status = [](const std::string& chunks) { return refusal(chunked(chunks), small_limits); };
  BOOST_TEST(status("0" + extension(256) + "\r\n\r\n") == 0);
  BOOST_TEST(status("0" + extension(257) + "\r\n\r\n") == 431);
  BOOST_TEST(status("1" + extension(200) + "\r\nx\r\n0" + extension(56) + "\r\n\r\n") == 0);
  BOOST_TEST(status("1" + extension(200) + "\r\nx\r\n0" + extension(57) + "\r\n\r\n") == 431);
  BOOST_TEST(status("0\r\n" + trailer(256) + "\r\n") == 0);
  BOOST_TEST(status("0\r\n" + trailer(257) + "\r\n") == 431);
  BOOST_TEST(status("0\r\n" + trailer(200) + trailer(56) + "\r\n") == 0);
  BOOST_TEST(status("0\r\n" + trailer(200) + trailer(57) + "\r\n") == 431);
  BOOST_TEST(status("0" + extension(200) + "\r\n" + trailer(56) + "\r\n") == 0);
  BOOST_TEST(status("0" + extension(200) + "\r\n" + trailer(57) + "\r\n") == 431);
  BOOST_TEST(status("1;" + std::string(300, 'a')) == 431);     // no end in sight
  BOOST_TEST(status("0\r\nA" + std::string(300, 'a')) == 431); // no end in sight
}

BOOST_AUTO_TEST_CASE(too_many_trailer_lines_are_refused) {
  std::string chunks = "0\r\n";
  for (std::size_t i = 0; i < small_limits.header_count; ++i)
    chunks += "A:\r\n";
  BOOST_TEST(refusal(chunked(chunks + "\r\n"), small_limits) == 0);
  BOOST_TEST(refusal(chunked(chunks + "A:\r\n\r\n"), small_limits) == 431);
}

// Which framing counts

BOOST_AUTO_TEST_CASE(a_length_and_a_transfer_encoding_exclude_each_other) {
  BOOST_TEST(refusal(get_with("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n") + "0\r\n\r\n") == 400);
  BOOST_TEST(refusal(get_with("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n") + "0\r\n\r\n") == 400);
  BOOST_TEST(refusal(get_with("Transfer-Encoding: gzip\r\nContent-Length: 0\r\n")) == 400);
}

BOOST_AUTO_TEST_CASE(chunked_is_the_only_transfer_encoding) {
  BOOST_TEST(refusal(get_with("Transfer-Encoding: CHUNKED\r\n") + "0\r\n\r\n") == 0);
  for (const auto* coding : {"", "identity", "gzip", "gzip, chunked", "chunked, gzip", "chunked, chunked", "chunked,",
                             "chunked;a=b", "xchunked", "chunked x", "\"chunked\""})
    BOOST_TEST(refusal(get_with("Transfer-Encoding: " + std::string{coding} + "\r\n") + "0\r\n\r\n") == 501, coding);
  BOOST_TEST(refusal(get_with("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n") + "0\r\n\r\n") == 501);
  BOOST_TEST(refusal(get_with("Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n") + "0\r\n\r\n") == 501);
}

BOOST_AUTO_TEST_CASE(a_transfer_encoding_is_refused_in_1_0) {
  BOOST_TEST(refusal("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n") == 400);
  BOOST_TEST(refusal("POST / HTTP/1.0\r\nTransfer-Encoding: gzip\r\n\r\n") == 400);
}

BOOST_AUTO_TEST_CASE(a_hidden_framing_header_is_refused_rather_than_missed) {
  for (const auto* headers : {"Content-Length : 5\r\n", "Content-Length\t: 5\r\n", "X: y\r\n Content-Length: 5\r\n",
                              "Content-Length\r\n: 5\r\n", "Content\rLength: 5\r\n", "X: y\nContent-Length: 5\r\n",
                              "X: y\rContent-Length: 5\r\n", "Transfer-Encoding\x0b: chunked\r\n",
                              "Transfer-Encoding: \x0b"
                              "chunked\r\n",
                              "Transfer-Encoding : chunked\r\n"})
    BOOST_TEST(refusal(get_with(headers) + "hello") == 400, headers);
}

// Streams

BOOST_AUTO_TEST_CASE(pipelined_requests_come_out_in_order) {
  BOOST_TEST(account_of(valid_streams.back())
             == "request 1 /1 1.1 keep-alive [Host: h] body=\n"
                "head 2 /2 1.1 keep-alive [Host: h] [Content-Length: 3]\n"
                "request 2 /2 1.1 keep-alive [Host: h] [Content-Length: 3] body=abc\n"
                "head 2 /3 1.1 keep-alive [Host: h] [Transfer-Encoding: chunked]\n"
                "request 2 /3 1.1 keep-alive [Host: h] [Transfer-Encoding: chunked] body=xyz\n"
                "head 2 /4 1.1 keep-alive [Host: h] [Transfer-Encoding: chunked]\n"
                "request 2 /4 1.1 keep-alive [Host: h] [Transfer-Encoding: chunked] body=\n"
                "request ? /5 1.1 keep-alive [Host: h] [Content-Length: 0] body=\n"
                "request 3 /6 1.0 close body=\n");
}

BOOST_AUTO_TEST_CASE(what_follows_a_request_is_not_touched) {
  for (const auto& stream : valid_streams) {
    const std::string next = "\x01\r\n\n0;\r\n\r\n";
    parsed_request parsed{stream + next};
    BOOST_TEST((parsed.outcome == progress::complete));
    BOOST_TEST(parsed.buffer.ends_with(next));
    BOOST_TEST((parsed.parser.parse(parsed.buffer) == progress::complete)); // again, until reset
  }
}

BOOST_AUTO_TEST_CASE(a_request_that_is_split_anywhere_is_the_same_request) {
  for (const auto& stream : valid_streams) {
    const auto expected = account_of(stream);
    BOOST_TEST(expected.find("error") == std::string::npos, expected);
    BOOST_TEST(expected.find("unfinished") == std::string::npos, expected);
    for (std::size_t split = 0; split <= stream.size(); ++split) {
      feeder in_two;
      in_two.feed(std::string_view{stream}.substr(0, split));
      in_two.feed(std::string_view{stream}.substr(split));
      BOOST_TEST(in_two.account() == expected, "split at " << split);
    }
    feeder in_bytes;
    for (const char byte : stream)
      in_bytes.feed({&byte, 1});
    BOOST_TEST(in_bytes.account() == expected);
    BOOST_TEST(in_bytes.buffer().empty());
  }
}

BOOST_AUTO_TEST_CASE(no_proper_prefix_of_a_request_is_a_request) {
  const auto& stream = valid_streams[4];
  for (std::size_t length = 1; length < stream.size(); ++length) {
    const auto account = account_of(std::string_view{stream}.substr(0, length));
    BOOST_TEST(account.find("request") == std::string::npos, account);
    BOOST_TEST(account.find("error") == std::string::npos, account);
    BOOST_TEST(account.ends_with("unfinished\n"), account);
  }
}

BOOST_AUTO_TEST_CASE(views_follow_a_buffer_that_moves) {
  const std::string head = "POST /a HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n";
  request_parser parser;
  std::string buffer = head;
  BOOST_TEST_REQUIRE((parser.parse(buffer) == progress::head_complete));
  for (const auto* piece : {"3\r\n", "abc", "\r\n0", "\r\n\r\n"}) {
    auto moved = buffer + piece; // somewhere else
    buffer.assign(buffer.size(), '!');
    BOOST_TEST((parser.parse(moved) != progress::failed));
    BOOST_TEST(parser.result().target == "/a");
    BOOST_TEST(parser.result().header_value("host") == "h");
    buffer = std::move(moved);
  }
  auto moved = buffer + "GET"; // even after the end
  buffer.assign(buffer.size(), '!');
  BOOST_TEST((parser.parse(moved) == progress::complete));
  BOOST_TEST(parser.result().target == "/a");
  BOOST_TEST(parser.result().body == "abc");
}

BOOST_AUTO_TEST_CASE(a_failed_request_still_tells_its_method) {
  parsed_request parsed{"HEAD / HTTP/1.0\r\nA\r\n\r\n"};
  BOOST_TEST((parsed.outcome == progress::failed));
  BOOST_TEST((parsed.parser.result().method == Method::Head));
  BOOST_TEST((parsed.parser.result().version == Version::Http10));
}

BOOST_AUTO_TEST_CASE(nothing_of_one_request_shows_in_the_next) {
  const std::string first = "HEAD http://h/a HTTP/1.0\r\nHost: h\r\nConnection: keep-alive\r\nExpect: 100-continue\r\n"
                            "Content-Length: 3\r\n\r\nabc";
  const std::string second = "BREW /b HTTP/1.1\r\nHost: g\r\n\r\n";
  const auto account = account_of(first + second);
  BOOST_TEST(account.ends_with("request ? /b 1.1 keep-alive [Host: g] body=\n"), account);
}

BOOST_AUTO_TEST_CASE(a_request_after_one_with_many_headers_has_only_its_own) {
  std::string headers;
  for (int i = 0; i < 200; ++i)
    headers += "A: b\r\n";
  const auto account = account_of(get_with(headers) + get_with("C: d\r\n"));
  BOOST_TEST(account.ends_with("keep-alive [Host: h] [C: d] body=\n"), account);
}

// Work

BOOST_AUTO_TEST_CASE(a_line_that_arrives_byte_by_byte_is_searched_once) {
  // Whatever has been searched for a line end is turned into line ends until the line is whole. A parser that looked
  // at it again would end the line there. (The first two bytes tell an empty line; they may be looked at again.)
  const std::string line = "GET /" + std::string(2000, 'a') + " HTTP/1.1";
  request_parser parser;
  std::string buffer;
  for (const char byte : line) {
    buffer += byte;
    BOOST_TEST_REQUIRE((parser.parse(buffer) == progress::need_more));
    if (buffer.size() > 2)
      std::fill(buffer.begin() + 2, buffer.end(), '\n');
  }
  buffer = line + "\r\nHost: h\r\n\r\n";
  BOOST_TEST((parser.parse(buffer) == progress::complete));
  BOOST_TEST(parser.result().target.size() == 2001u);
}

BOOST_AUTO_TEST_CASE(whole_lines_and_body_bytes_are_not_looked_at_again) {
  for (const auto& stream : valid_streams) {
    // All that is before the line that has begun is overwritten; a body is overwritten as it arrives.
    request_parser parser;
    std::string buffer;
    std::size_t line_start = 0;
    auto outcome = progress::need_more;
    for (auto byte = stream.begin(); byte != stream.end() && outcome == progress::need_more; ++byte) {
      buffer += *byte;
      outcome = parser.parse(buffer);
      if (outcome == progress::head_complete)
        outcome = parser.parse(buffer);
      if (*byte == '\n')
        line_start = buffer.size();
      const auto done = static_cast<std::ptrdiff_t>(std::min(line_start, buffer.size()));
      std::fill(buffer.begin(), buffer.begin() + done, '\n');
    }
    BOOST_TEST((outcome == progress::complete));
  }
}

BOOST_AUTO_TEST_CASE(the_framing_of_chunks_does_not_pile_up_in_the_buffer) {
  request_parser parser;
  std::string buffer = chunked("");
  const auto head = buffer.size();
  BOOST_TEST_REQUIRE((parser.parse(buffer) == progress::head_complete));
  for (std::size_t body = 1; body <= 10'000; ++body) {
    for (const auto* piece : {"000000", "1;\r\n", "x", "\r\n"}) {
      buffer += piece;
      BOOST_TEST_REQUIRE((parser.parse(buffer) == progress::need_more));
    }
    BOOST_TEST_REQUIRE(buffer.size() == head + body);
  }
  buffer += "0\r\n\r\n";
  BOOST_TEST((parser.parse(buffer) == progress::complete));
  BOOST_TEST(parser.result().body == std::string(10'000, 'x'));
}

BOOST_AUTO_TEST_CASE(a_body_of_a_mebibyte_in_single_bytes_ends) {
  // Anything worse than linear would take minutes here.
  constexpr std::size_t size = 1024 * 1024;
  for (const auto& head : {get_with("Content-Length: " + std::to_string(size) + "\r\n"), chunked("100000\r\n")}) {
    request_parser parser;
    std::string buffer = head;
    BOOST_TEST_REQUIRE((parser.parse(buffer) == progress::head_complete));
    for (std::size_t i = 0; i < size; ++i) {
      buffer += 'x';
      const auto outcome = parser.parse(buffer);
      BOOST_TEST_REQUIRE(
          (outcome
           == (i + 1 == size && head.find("chunked") == std::string::npos ? progress::complete : progress::need_more)));
    }
  }
}

BOOST_AUTO_TEST_CASE(ten_thousand_mutations_end_and_mean_the_same_however_they_are_split) {
  std::mt19937 random{20'240'229};
  const auto below = [&random](std::size_t bound) { return static_cast<std::size_t>(random()) % bound; };
  static constexpr std::string_view dictionary[] = {
      "\r\n",     "\r", "\n", ":",        " ",  ",",    "0",   "F", "chunked", "Content-Length: 3\r\n",
      "\r\n\r\n", ";",  "%",  "HTTP/1.1", "\0", "\x7f", "\xff"};
  for (int round = 0; round < 10'000; ++round) {
    auto stream = valid_streams[below(valid_streams.size())];
    for (auto mutations = 1 + below(4); mutations > 0; --mutations) {
      const auto at = below(stream.size() + 1);
      switch (below(5)) {
      case 0:
        stream = stream.substr(0, at);
        break;
      case 1:
        stream.insert(at, dictionary[below(std::size(dictionary))]);
        break;
      case 2:
        stream.erase(at, 1 + below(8));
        break;
      case 3:
        stream.insert(at, stream.substr(below(stream.size() + 1), below(40)));
        break;
      default:
        if (at < stream.size())
          stream[at] = static_cast<char>(below(256));
      }
    }
    const auto expected = account_of(stream, small_limits);
    feeder in_pieces{small_limits};
    for (std::size_t at = 0; at < stream.size();) {
      const auto length = 1 + below(below(2) == 0 ? 3 : 60);
      in_pieces.feed(std::string_view{stream}.substr(at, length));
      at += length;
    }
    BOOST_TEST_REQUIRE(in_pieces.account() == expected);
  }
}

BOOST_AUTO_TEST_SUITE_END()
