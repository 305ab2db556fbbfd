#include "fleet.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <stdexcept>

namespace coordinator::service_test {

namespace {

constexpr std::size_t pipeline_depth = 64;

} // namespace

std::string to_json(const registration& value) {
  auto result = fmt::format(R"({{"ip":{},"http_port":{})", quoted(value.ip), value.http_port);
  if (!value.instance_id.empty())
    result += fmt::format(R"(,"instance_id":{})", quoted(value.instance_id));
  if (!value.metadata.empty()) {
    result += R"(,"metadata":{)";
    const char* separator = "";
    for (const auto& [name, text] : value.metadata) {
      result += fmt::format("{}{}:{}", separator, quoted(name), quoted(text));
      separator = ",";
    }
    result += "}";
  }
  if (!value.p2p_advertised_url.empty())
    result += fmt::format(R"(,"p2p_advertised_url":{})", quoted(value.p2p_advertised_url));
  if (value.mq_port != 0)
    result += fmt::format(R"(,"mq_port":{})", value.mq_port);
  return result + "}";
}

std::string percent_encoded(std::string_view id) {
  std::string result;
  for (const char byte : id) {
    const bool plain = (byte >= '0' && byte <= '9') || (byte >= 'A' && byte <= 'Z') || (byte >= 'a' && byte <= 'z')
                       || std::string_view{"-._~"}.find(byte) != std::string_view::npos;
    result += plain ? std::string{byte} : fmt::format("%{:02X}", static_cast<unsigned char>(byte));
  }
  return result;
}

std::string instance_path(std::string_view id) {
  return "/instances/" + percent_encoded(id);
}

std::string heartbeat_path(std::string_view id) {
  return instance_path(id) + "/heartbeat";
}

response register_instance(client& to, const registration& value) {
  return to.post("/instances", to_json(value));
}

response register_instance(client& to, std::string_view id) {
  return register_instance(to, registration{.instance_id = std::string{id}});
}

response heartbeat(client& to, std::string_view id, const header_list& headers) {
  return to.put(heartbeat_path(id), headers);
}

void register_all(std::uint16_t port, const std::vector<registration>& values) {
  connection to{port};
  for (std::size_t start = 0; start < values.size(); start += pipeline_depth) {
    const auto end = std::min(start + pipeline_depth, values.size());
    std::string requests;
    for (auto i = start; i < end; ++i)
      requests += render_request("POST", "/instances", to_json(values[i]));
    to.send(requests);
    for (auto i = start; i < end; ++i) {
      const auto reply = to.read_response();
      if (reply.status != 200)
        throw std::runtime_error{
            fmt::format("registration of {} got {}: {}", values[i].instance_id, reply.status, reply.body)};
    }
  }
}

std::vector<registration> numbered_registrations(std::string_view prefix, std::size_t count) {
  std::vector<registration> result;
  for (std::size_t i = 0; i < count; ++i)
    result.push_back(
        {.instance_id = fmt::format("{}-{}", prefix, i), .http_port = 10000 + static_cast<int>(i % 50000)});
  return result;
}

void register_a_long_list(std::uint16_t port) {
  auto fleet = numbered_registrations("member", 5000);
  for (auto& one : fleet)
    one.metadata = {{"zone", "a"}, {"filler", std::string(2000, 'x')}};
  register_all(port, fleet);
}

std::vector<std::string> ids_in(const response& list) {
  std::vector<std::string> result;
  for (const auto& row : list.body_json()["instances"].items())
    result.push_back(row["instance_id"].text());
  return result;
}

std::string rows_in(const response& list) {
  return list.body.substr(0, list.body.rfind(R"(,"version":)"));
}

std::vector<std::string> listed_ids(client& to) {
  return ids_in(to.get("/instances"));
}

bool is_listed(client& to, std::string_view id) {
  const auto ids = listed_ids(to);
  return std::find(ids.begin(), ids.end(), id) != ids.end();
}

json listed_row(client& to, std::string_view id) {
  const auto list = to.get("/instances");
  for (const auto& row : list.body_json()["instances"].items())
    if (row["instance_id"].text() == id)
      return row;
  throw std::runtime_error{fmt::format("{} is not in the list {}", id, list.body)};
}

boost::test_tools::assertion_result is_alive(std::uint16_t port) {
  static std::atomic<unsigned> rounds{0};
  const auto dead = [](const std::string& why) {
    boost::test_tools::assertion_result result{false};
    result.message() << why;
    return result;
  };
  const auto id = fmt::format("scratch-{}", ++rounds);
  try {
    const auto start = monotonic_clock::now();
    client stranger{port};
    if (const auto reply = stranger.get("/healthz"); reply.status != 200)
      return dead(fmt::format("GET /healthz got {}", reply.status));
    if (const auto took = seconds_since(start); took > 1)
      return dead(fmt::format("GET /healthz took {} s", took));
    if (const auto reply = register_instance(stranger, id); reply.status != 200)
      return dead(fmt::format("a registration got {}: {}", reply.status, reply.body));
    if (const auto reply = heartbeat(stranger, id); reply.status != 200)
      return dead(fmt::format("a heartbeat got {}: {}", reply.status, reply.body));
    if (!is_listed(stranger, id))
      return dead("a registered instance is not listed");
    if (const auto reply = stranger.del(instance_path(id)); reply.status != 204)
      return dead(fmt::format("a DELETE got {}: {}", reply.status, reply.body));
    if (is_listed(stranger, id))
      return dead("a deleted instance is listed");
  } catch (const std::exception& problem) {
    return dead(problem.what());
  }
  return true;
}

} // namespace coordinator::service_test
