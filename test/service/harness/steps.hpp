#pragma once

#include "connection.hpp"

#include <cstdint>
#include <string_view>

namespace coordinator::service_test {

/// Sends a request in parts such that a service with one HTTP thread has read each before the next is sent. After each
/// part it asks for something on a connection of its own: the thread that answers that has been past the part.
class stepwise_sender {
public:
  stepwise_sender(connection& to, std::uint16_t port);

  void send(std::string_view part);
  void send_byte_by_byte(std::string_view bytes);

private:
  connection& to_;
  connection bystander_;
};

} // namespace coordinator::service_test
