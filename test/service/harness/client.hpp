#pragma once

#include "connection.hpp"
#include "response.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace coordinator::service_test {

using header_list = std::vector<std::pair<std::string, std::string>>;

/// The text of an HTTP/1.1 request. `Host` is added unless given; so is `Content-Length` for a body and for POST and
/// PUT, and `Content-Type: application/json` for a body.
std::string render_request(std::string_view method, std::string_view target, std::string_view body = {},
                           const header_list& headers = {});

/// An HTTP client that keeps its connection for as long as the server does. For one thread at a time.
class client {
public:
  explicit client(std::uint16_t port);

  response send(std::string_view method, std::string_view target, std::string_view body = {},
                const header_list& headers = {});

  response get(std::string_view target, const header_list& headers = {});
  response head(std::string_view target, const header_list& headers = {});
  response put(std::string_view target, const header_list& headers = {});
  response post(std::string_view target, std::string_view body, const header_list& headers = {});
  response del(std::string_view target, const header_list& headers = {});

private:
  std::uint16_t port_;
  std::optional<connection> connection_;
};

} // namespace coordinator::service_test
