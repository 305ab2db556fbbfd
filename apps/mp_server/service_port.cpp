#include "apps/mp_server/service_port.hpp"

#include <utility>
#include <variant>

namespace mp_server {

std::optional<std::string> service_port::open(std::uint16_t port) {
  auto bound = bound_socket::bind(host_, port);
  if (auto* problem = std::get_if<std::string>(&bound))
    return std::move(*problem);
  held_.emplace(std::move(std::get<bound_socket>(bound)));
  return set_mode(socket_mode::serve);
}

std::optional<std::string> service_port::set_mode(socket_mode mode) {
  serving_.reset();
  dead_.reset();
  mode_ = socket_mode::refuse;
  if (mode == socket_mode::serve) {
    auto starting = std::make_unique<endpoint>(host_, port(), routes_, system_);
    if (auto problem = starting->start())
      return problem;
    serving_ = std::move(starting);
  } else if (mode != socket_mode::refuse) {
    auto listening = dead_socket::listen(host_, port(), mode);
    if (auto* problem = std::get_if<std::string>(&listening))
      return std::move(*problem);
    dead_ = std::move(std::get<std::unique_ptr<dead_socket>>(listening));
  }
  mode_ = mode;
  return std::nullopt;
}

} // namespace mp_server
