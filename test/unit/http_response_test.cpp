#include "http/response.hpp"

#include "schema/json.hpp"

#include <boost/test/unit_test.hpp>

#include <memory>
#include <string>
#include <string_view>

namespace http = coordinator::http;

namespace {

std::string head_of(const http::response& answer, const http::response_framing& framing = {}) {
  std::string out;
  http::append_head(out, answer, framing);
  return out;
}

bool holds(const std::string& head, std::string_view line) {
  return head.find("\r\n" + std::string{line} + "\r\n") != std::string::npos;
}

bool mentions(const std::string& head, std::string_view name) {
  return head.find("\r\n" + std::string{name} + ":") != std::string::npos;
}

/// The `detail` of a problem body, which must be valid JSON in valid UTF-8 with that one member.
std::string detail_of(const http::response& answer) {
  coordinator::schema::json_document document;
  BOOST_REQUIRE(!document.read(answer.body));
  const auto& root = document.root();
  BOOST_REQUIRE(root.IsObject());
  BOOST_REQUIRE(root.MemberCount() == 1u);
  const auto detail = root.FindMember("detail");
  BOOST_REQUIRE(detail != root.MemberEnd());
  BOOST_REQUIRE(detail->value.IsString());
  return std::string{coordinator::schema::text_of(detail->value)};
}

} // namespace

BOOST_AUTO_TEST_SUITE(http_response_test)

BOOST_AUTO_TEST_CASE(a_head_is_status_line_headers_and_an_empty_line) {
  http::response answer;
  answer.headers = {{"ETag", "\"1\""}, {"Instance-Timeout", "30"}};
  answer.body = "{}";
  BOOST_TEST(head_of(answer)
             == "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\nETag: \"1\"\r\n"
                "Instance-Timeout: 30\r\n\r\n");
}

BOOST_AUTO_TEST_CASE(a_head_is_appended_to_what_is_there) {
  std::string out = "before";
  http::append_head(out, {}, {});
  BOOST_TEST(out.starts_with("beforeHTTP/1.1 200 OK\r\n"));
}

BOOST_AUTO_TEST_CASE(an_empty_body_has_a_length_but_no_type) {
  const auto head = head_of({});
  BOOST_TEST(holds(head, "Content-Length: 0"));
  BOOST_TEST(!mentions(head, "Content-Type"));
}

