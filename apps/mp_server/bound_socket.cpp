#include "apps/mp_server/bound_socket.hpp"

#include <fmt/format.h>

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>

namespace mp_server {

std::variant<bound_socket, std::string> bound_socket::bind(const std::string& host, std::uint16_t port) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  if (const int error = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found); error != 0)
    return fmt::format("cannot resolve the address {} to listen on: {}", host, ::gai_strerror(error));
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owned{found, &::freeaddrinfo};
  bound_socket made{::socket(found->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)};
  const int on = 1;
  // Also lets several sockets of this process have the address, of which one at a time listens.
  if (made.descriptor_ < 0 || ::setsockopt(made.descriptor_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0
      || ::bind(made.descriptor_, found->ai_addr, found->ai_addrlen) != 0)
    return fmt::format("cannot listen on {} port {}: {}", host, port, std::strerror(errno));
  return made;
}

bound_socket::~bound_socket() {
  if (descriptor_ >= 0)
    ::close(descriptor_);
}

std::uint16_t bound_socket::port() const noexcept {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  ::getsockname(descriptor_, reinterpret_cast<sockaddr*>(&address), &size);
  return ntohs(address.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6&>(address).sin6_port
                                             : reinterpret_cast<sockaddr_in&>(address).sin_port);
}

} // namespace mp_server
