#pragma once

#include "client.hpp"
#include "json.hpp"
#include "response.hpp"

#include <boost/test/tools/assertion_result.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// What tests say about membership, in the words of the API.

namespace coordinator::service_test {

/// Body of `POST /instances`. Members that are at their default are left out, as an older server would.
struct registration {
  std::string instance_id;
  std::string ip = "192.0.2.1";
  int http_port = 8080;
  std::vector<std::pair<std::string, std::string>> metadata = {};
  std::string p2p_advertised_url = {};
  int mq_port = 0;
};

std::string to_json(const registration& value);

/// `id` as one path segment.
std::string percent_encoded(std::string_view id);
std::string instance_path(std::string_view id);
std::string heartbeat_path(std::string_view id);

response register_instance(client& to, const registration& value);
/// The same with only an id that matters.
response register_instance(client& to, std::string_view id);
response heartbeat(client& to, std::string_view id, const header_list& headers = {});

/// Registers all of them over one connection, many at a time; throws unless each is accepted.
void register_all(std::uint16_t port, const std::vector<registration>& values);

/// `count` registrations with ids `PREFIX-0`, `PREFIX-1`, … and addresses of their own.
std::vector<registration> numbered_registrations(std::string_view prefix, std::size_t count);

/// Registers a fleet whose list is too long for the buffers of a connection (4 MiB at most by default): a client that
/// does not read it leaves the service with a reply half sent.
void register_a_long_list(std::uint16_t port);

/// The text of a list up to its version: equal for fleets of equal rows.
std::string rows_in(const response& list);
std::vector<std::string> ids_in(const response& list);
std::vector<std::string> listed_ids(client& to);
bool is_listed(client& to, std::string_view id);
/// The row of that instance in the list; throws when there is none.
json listed_row(client& to, std::string_view id);

/// Whether a stranger is served: a fresh connection gets its health answer within a second, and an instance of its own
/// can be registered, heartbeated, listed and deleted. Says what went wrong otherwise.
boost::test_tools::assertion_result is_alive(std::uint16_t port);

} // namespace coordinator::service_test
