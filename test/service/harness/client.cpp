#include "client.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace coordinator::service_test {

std::string render_request(std::string_view method, std::string_view target, std::string_view body,
                           const header_list& headers) {
  const auto given = [&](std::string_view name) {
    return std::any_of(headers.begin(), headers.end(),
                       [&](const auto& header) { return equals_ignoring_case(header.first, name); });
  };
  auto result = fmt::format("{} {} HTTP/1.1\r\n", method, target);
  const auto add = [&](std::string_view name, std::string_view value) {
    fmt::format_to(std::back_inserter(result), "{}: {}\r\n", name, value);
  };
  if (!given("Host"))
    add("Host", "localhost");
  for (const auto& [name, value] : headers)
    add(name, value);
  if (!body.empty() && !given("Content-Type"))
    add("Content-Type", "application/json");
  if (!given("Content-Length") && !given("Transfer-Encoding") && (!body.empty() || method == "POST" || method == "PUT"))
    add("Content-Length", std::to_string(body.size()));
  result += "\r\n";
  result += body;
  return result;
}

client::client(std::uint16_t port) : port_{port} {}

response client::send(std::string_view method, std::string_view target, std::string_view body,
                      const header_list& headers) {
  if (!connection_)
    connection_.emplace(port_);
  try {
    connection_->send(render_request(method, target, body, headers));
    auto result = connection_->read_response(method == "HEAD" ? reply_body::absent : reply_body::expected);
    if (result.closes())
      connection_.reset();
    return result;
  } catch (...) {
    connection_.reset(); // where its next response starts is unknown
    throw;
  }
}

response client::get(std::string_view target, const header_list& headers) {
  return send("GET", target, {}, headers);
}

response client::head(std::string_view target, const header_list& headers) {
  return send("HEAD", target, {}, headers);
}

response client::put(std::string_view target, const header_list& headers) {
  return send("PUT", target, {}, headers);
}

response client::post(std::string_view target, std::string_view body, const header_list& headers) {
  return send("POST", target, body, headers);
}

response client::del(std::string_view target, const header_list& headers) {
  return send("DELETE", target, {}, headers);
}

} // namespace coordinator::service_test
