#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>

namespace mp_server {

/// A TCP socket that has an address and does not listen yet. As long as there is one nobody else gets the port, while
/// connections to it are refused, and sockets of this process can listen on the same address.
class bound_socket {
public:
  /// Port 0: any free one. What went wrong instead, for people.
  static std::variant<bound_socket, std::string> bind(const std::string& host, std::uint16_t port);

  bound_socket(bound_socket&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  bound_socket& operator=(bound_socket&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  ~bound_socket();

  std::uint16_t port() const noexcept;
  int descriptor() const noexcept { return descriptor_; }

private:
  explicit bound_socket(int descriptor) noexcept : descriptor_(descriptor) {}

  int descriptor_;
};

} // namespace mp_server
