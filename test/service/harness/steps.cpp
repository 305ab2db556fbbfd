#include "steps.hpp"

namespace coordinator::service_test {

stepwise_sender::stepwise_sender(connection& to, std::uint16_t port) : to_{to}, bystander_{port} {}

void stepwise_sender::send(std::string_view part) {
  to_.send(part);
  to_.delivered();
  bystander_.send("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n");
  bystander_.read_response();
}

void stepwise_sender::send_byte_by_byte(std::string_view bytes) {
  for (std::size_t i = 0; i < bytes.size(); ++i)
    send(bytes.substr(i, 1));
}

} // namespace coordinator::service_test
