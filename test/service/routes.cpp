#include "harness/service.hpp"
#include "harness/violations.hpp"

#include <set>
#include <string>
#include <vector>

using namespace coordinator::service_test;

namespace {

std::set<std::string> as_set(const std::vector<std::string>& items) {
  return {items.begin(), items.end()};
}

} // namespace

// Which request target and method leads where.
BOOST_FIXTURE_TEST_SUITE(routes, service)

BOOST_AUTO_TEST_CASE(every_id_that_can_be_registered_can_be_addressed) {
  for (const std::string id : {"a/b", "/", "a%2Fb", "100%", "a b", "a?b#c", "a+b", "..", ".", "heartbeat",
                               "\u00fc\u4e2d\U0001f600", "\"quoted\"", "a;b&c=d"}) {
    BOOST_TEST_CONTEXT("id " << id) {
      BOOST_TEST(register_instance(api, id).body_json()["instance_id"].text() == id);
      const auto beat = heartbeat(api, id);
      BOOST_TEST(beat.status == 200);
      BOOST_TEST(beat.body_json()["instance_id"].text() == id);
      BOOST_TEST(api.get(instance_path(id)).body_json()["instance_id"].text() == id);
      BOOST_TEST(api.del(instance_path(id)).status == 204);
      BOOST_TEST(!is_listed(api, id));
    }
  }
}

BOOST_AUTO_TEST_CASE(escapes_may_be_written_in_either_case) {
  register_instance(api, "a/b");
  BOOST_TEST(api.put("/instances/a%2fb/heartbeat").status == 200);
  BOOST_TEST(api.put("/instances/%61%2Fb/heartbeat").status == 200);
  BOOST_TEST(api.put("/instances/a/b/heartbeat").status == 404); // a slash as such separates
}

BOOST_AUTO_TEST_CASE(a_bad_escape_is_refused) {
  for (const char* target : {"/instances/%zz", "/instances/%", "/instances/a%2", "/instances/%G0/heartbeat"})
    for (const char* method : {"GET", "PUT", "DELETE"}) {
      const auto reply = api.send(method, target);
      BOOST_TEST(reply.status == 400, method << " " << target << " got " << reply);
      BOOST_TEST(!reply.body_json()["detail"].text().empty());
    }
}

BOOST_AUTO_TEST_CASE(one_trailing_slash_is_tolerated_and_never_redirected) {
  BOOST_TEST(api.post("/instances/", to_json({.instance_id = "a"})).status == 200);
  BOOST_TEST(api.get("/instances/").status == 200);
  BOOST_TEST(api.put("/instances/a/heartbeat/").status == 200);
  BOOST_TEST(api.get("/instances/a/").status == 200);
  BOOST_TEST(api.get("/healthz/").status == 200);
  BOOST_TEST(api.del("/instances/a/").status == 204);
  BOOST_TEST(!is_listed(api, "a"));
  check_problem(api.get("/healthz//"), 404, "Not Found");
}

BOOST_AUTO_TEST_CASE(unknown_paths_are_not_found) {
  for (const char* target : {"/", "/nothing", "/instance", "/instances/a/b", "/instances/a/heartbeat/c", "/Instances",
                             "/healthz/x", "/healthz/../instances"})
    check_problem(api.get(target), 404, "Not Found");
  check_problem(api.post("/nothing", "{}"), 404, "Not Found");
}

BOOST_AUTO_TEST_CASE(a_wrong_method_names_the_right_ones) {
  struct expectation {
    const char* target;
    std::set<std::string> allowed;
  };
  const std::vector<expectation> routes{{"/instances", {"GET", "HEAD", "POST"}},
                                        {"/instances/a", {"DELETE", "GET", "HEAD"}},
                                        {"/instances/a/heartbeat", {"PUT"}},
                                        {"/healthz", {"GET", "HEAD"}},
                                        {"/readyz", {"GET", "HEAD"}},
                                        {"/openapi.json", {"GET", "HEAD"}}};
  for (const auto& [target, allowed] : routes)
    for (const std::string method : {"GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "BREW"}) {
      if (allowed.contains(method))
        continue;
      const auto reply = api.send(method, target);
      BOOST_TEST_CONTEXT(method << " " << target) {
        BOOST_TEST(reply.status == 405, reply);
        BOOST_TEST(as_set(split(reply.header_text("Allow"), ',')) == allowed, boost::test_tools::per_element());
        if (method != "HEAD")
          check_problem(reply, 405, "Method Not Allowed");
      }
    }
}

BOOST_AUTO_TEST_CASE(head_answers_as_get_without_the_body) {
  register_instance(api, "a");
  for (const char* target : {"/healthz", "/readyz", "/instances", "/openapi.json", "/nothing"}) {
    const auto get = api.get(target);
    const auto head = api.head(target); // a body would be taken for the next response
    BOOST_TEST_CONTEXT(target) {
      BOOST_TEST(head.status == get.status);
      BOOST_TEST(head.header_text("Content-Length") == std::to_string(get.body.size()));
      BOOST_TEST(head.header_text("Content-Type") == get.header_text("Content-Type"));
      BOOST_TEST(head.header_text("ETag") == get.header_text("ETag"));
    }
  }
  BOOST_TEST(api.head("/instances/a").status == 200);
  BOOST_TEST(api.head("/instances/b").status == 404);
  BOOST_TEST(api.get("/healthz").status == 200);
}

BOOST_AUTO_TEST_CASE(health_is_the_same_bytes_always) {
  const auto reply = api.get("/healthz");
  BOOST_TEST(reply.status == 200);
  BOOST_TEST(reply.header_text("Content-Type") == "application/json");
  BOOST_TEST(reply.body == R"({"status":"healthy"})");
}

BOOST_AUTO_TEST_SUITE_END()
