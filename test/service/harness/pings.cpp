#include "pings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace coordinator::service_test {

coordinator_options with_ping(std::vector<std::string> flags) {
  coordinator_options result;
  result.binary = COORDINATOR_WITH_PING_BINARY;
  result.flags = std::move(flags);
  if (std::find(result.flags.begin(), result.flags.end(), "--instance-timeout") == result.flags.end())
    result.flags.insert(result.flags.end(), {"--instance-timeout", "3600"});
  return result;
}

std::string ping_path(std::string_view id) {
  return "/ping/" + percent_encoded(id);
}

std::vector<connection> start_pings(std::uint16_t port, const std::vector<std::string>& ids) {
  std::vector<connection> result;
  for (const auto& id : ids) {
    result.emplace_back(port);
    result.back().send(render_request("GET", ping_path(id)));
  }
  return result;
}

std::string outcome_of(const response& reply) {
  if (reply.status != 200)
    throw std::runtime_error{fmt::format("a ping got {}: {}", reply.status, reply.body)};
  return reply.body_json()["outcome"].text();
}

response register_at(client& to, std::string_view id, std::uint16_t server_port) {
  return register_instance(to, {.instance_id = std::string{id}, .ip = "127.0.0.1", .http_port = server_port});
}

std::vector<std::string> register_many_at(client& to, std::string_view prefix, int count, std::uint16_t server_port) {
  std::vector<std::string> ids;
  for (int i = 0; i < count; ++i) {
    ids.push_back(fmt::format("{}-{}", prefix, i));
    register_at(to, ids.back(), server_port);
  }
  return ids;
}

} // namespace coordinator::service_test
