#include "schema/address.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <cstddef>

namespace coordinator::schema {

namespace {

constexpr std::size_t max_address_bytes = 253; // of a host name in text form (RFC 1035)
constexpr std::size_t max_label_bytes = 63;
constexpr std::string_view digits = "0123456789";

bool is_digit(char c) noexcept {
  return c >= '0' && c <= '9';
}
bool is_letter(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/// The raw bytes of an IP address, in network order.
struct ip_address {
  int family = AF_UNSPEC; ///< `AF_UNSPEC`: the text was not one.
  std::array<unsigned char, 16> bytes{};

  explicit operator bool() const noexcept { return family != AF_UNSPEC; }

  std::size_t size() const noexcept { return family == AF_INET ? 4 : 16; }

  bool zero_between(std::size_t from, std::size_t to) const noexcept {
    return std::all_of(bytes.begin() + static_cast<std::ptrdiff_t>(from),
                       bytes.begin() + static_cast<std::ptrdiff_t>(to), [](unsigned char byte) { return byte == 0; });
  }

  /// An IPv4 address in IPv6 form, such as `::ffff:192.0.2.1`.
  bool is_mapped() const noexcept {
    return family == AF_INET6 && zero_between(0, 10) && bytes[10] == 0xFF && bytes[11] == 0xFF;
  }

  bool is_wildcard() const noexcept { return zero_between(is_mapped() ? 12 : 0, size()); }
};

/// `text` must not contain NUL, which the C functions would take for its end.
ip_address read_ip(int family, std::string_view text) {
  ip_address result;
  if (inet_pton(family, std::string{text}.c_str(), result.bytes.data()) == 1)
    result.family = family;
  return result;
}

/// An IPv6 address and the zone behind it, as in `fe80::1%eth0`.
struct zoned_address {
  std::string_view address;
  std::string_view zone; ///< With its percent sign; empty when there is none.
};

zoned_address split_zone(std::string_view text) noexcept {
  const auto percent = text.find('%');
  if (percent == std::string_view::npos)
    return {text, {}};
  return {text.substr(0, percent), text.substr(percent)};
}

bool is_zone(std::string_view zone) noexcept {
  return zone.empty() || (zone.size() > 1 && std::all_of(zone.begin() + 1, zone.end(), [](char c) {
                            return is_letter(c) || is_digit(c) || c == '-' || c == '_' || c == '.' || c == '~';
                          }));
}

ip_address read_ipv6(std::string_view text) {
  const auto parts = split_zone(text);
  return is_zone(parts.zone) ? read_ip(AF_INET6, parts.address) : ip_address{};
}

std::string wildcard_problem() {
  return "a wildcard address means every interface and leads nowhere from other machines";
}

std::string port_problem() {
  return "an address must not carry a port, which has a field of its own";
}

bool is_port_suffix(std::string_view text) noexcept {
  return text.starts_with(':') && text.find_first_not_of(digits, 1) == std::string_view::npos;
}

std::optional<std::string> ipv6_problem(std::string_view text) {
  const auto address = read_ipv6(text);
  if (!address)
    return "not a valid IPv6 address";
  if (address.is_wildcard())
    return wildcard_problem();
  return std::nullopt;
}

std::optional<std::string> bracketed_problem(std::string_view text) {
  const auto closing = text.find(']');
  if (closing == std::string_view::npos)
    return "not a valid IPv6 address: the bracket is not closed";
  const auto rest = text.substr(closing + 1);
  if (rest.empty())
    return ipv6_problem(text.substr(1, closing - 1));
  if (is_port_suffix(rest))
    return port_problem();
  return "not a valid IPv6 address: text follows the bracket";
}

std::optional<std::string> host_name_problem(std::string_view text) {
  if (text.ends_with('.')) // the root: `host.example.` is absolute
    text.remove_suffix(1);
  std::size_t start = 0;
  while (start <= text.size()) {
    const auto end = std::min(text.find('.', start), text.size());
    const auto label = text.substr(start, end - start);
    if (label.empty())
      return "not a valid host name: a part between dots is empty";
    if (label.size() > max_label_bytes)
      return "not a valid host name: a part between dots has more than " + std::to_string(max_label_bytes)
             + " characters";
    if (label.front() == '-')
      return "not a valid host name: a part starts with a hyphen";
    if (!std::all_of(label.begin(), label.end(),
                     [](char c) { return is_letter(c) || is_digit(c) || c == '-' || c == '_'; }))
      return "not a valid host name: only letters, digits, hyphens, underscores and dots may occur in it";
    start = end + 1;
  }
  return std::nullopt;
}

std::optional<std::string> ipv4_or_host_name_problem(std::string_view text) {
  if (const auto address = read_ip(AF_INET, text)) {
    if (address.is_wildcard())
      return wildcard_problem();
    return std::nullopt;
  }
  // Resolvers still take the historical spellings of IPv4 addresses (`0`, `0x7f.1`, `010.0.0.1`), though not all of
  // them for the same address.
  in_addr historical{};
  if (inet_aton(std::string{text}.c_str(), &historical) != 0) {
    if (historical.s_addr == 0)
      return wildcard_problem();
    return "not a valid IPv4 address: four decimal numbers without leading zeros are needed";
  }
  if (text.find('.') != std::string_view::npos && text.find_first_not_of("0123456789.") == std::string_view::npos)
    return "not a valid IPv4 address";
  return host_name_problem(text);
}

std::string to_text(const ip_address& address) {
  char text[INET6_ADDRSTRLEN] = {};
  if (address.is_mapped())
    inet_ntop(AF_INET, address.bytes.data() + 12, text, sizeof text);
  else
    inet_ntop(address.family, address.bytes.data(), text, sizeof text);
  return text;
}

} // namespace

std::optional<std::string> address_problem(std::string_view text) {
  if (text.empty())
    return "an address must not be empty";
  if (text.size() > max_address_bytes)
    return "an address has at most " + std::to_string(max_address_bytes) + " bytes, this one has "
           + std::to_string(text.size());
  if (!std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < '\x7F'; }))
    return "an address must not contain blanks, control characters or characters outside of ASCII";
  if (text.find('/') != std::string_view::npos)
    return "an address must not be a URL, only the host in it";
  if (text.starts_with('['))
    return bracketed_problem(text);
  if (const auto colon = text.find(':'); colon != std::string_view::npos) {
    if (is_port_suffix(text.substr(colon)))
      return port_problem();
    return ipv6_problem(text);
  }
  return ipv4_or_host_name_problem(text);
}

std::string_view without_brackets(std::string_view text) noexcept {
  if (text.size() >= 2 && text.front() == '[' && text.back() == ']')
    return text.substr(1, text.size() - 2);
  return text;
}

std::string canonical_address(std::string_view text) {
  text = without_brackets(text);
  if (const auto address = read_ip(AF_INET, text))
    return to_text(address);
  if (const auto address = read_ipv6(text))
    return to_text(address).append(split_zone(text).zone);
  std::string name{text};
  if (name.ends_with('.'))
    name.pop_back();
  std::transform(name.begin(), name.end(), name.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return name;
}

} // namespace coordinator::schema
