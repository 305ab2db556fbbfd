#include "http/registrar/settings.hpp"

#include <boost/test/unit_test.hpp>

#include <cstdlib>
#include <map>
#include <string>
#include <vector>

using namespace mp_registrar;
using namespace std::chrono_literals;

namespace {

/// An environment variable for the time of a test.
class variable {
public:
  variable(const char* name, const char* value) : name_{name} { setenv(name, value, 1); }
  ~variable() { unsetenv(name_); }
  variable(const variable&) = delete;
  variable& operator=(const variable&) = delete;

private:
  const char* name_;
};

flag_lookup flags(std::map<std::string, std::string> given) {
  return [given = std::move(given)](std::string_view flag) -> std::optional<std::string> {
    const auto found = given.find(std::string{flag});
    return found == given.end() ? std::nullopt : std::optional{found->second};
  };
}

} // namespace

BOOST_AUTO_TEST_SUITE(registrar_settings_test)

BOOST_AUTO_TEST_CASE(the_settings_have_the_names_that_lmcache_gives_them) {
  std::vector<std::string> names;
  for (const auto& each : settings()) {
    names.emplace_back(each.flag);
    names.emplace_back(each.environment);
    BOOST_TEST(!each.description.empty());
  }
  const std::vector<std::string> expected{
      "--coordinator-url",
      "LMCACHE_COORDINATOR_URL",
      "--coordinator-advertise-ip",
      "LMCACHE_COORDINATOR_ADVERTISE_IP",
      "--coordinator-heartbeat-interval",
      "LMCACHE_COORDINATOR_HEARTBEAT_INTERVAL",
  };
  BOOST_TEST(names == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(the_stated_defaults_are_those_of_the_options) {
  options from_text;
  for (const auto& each : settings())
    BOOST_TEST(!each.apply(from_text, each.default_value).has_value());
  const options untouched;
  BOOST_TEST(from_text.coordinator_urls.empty());
  BOOST_TEST(from_text.advertise_ip == untouched.advertise_ip);
  BOOST_TEST((from_text.heartbeat_interval == untouched.heartbeat_interval));
}

BOOST_AUTO_TEST_CASE(flags_are_applied) {
  options to;
  const auto problems = apply_settings(to, flags({{"--coordinator-url", "http://c1:9300, https://c2/base/,"},
                                                  {"--coordinator-advertise-ip", " 192.0.2.7 "},
                                                  {"--coordinator-heartbeat-interval", "2.5"}}));
  BOOST_TEST(to_string(problems) == "");
  BOOST_TEST(to.coordinator_urls == (std::vector<std::string>{"http://c1:9300", "https://c2/base/"}),
             boost::test_tools::per_element());
  BOOST_TEST(to.advertise_ip == "192.0.2.7");
  BOOST_TEST((to.heartbeat_interval == 2500ms));
}

BOOST_AUTO_TEST_CASE(the_environment_is_applied_and_a_flag_beats_it) {
  const variable url{"LMCACHE_COORDINATOR_URL", "http://from-environment"};
  const variable ip{"LMCACHE_COORDINATOR_ADVERTISE_IP", "node.example"};
  const variable interval{"LMCACHE_COORDINATOR_HEARTBEAT_INTERVAL", "7"};
  options to;
  BOOST_TEST(to_string(apply_environment(to)) == "");
  BOOST_TEST(to.coordinator_urls.at(0) == "http://from-environment");
  BOOST_TEST(to.advertise_ip == "node.example");
  BOOST_TEST((to.heartbeat_interval == 7s));

  options mixed;
  BOOST_TEST(to_string(apply_settings(mixed, flags({{"--coordinator-url", "http://from-flag"}}))) == "");
  BOOST_TEST(mixed.coordinator_urls.at(0) == "http://from-flag");
  BOOST_TEST((mixed.heartbeat_interval == 7s));
}

BOOST_AUTO_TEST_CASE(an_empty_url_turns_it_off) {
  const variable url{"LMCACHE_COORDINATOR_URL", "http://from-environment"};
  options to;
  BOOST_TEST(to_string(apply_settings(to, flags({{"--coordinator-url", ""}}))) == "");
  BOOST_TEST(to.coordinator_urls.empty());
}

BOOST_AUTO_TEST_CASE(an_interval_that_is_no_positive_number_is_a_problem_from_either_source) {
  for (const auto* text : {"", "abc", "5s", "0", "-1", "nan", "inf", "1e99", "0x10", "1,5"}) {
    options to;
    auto problems = apply_settings(to, flags({{"--coordinator-heartbeat-interval", text}}));
    BOOST_TEST_REQUIRE(problems.size() == 1u, text);
    BOOST_TEST(problems[0].field == "--coordinator-heartbeat-interval");
    BOOST_TEST(problems[0].message
               == "must be a number of seconds from 0.001 to 31622400, not \"" + std::string{text} + "\"");
    const variable interval{"LMCACHE_COORDINATOR_HEARTBEAT_INTERVAL", text};
    problems = apply_environment(to);
    BOOST_TEST_REQUIRE(problems.size() == 1u, text);
    BOOST_TEST(problems[0].field == "LMCACHE_COORDINATOR_HEARTBEAT_INTERVAL");
    BOOST_TEST((to.heartbeat_interval == 5s));
    // The flag makes the variable irrelevant.
    BOOST_TEST(to_string(apply_settings(to, flags({{"--coordinator-heartbeat-interval", "1"}}))) == "");
  }
}

BOOST_AUTO_TEST_CASE(all_problems_are_listed_by_the_names_that_the_operator_used) {
  const variable ip{"LMCACHE_COORDINATOR_ADVERTISE_IP", "0.0.0.0"};
  options to;
  BOOST_TEST(
      to_string(apply_settings(
          to, flags({{"--coordinator-url", "http://c1,c2:9300"}, {"--coordinator-heartbeat-interval", "x"}})))
      == "--coordinator-url: must be http://HOST:PORT or https://HOST:PORT, optionally followed by a path, not "
         "\"c2:9300\"\n"
         "LMCACHE_COORDINATOR_ADVERTISE_IP: must be an address that others reach: a wildcard address means every "
         "interface and leads nowhere from other machines: \"0.0.0.0\"\n"
         "--coordinator-heartbeat-interval: must be a number of seconds from 0.001 to 31622400, not \"x\"\n");
  BOOST_TEST(to.coordinator_urls.empty());
}

BOOST_AUTO_TEST_SUITE_END()
