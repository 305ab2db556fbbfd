#include "actors/latency_histogram.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <random>
#include <vector>

using coordinator::latency_histogram;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(latency_histogram_test)

BOOST_AUTO_TEST_CASE(without_values_everything_is_zero) {
  const latency_histogram empty;
  BOOST_TEST(empty.count() == 0u);
  BOOST_TEST(empty.max().count() == 0);
  BOOST_TEST(empty.quantile(0.5).count() == 0);
}

BOOST_AUTO_TEST_CASE(a_single_value_is_every_quantile) {
  latency_histogram one;
  one.record(1234567ns);
  for (const double share : {0.0, 0.5, 0.99, 1.0})
    BOOST_TEST(one.quantile(share).count() == 1234567);
  BOOST_TEST(one.max().count() == 1234567);
}

BOOST_AUTO_TEST_CASE(quantiles_are_never_too_low_and_at_most_a_sixteenth_too_high) {
  std::mt19937_64 random{7};
  std::lognormal_distribution<double> latencies{std::log(2e6), 2.0}; // around 2 ms, from microseconds to seconds
  latency_histogram histogram;
  std::vector<std::int64_t> values;
  for (int i = 0; i < 20000; ++i) {
    const auto value = static_cast<std::int64_t>(latencies(random));
    values.push_back(value);
    histogram.record(std::chrono::nanoseconds{value});
  }
  std::sort(values.begin(), values.end());
  for (const double share : {0.001, 0.1, 0.5, 0.9, 0.99, 0.999, 1.0}) {
    const auto exact = values[static_cast<std::size_t>(std::ceil(share * 20000.0)) - 1];
    const auto told = histogram.quantile(share).count();
    BOOST_TEST(told >= exact);
    BOOST_TEST(static_cast<double>(told) <= static_cast<double>(exact) * 17.0 / 16.0 + 1024.0);
  }
  BOOST_TEST(histogram.max().count() == values.back());
}

BOOST_AUTO_TEST_CASE(values_that_make_no_sense_count_as_the_nearest_that_do) {
  latency_histogram histogram;
  histogram.record(-1s);
  histogram.record(1000h);
  BOOST_TEST(histogram.count() == 2u);
  BOOST_TEST(histogram.quantile(0.5).count() < 1024);
  BOOST_TEST((histogram.max() == 24h));
}

BOOST_AUTO_TEST_SUITE_END()
