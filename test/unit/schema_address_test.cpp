#include "schema/address.hpp"

#include <boost/test/unit_test.hpp>

#include <string>
#include <string_view>

using namespace coordinator::schema;
using namespace std::string_view_literals;

namespace {

constexpr auto wildcard = "a wildcard address means every interface and leads nowhere from other machines"sv;
constexpr auto port = "an address must not carry a port, which has a field of its own"sv;
constexpr auto url = "an address must not be a URL, only the host in it"sv;
constexpr auto characters = "an address must not contain blanks, control characters or characters outside of ASCII"sv;

std::string repeated(std::string_view part, int times) {
  std::string result;
  for (int i = 0; i < times; ++i)
    result += part;
  return result;
}

} // namespace

BOOST_AUTO_TEST_SUITE(schema_address_test)

BOOST_AUTO_TEST_CASE(addresses_and_host_names_are_accepted) {
  for (const auto text : {"192.0.2.17"sv,
                          "127.0.0.1"sv,
                          "255.255.255.255"sv,
                          "0.0.0.1"sv,
                          "2001:db8::1"sv,
                          "[2001:db8::1]"sv,
                          "::1"sv,
                          "[::1]"sv,
                          "fe80::1%eth0"sv,
                          "[fe80::1%eth0.100]"sv,
                          "::ffff:192.0.2.1"sv,
                          "2001:DB8:0:0:0:0:0:1"sv,
                          "localhost"sv,
                          "node-7"sv,
                          "node_7"sv,
                          "_srv"sv,
                          "a"sv,
                          "mp-0.mp.default.svc.cluster.local"sv,
                          "host.example."sv,
                          "UPPER.Example"sv,
                          "7host"sv,
                          "1.2.3.example"sv,
                          "123456789012"sv,
                          "xn--mnchen-3ya.example"sv,
                          "a-"sv,
                          "deadbeef"sv})
    BOOST_TEST(!address_problem(text).has_value(), text);
  BOOST_TEST(!address_problem(std::string(63, 'a')));
  BOOST_TEST(!address_problem(repeated("abcdefghi.", 25) + "abc")); // 253 bytes
}

BOOST_AUTO_TEST_CASE(wildcard_addresses_are_refused_in_every_spelling) {
  for (const auto text : {"0.0.0.0"sv,
                          "0"sv,
                          "0.0"sv,
                          "0.0.0"sv,
                          "00"sv,
                          "0x0"sv,
                          "0x00000000"sv,
                          "00.0.0x0.0"sv,
                          "::"sv,
                          "[::]"sv,
                          "::0"sv,
                          "0::"sv,
                          "0:0:0:0:0:0:0:0"sv,
                          "0000::0000"sv,
                          "[0:0::0]"sv,
                          "::0.0.0.0"sv,
                          "::ffff:0.0.0.0"sv,
                          "::ffff:0:0"sv,
                          "[::FFFF:0.0.0.0]"sv,
                          "0:0:0:0:0:ffff:0:0"sv,
                          "::%eth0"sv})
    BOOST_TEST(address_problem(text).value_or("accepted") == wildcard, text);
}

BOOST_AUTO_TEST_CASE(urls_ports_and_blanks_are_refused_with_the_reason) {
  const std::pair<std::string_view, std::string_view> table[] = {
      {"http://x", url},
      {"https://192.0.2.1:80/path", url},
      {"//host", url},
      {"host/path", url},
      {"192.0.2.0/24", url},
      {"192.0.2.1:8080", port},
      {"host:8080", port},
      {"host:", port},
      {":80", port},
      {"[2001:db8::1]:8080", port},
      {"a b", characters},
      {" 192.0.2.1", characters},
      {"host\n", characters},
      {"\t", characters},
      {"   ", characters},
      {"192.0.2.1\0"sv, characters},
      {"192.0.2.1\0.example"sv, characters},
      {"münchen.example", characters},
      {"host\x7F", characters},
      {"host\xFF", characters},
      {"", "an address must not be empty"},
  };
  for (const auto& [text, reason] : table)
    BOOST_TEST(address_problem(text).value_or("accepted") == reason, text);
}

BOOST_AUTO_TEST_CASE(malformed_addresses_and_host_names_are_refused) {
  for (const auto text : {"10.0.0.256"sv,
                          "10.0.0"sv,
                          "10.1"sv,
                          "10.0.0.1.2"sv,
                          "010.0.0.1"sv,
                          "0x7f000001"sv,
                          "2130706433"sv,
                          "1.2.3.4."sv,
                          "1..2"sv,
                          "."sv,
                          ".."sv,
                          ".host"sv,
                          "a..b"sv,
                          "host.."sv,
                          "-host"sv,
                          "a.-b"sv,
                          "a@b"sv,
                          "host,"sv,
                          "a;b"sv,
                          "*"sv,
                          "host%eth0"sv,
                          "10.0.0.1%eth0"sv,
                          "[10.0.0.1]"sv,
                          "[host]"sv,
                          "[]"sv,
                          "["sv,
                          "]"sv,
                          "[::1"sv,
                          "::1]"sv,
                          "[::1]x"sv,
                          "[[::1]]"sv,
                          "[::1]:x"sv,
                          ":::"sv,
                          "1::2::3"sv,
                          "12345::"sv,
                          "2001:db8"sv,
                          "fe80::1%"sv,
                          "fe80::1%a b"sv,
                          "fe80::1%a%b"sv,
                          "fe80::1%eth/0"sv,
                          "::ffff:256.0.0.1"sv,
                          "a:b:c"sv,
                          "host:80:80"sv,
                          "\\\\server"sv,
                          "'"sv})
    BOOST_TEST(address_problem(text).has_value(), text);
  BOOST_TEST(address_problem(std::string(64, 'a')).has_value());
}

BOOST_AUTO_TEST_CASE(an_address_of_more_than_253_bytes_is_refused) {
  BOOST_TEST(address_problem(repeated("abcdefghi.", 25) + "abcd").value()
             == "an address has at most 253 bytes, this one has 254");
  BOOST_TEST(address_problem(std::string(300, 'a')).has_value());
  BOOST_TEST(address_problem(std::string(1 << 20, '[')).has_value());
}

BOOST_AUTO_TEST_CASE(brackets_are_not_stored) {
  BOOST_TEST(without_brackets("[2001:db8::1]") == "2001:db8::1");
  BOOST_TEST(without_brackets("2001:DB8::1") == "2001:DB8::1");
  BOOST_TEST(without_brackets("host") == "host");
  BOOST_TEST(without_brackets("").empty());
  BOOST_TEST(without_brackets("[") == "[");
  BOOST_TEST(without_brackets("[]").empty());
}

BOOST_AUTO_TEST_CASE(all_spellings_of_an_address_have_one_canonical_form) {
  const std::pair<std::string_view, std::string_view> table[] = {
      {"192.0.2.17", "192.0.2.17"},          {"::ffff:192.0.2.17", "192.0.2.17"},
      {"[::FFFF:C000:0211]", "192.0.2.17"},  {"2001:DB8:0:0:0:0:0:1", "2001:db8::1"},
      {"[2001:db8::0001]", "2001:db8::1"},   {"2001:db8::1", "2001:db8::1"},
      {"FE80::1%eth0", "fe80::1%eth0"},      {"fe80::1%eth1", "fe80::1%eth1"},
      {"Node-7.Example.", "node-7.example"}, {"node-7.example", "node-7.example"},
  };
  for (const auto& [text, form] : table)
    BOOST_TEST(canonical_address(text) == form, text);
}

BOOST_AUTO_TEST_SUITE_END()