BOOST_AUTO_TEST_CASE(a_shared_body_counts_instead_of_the_own_one) {
  http::response answer;
  answer.body = "own";
  answer.shared_body = std::make_shared<const std::string>(12'345, 'x');
  BOOST_TEST(holds(head_of(answer), "Content-Length: 12345"));
}

BOOST_AUTO_TEST_CASE(the_content_type_can_be_chosen_or_left_out) {
  http::response answer;
  answer.body = "a";
  answer.content_type = "text/plain; charset=utf-8";
  BOOST_TEST(holds(head_of(answer), "Content-Type: text/plain; charset=utf-8"));
  answer.content_type = {};
  BOOST_TEST(!mentions(head_of(answer), "Content-Type"));
}

BOOST_AUTO_TEST_CASE(responses_that_never_have_a_body_announce_none) {
  for (const auto status : {http::Code::Continue, http::Code::Switching_Protocols, http::Code::Early_Hints,
                            http::Code::No_Content, http::Code::Not_Modified}) {
    http::response answer;
    answer.status = status;
    answer.headers = {{"ETag", "\"1\""}};
    const auto head = head_of(answer);
    BOOST_TEST(!mentions(head, "Content-Length"));
    BOOST_TEST(!mentions(head, "Content-Type"));
    BOOST_TEST(holds(head, "ETag: \"1\""));
  }
}

BOOST_AUTO_TEST_CASE(the_head_for_head_is_that_for_get) {
  http::response answer;
  answer.body = "abc";
  BOOST_TEST(head_of(answer, {.head = true}) == head_of(answer, {.head = false}));
}

BOOST_AUTO_TEST_CASE(what_becomes_of_the_connection_is_said_where_the_version_does_not_imply_it) {
  using http::Version;
  BOOST_TEST(!mentions(head_of({}, {.version = Version::Http11, .keep_alive = true}), "Connection"));
  BOOST_TEST(holds(head_of({}, {.version = Version::Http11, .keep_alive = false}), "Connection: close"));
  BOOST_TEST(holds(head_of({}, {.version = Version::Http10, .keep_alive = true}), "Connection: keep-alive"));
  BOOST_TEST(holds(head_of({}, {.version = Version::Http10, .keep_alive = false}), "Connection: close"));
}

BOOST_AUTO_TEST_CASE(an_interim_response_says_nothing_about_the_connection) {
  http::response answer;
  answer.status = http::Code::Continue;
  BOOST_TEST(head_of(answer, {.keep_alive = false}) == "HTTP/1.1 100 Continue\r\n\r\n");
}

BOOST_AUTO_TEST_CASE(a_header_value_never_breaks_a_line) {
  http::response answer;
  answer.headers = {{"X", std::string{"a\r\nSet-Cookie: b\0c\rd\ne", 22}}};
  BOOST_TEST(holds(head_of(answer), "X: a  Set-Cookie: b c d e"));
}

BOOST_AUTO_TEST_CASE(every_status_has_its_reason) {
  BOOST_TEST(http::reason_phrase(http::Code::Ok) == "OK");
  BOOST_TEST(http::reason_phrase(http::Code::Method_Not_Allowed) == "Method Not Allowed");
  BOOST_TEST(http::reason_phrase(http::Code::Request_Header_Fields_Too_Large) == "Request Header Fields Too Large");
  BOOST_TEST(http::reason_phrase(static_cast<http::Code>(299)).empty());
}

BOOST_AUTO_TEST_CASE(a_status_without_a_reason_keeps_the_blank_before_it) {
  http::response answer;
  answer.status = static_cast<http::Code>(299);
  BOOST_TEST(head_of(answer).starts_with("HTTP/1.1 299 \r\n"));
}

BOOST_AUTO_TEST_CASE(a_problem_is_a_detail_in_json) {
  const auto answer = http::problem(http::Code::Not_Found, "Not Found");
  BOOST_TEST((answer.status == http::Code::Not_Found));
  BOOST_TEST(answer.content_type == "application/json");
  BOOST_TEST(answer.body == R"({"detail":"Not Found"})");
}

BOOST_AUTO_TEST_CASE(a_problem_escapes_what_json_needs_escaped) {
  std::string detail = "a\"b\\c/d \xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80 \x7f";
  for (int c = 0; c < 0x20; ++c)
    detail += static_cast<char>(c);
  BOOST_TEST(detail_of(http::problem(http::Code::Bad_Request, detail)) == detail);
}

BOOST_AUTO_TEST_CASE(bytes_that_are_no_utf8_are_replaced_in_a_problem) {
  static const std::string replaced = "\xef\xbf\xbd";
  const auto detail = [](std::string_view text) { return detail_of(http::problem(http::Code::Bad_Request, text)); };
  BOOST_TEST(detail("a\xff") == "a" + replaced);
  BOOST_TEST(detail("\x80z") == replaced + "z");                                        // continuation without a lead
  BOOST_TEST(detail("\xc3") == replaced);                                               // cut off
  BOOST_TEST(detail("\xe2\x82") == replaced + replaced);                                // cut off
  BOOST_TEST(detail("\xf0\x9f\x98!") == replaced + replaced + replaced + "!");          // cut off
  BOOST_TEST(detail("\xc0\xaf") == replaced + replaced);                                // overlong
  BOOST_TEST(detail("\xe0\x80\xaf") == replaced + replaced + replaced);                 // overlong
  BOOST_TEST(detail("\xed\xa0\x80") == replaced + replaced + replaced);                 // a surrogate
  BOOST_TEST(detail("\xf4\x90\x80\x80").size() == 4 * replaced.size());                 // past U+10FFFF
  BOOST_TEST(detail("\xf4\x8f\xbf\xbf\xed\x9f\xbf") == "\xf4\x8f\xbf\xbf\xed\x9f\xbf"); // the last of their kinds
}

BOOST_AUTO_TEST_CASE(the_date_is_told_when_it_is_known) {
  BOOST_TEST(head_of({}, {.date = "Mon, 30 Nov 2026 08:00:00 GMT"}).find("\r\nDate: Mon, 30 Nov 2026 08:00:00 GMT\r\n")
             != std::string::npos);
  BOOST_TEST(head_of({}).find("Date:") == std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
