#include "violations.hpp"

#include <boost/test/unit_test.hpp>

#include <fmt/format.h>

#include <stdexcept>

namespace coordinator::service_test {

std::set<std::string> locations(const response& reply) {
  std::set<std::string> result;
  for (const auto& violation : reply.body_json()["detail"].items()) {
    std::string path;
    for (const auto& step : violation["loc"].items())
      path += (path.empty() ? "" : ".") + (step.is_string() ? step.text() : step.dump());
    result.insert(path);
  }
  return result;
}

json only_violation(const response& reply) {
  const auto detail = reply.body_json()["detail"];
  if (detail.size() != 1)
    throw std::runtime_error{"not exactly one violation: " + reply.body};
  return detail[0];
}

void check_problem(const response& reply, int status, std::string_view detail) {
  BOOST_TEST(reply.status == status, reply);
  BOOST_TEST(reply.header_text("Content-Type") == "application/json");
  BOOST_TEST(reply.body == fmt::format(R"({{"detail":"{}"}})", detail));
}

} // namespace coordinator::service_test
