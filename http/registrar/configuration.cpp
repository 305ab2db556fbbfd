#include "http/registrar/configuration.hpp"

#include "schema/address.hpp"
#include "schema/identifier.hpp"
#include "schema/instance.hpp"
#include "schema/json_text.hpp"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <set>
#include <utility>

namespace mp_registrar {

namespace {

namespace schema = coordinator::schema;

constexpr double shortest_interval_seconds = 0.001;
constexpr double longest_interval_seconds = 366.0 * 24 * 3600;
constexpr auto longest_stop_timeout = std::chrono::hours{1};

struct url_deleter {
  void operator()(CURLU* url) const noexcept { curl_url_cleanup(url); }
};

/// A URL as the one who is going to call it reads it.
class parsed_url {
public:
  explicit parsed_url(const std::string& text) : url_{curl_url()} {
    is_good_ = url_ && text.find('\0') == std::string::npos
               && curl_url_set(url_.get(), CURLUPART_URL, text.c_str(), 0) == CURLUE_OK;
  }

  bool is_good() const noexcept { return is_good_; }

  /// Empty when there is no such part.
  std::string part(CURLUPart which) const {
    char* text = nullptr;
    if (!is_good_ || curl_url_get(url_.get(), which, &text, 0) != CURLUE_OK)
      return {};
    std::string result{text};
    curl_free(text);
    return result;
  }

private:
  std::unique_ptr<CURLU, url_deleter> url_;
  bool is_good_ = false;
};

std::string quoted(std::string_view text) {
  return schema::echo(text);
}

std::string strip(std::string_view text) {
  return std::string{schema::stripped(text)};
}

std::optional<std::string> metadata_problem(const schema::metadata& labels) {
  std::set<std::string_view> names;
  std::size_t bytes = 0;
  for (const auto& [name, value] : labels) {
    if (!names.insert(name).second)
      return "must not have the same name twice: " + quoted(name);
    if (!schema::is_valid_utf8(name) || !schema::is_valid_utf8(value))
      return "must be valid UTF-8: " + quoted(name);
    bytes += name.size() + value.size();
  }
  if (labels.size() > schema::max_metadata_entries)
    return "must have at most " + std::to_string(schema::max_metadata_entries) + " entries, not "
           + std::to_string(labels.size());
  if (bytes > schema::max_metadata_bytes)
    return "must have at most " + std::to_string(schema::max_metadata_bytes) + " bytes, names and values together, not "
           + std::to_string(bytes);
  return std::nullopt;
}

std::optional<std::string> p2p_url_problem(const std::string& url) {
  if (!schema::is_valid_utf8(url))
    return "must be valid UTF-8";
  if (url.size() > schema::max_advertised_url_bytes)
    return "must have at most " + std::to_string(schema::max_advertised_url_bytes) + " bytes, not "
           + std::to_string(url.size());
  return std::nullopt;
}

/// Of the interface through which packets to that address would leave.
std::optional<std::string> address_towards(const sockaddr* destination, socklen_t length) {
  const int socket = ::socket(destination->sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (socket < 0)
    return std::nullopt;
  sockaddr_storage own{};
  socklen_t own_length = sizeof own;
  // Connecting a datagram socket chooses the route and sends nothing.
  const bool found = connect(socket, destination, length) == 0
                     && getsockname(socket, reinterpret_cast<sockaddr*>(&own), &own_length) == 0;
  close(socket);
  if (!found)
    return std::nullopt;
  char text[INET6_ADDRSTRLEN] = {};
  if (own.ss_family == AF_INET)
    inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in&>(own).sin_addr, text, sizeof text);
  else
    inet_ntop(AF_INET6, &reinterpret_cast<const sockaddr_in6&>(own).sin6_addr, text, sizeof text);
  std::string address{text};
  if (schema::address_problem(address)) // a wildcard: there is no route
    return std::nullopt;
  return address;
}

std::optional<std::string> address_towards_ipv4(const std::string& literal) {
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(9); // any but 0
  if (inet_pton(AF_INET, literal.c_str(), &to.sin_addr) != 1)
    return std::nullopt;
  return address_towards(reinterpret_cast<const sockaddr*>(&to), sizeof to);
}

std::optional<std::string> address_towards_ipv6(const std::string& literal) {
  sockaddr_in6 to{};
  to.sin6_family = AF_INET6;
  to.sin6_port = htons(9);
  if (inet_pton(AF_INET6, literal.c_str(), &to.sin6_addr) != 1)
    return std::nullopt;
  return address_towards(reinterpret_cast<const sockaddr*>(&to), sizeof to);
}

bool is_literal(int family, const std::string& host) {
  in6_addr bytes;
  return inet_pton(family, host.c_str(), &bytes) == 1;
}

} // namespace

std::optional<std::string> coordinator_url_problem(const std::string& url) {
  const parsed_url parsed{url};
  const auto scheme = parsed.part(CURLUPART_SCHEME);
  const auto port = parsed.part(CURLUPART_PORT);
  // Curl would take `host:9300` for a URL and guess the rest of it.
  const bool is_complete = (url.starts_with("http://") || url.starts_with("https://")) && url.find("///") > url.size();
  if (!parsed.is_good() || !is_complete || (scheme != "http" && scheme != "https")
      || parsed.part(CURLUPART_HOST).empty() || port == "0")
    return "must be http://HOST:PORT or https://HOST:PORT, optionally followed by a path, not " + quoted(url);
  if (url.find_first_of("?#") != std::string::npos)
    return "must have neither a query nor a fragment, unlike " + quoted(url);
  if (!parsed.part(CURLUPART_USER).empty() || !parsed.part(CURLUPART_PASSWORD).empty())
    return "must not carry credentials, which would end up in logs";
  return std::nullopt;
}

std::optional<std::string> heartbeat_interval_problem(std::chrono::duration<double> interval) {
  const auto seconds = interval.count();
  if (seconds >= shortest_interval_seconds && seconds <= longest_interval_seconds) // false for NaN
    return std::nullopt;
  std::string given;
  schema::append_number(given, seconds);
  return "must be a number of seconds from 0.001 to 31622400, not " + given;
}

configuration_problems normalise(options& how) {
  configuration_problems found;
  const auto check = [&found](std::string_view field, std::optional<std::string> problem) {
    if (problem)
      found.push_back({std::string{field}, std::move(*problem)});
  };

  const auto problems_before = found.size();
  for (auto& url : how.coordinator_urls) {
    url = strip(url);
    check("coordinator_urls", coordinator_url_problem(url));
  }
  const bool urls_are_good = found.size() == problems_before;

  how.advertise_ip = strip(how.advertise_ip);
  if (!how.advertise_ip.empty()) {
    if (const auto problem = schema::address_problem(how.advertise_ip))
      check("advertise_ip", *problem + ": " + quoted(how.advertise_ip));
    how.advertise_ip = std::string{schema::without_brackets(how.advertise_ip)};
  } else if (urls_are_good) {
    if (auto own = detect_own_address(how.coordinator_urls.front()))
      how.advertise_ip = std::move(*own);
    else
      check("advertise_ip", "must be set: this machine has no route from which to tell its own address");
  }

  if (how.http_port == 0)
    check("http_port", "must be a port from 1 to 65535, not 0");

  how.instance_id = strip(how.instance_id);
  if (how.instance_id.empty())
    how.instance_id = schema::generate_instance_id();
  else if (const auto problem = schema::identifier_problem(how.instance_id))
    check("instance_id", *problem);

  check("metadata", metadata_problem(how.metadata));
  how.p2p_advertised_url = strip(how.p2p_advertised_url);
  check("p2p_advertised_url", p2p_url_problem(how.p2p_advertised_url));
  check("heartbeat_interval", heartbeat_interval_problem(how.heartbeat_interval));
  if (how.stop_timeout < std::chrono::nanoseconds::zero() || how.stop_timeout > longest_stop_timeout)
    check("stop_timeout", "must be from 0 to 3600 seconds");
  return found;
}

std::optional<std::string> detect_own_address(const std::string& coordinator_url) {
  auto host = parsed_url{coordinator_url}.part(CURLUPART_HOST);
  host = std::string{schema::without_brackets(host)};
  if (is_literal(AF_INET, host))
    return address_towards_ipv4(host);
  if (is_literal(AF_INET6, host))
    return address_towards_ipv6(host);
  if (schema::canonical_address(host) == "localhost")
    return address_towards_ipv4("127.0.0.1");
  // Addresses that documents use as examples: nobody's, and so reached by the default route.
  if (auto own = address_towards_ipv4("192.0.2.1"))
    return own;
  return address_towards_ipv6("2001:db8::1");
}

} // namespace mp_registrar
