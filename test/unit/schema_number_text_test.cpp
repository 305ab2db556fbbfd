#include "schema/number_text.hpp"

#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <limits>

using namespace coordinator::schema;

BOOST_AUTO_TEST_SUITE(schema_number_text_test)

BOOST_AUTO_TEST_CASE(a_number_is_read_when_it_is_all_of_the_text) {
  BOOST_TEST(number_in("0.5").value() == 0.5);
  BOOST_TEST(number_in("-1e3").value() == -1000.0);
  BOOST_TEST(number_in("7").value() == 7.0);
  for (const auto* text : {"", " ", "x", "1s", " 1", "1 ", "+1", "1,5", "0x10", "--1"})
    BOOST_TEST(!number_in(text).has_value(), text);
}

BOOST_AUTO_TEST_CASE(what_no_double_holds_is_no_number) {
  for (const auto* text : {"nan", "-nan", "inf", "-inf", "infinity", "1e999", "-1e999", "1e-999"})
    BOOST_TEST(!number_in(text).has_value(), text);
}

BOOST_AUTO_TEST_CASE(a_whole_number_is_read_when_it_is_within_its_bounds) {
  BOOST_TEST(whole_number_in<std::uint16_t>("1", 1, 10).value() == 1);
  BOOST_TEST(whole_number_in<std::uint16_t>("10", 1, 10).value() == 10);
  BOOST_TEST(whole_number_in<std::int64_t>("-5", -5, 5).value() == -5);
  for (const auto* text : {"0", "11", "-1", "", " 1", "1 ", "+1", "1.0", "1e0", "x"})
    BOOST_TEST(!whole_number_in<std::uint16_t>(text, 1, 10).has_value(), text);
}

BOOST_AUTO_TEST_CASE(a_whole_number_may_use_all_of_its_type_and_no_more) {
  constexpr auto most = std::numeric_limits<std::uint64_t>::max();
  BOOST_TEST(whole_number_in<std::uint64_t>("18446744073709551615", 0, most).value() == most);
  BOOST_TEST(!whole_number_in<std::uint64_t>("18446744073709551616", 0, most).has_value());
  BOOST_TEST(!whole_number_in<std::uint16_t>("65536", 0, 65535).has_value());
  BOOST_TEST(!whole_number_in<std::uint64_t>("-1", 0, most).has_value());
}

BOOST_AUTO_TEST_SUITE_END()
