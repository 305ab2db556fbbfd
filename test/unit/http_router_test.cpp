#include "http/router.hpp"

#include <boost/test/unit_test.hpp>

#include <stdexcept>

using namespace coordinator;
using namespace coordinator::http;

namespace {

struct fixture {
  router routes;

  fixture() {
    add(Method::Get, "/");
    add(Method::Get, "/instances");
    add(Method::Post, "/instances");
    add(Method::Get, "/instances/:instance_id");
    add(Method::Delete, "/instances/:instance_id");
    add(Method::Get, "/instances/usage");
    add(Method::Put, "/instances/:instance_id/heartbeat");
  }

  void add(Method method, std::string path) {
    route added;
    added.method = method;
    added.path = path;
    added.documentation.id = path;
    routes.add(std::move(added));
  }

  std::string found(std::optional<Method> method, std::vector<std::string> segments) const {
    const auto match = routes.find(method, segments);
    return match.found ? match.found->path : match.path_known ? "method: " + match.allow : "nothing";
  }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(http_router_test, fixture)

BOOST_AUTO_TEST_CASE(a_route_is_found_by_method_and_path) {
  BOOST_TEST(found(Method::Get, {}) == "/");
  BOOST_TEST(found(Method::Get, {"instances"}) == "/instances");
  BOOST_TEST(found(Method::Delete, {"instances", "a"}) == "/instances/:instance_id");
  BOOST_TEST(found(Method::Put, {"instances", "a", "heartbeat"}) == "/instances/:instance_id/heartbeat");
}

BOOST_AUTO_TEST_CASE(parameters_are_the_segments_they_stand_for) {
  const auto match = routes.find(Method::Put, {"instances", "a/b", "heartbeat"});
  BOOST_TEST(match.parameters == std::vector<std::string>{"a/b"}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(head_finds_the_get_route) {
  BOOST_TEST(found(Method::Head, {"instances"}) == "/instances");
}

BOOST_AUTO_TEST_CASE(a_known_path_tells_its_methods) {
  BOOST_TEST(found(Method::Patch, {"instances"}) == "method: GET, HEAD, POST");
  BOOST_TEST(found(std::nullopt, {"instances"}) == "method: GET, HEAD, POST");
  BOOST_TEST(found(Method::Get, {"instances", "a", "heartbeat"}) == "method: PUT");
}

BOOST_AUTO_TEST_CASE(an_unknown_path_is_nothing) {
  BOOST_TEST(found(Method::Get, {"instance"}) == "nothing");
  BOOST_TEST(found(Method::Get, {"instances", "a", "b"}) == "nothing");
  BOOST_TEST(found(Method::Get, {"instances", "a", "heartbeat", ""}) == "nothing");
}

BOOST_AUTO_TEST_CASE(a_fixed_segment_beats_a_parameter_but_does_not_hide_its_other_methods) {
  BOOST_TEST(found(Method::Get, {"instances", "usage"}) == "/instances/usage");
  BOOST_TEST(found(Method::Delete, {"instances", "usage"}) == "/instances/:instance_id");
}

BOOST_AUTO_TEST_CASE(two_handlers_for_one_route_are_a_mistake) {
  BOOST_CHECK_THROW(add(Method::Get, "/instances"), std::logic_error);
}

BOOST_AUTO_TEST_CASE(the_document_names_path_parameters_as_openapi_does) {
  const auto document = routes.openapi_document();
  BOOST_TEST(document.find(R"("/instances/{instance_id}/heartbeat")") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
