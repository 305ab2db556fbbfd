#include "connection.hpp"

#include <fmt/format.h>

#include <arpa/inet.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <utility>

namespace coordinator::service_test {

namespace {

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

[[noreturn]] void fail(const std::string& what) {
  throw transport_error{what};
}

[[noreturn]] void fail_with_errno(const char* what) {
  fail(fmt::format("{}: {}", what, std::strerror(errno)));
}

/// False when the deadline passes first.
bool wait_for(int socket, short events, const deadline& limit) {
  pollfd entry{socket, events, 0};
  for (;;) {
    const int ready = ::poll(&entry, 1, limit.poll_timeout());
    if (ready > 0)
      return true;
    if (ready == 0)
      return false;
    if (errno != EINTR)
      fail_with_errno("poll");
  }
}

/// A non-blocking socket, connected; or -1 with `errno` set.
int connected_socket(std::uint16_t port, const connection_options& options, const deadline& limit) {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (socket < 0)
    return -1;
  const int yes = 1;
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  // Before connecting: the window that is offered to the peer is derived from it then.
  if (options.receive_buffer > 0)
    ::setsockopt(socket, SOL_SOCKET, SO_RCVBUF, &options.receive_buffer, sizeof options.receive_buffer);
  const auto address = loopback(port);
  int why = 0;
  if (::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    why = errno;
    if (why == EINPROGRESS) {
      socklen_t size = sizeof why;
      if (!wait_for(socket, POLLOUT, limit))
        why = ETIMEDOUT;
      else if (::getsockopt(socket, SOL_SOCKET, SO_ERROR, &why, &size) != 0)
        why = errno;
    }
  }
  if (why == 0)
    return socket;
  ::close(socket);
  errno = why;
  return -1;
}

std::size_t number(std::string_view text, int base) {
  std::size_t result = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), result, base);
  if (error != std::errc{} || end != text.data() + text.size())
    fail(fmt::format("the server sent a bad length: '{}'", text));
  return result;
}

response parse_head(std::string_view head) {
  response result;
  auto lines = lines_of(head);
  for (auto& line : lines) {
    if (line.empty() || line.back() != '\r')
      fail(fmt::format("the server ended a line without CR LF: {}", head));
    line.pop_back();
  }
  const auto& status_line = lines.front();
  if (status_line.size() < 12 || !status_line.starts_with("HTTP/1."))
    fail(fmt::format("not a status line: '{}'", status_line));
  result.version = status_line.substr(0, 8);
  result.status = static_cast<int>(number(std::string_view{status_line}.substr(9, 3), 10));
  result.reason = status_line.size() > 13 ? status_line.substr(13) : "";
  for (std::size_t i = 1; i < lines.size(); ++i) {
    const auto colon = lines[i].find(':');
    if (colon == std::string::npos || colon == 0)
      fail(fmt::format("not a header line: '{}'", lines[i]));
    result.headers.emplace_back(lines[i].substr(0, colon), split(lines[i].substr(colon + 1), '\n').front());
  }
  return result;
}

} // namespace

connection::connection(std::uint16_t port, const connection_options& options)
    : socket_{connected_socket(port, options, 10s)} {
  if (socket_ < 0)
    fail_with_errno("connect");
}

connection::connection(connection&& other) noexcept
    : socket_{std::exchange(other.socket_, -1)}, unread_{std::move(other.unread_)} {}

connection& connection::operator=(connection&& other) noexcept {
  std::swap(socket_, other.socket_);
  std::swap(unread_, other.unread_);
  return *this;
}

connection::~connection() {
  close();
}

void connection::send(std::string_view bytes, deadline limit) {
  if (!try_send(bytes, limit))
    fail("the server closed the connection while a request was sent");
}

bool connection::try_send(std::string_view bytes, deadline limit) {
  while (!bytes.empty()) {
    const auto sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent >= 0)
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    else if (errno == EAGAIN) {
      if (!wait_for(socket_, POLLOUT, limit))
        fail("the server does not take what is sent");
    } else if (errno == EPIPE || errno == ECONNRESET)
      return false;
    else if (errno != EINTR)
      fail_with_errno("send");
  }
  return true;
}

connection::filled connection::fill(deadline limit) {
  char buffer[64 * 1024];
  for (;;) {
    const auto got = ::recv(socket_, buffer, sizeof buffer, 0);
    if (got > 0) {
      unread_.append(buffer, static_cast<std::size_t>(got));
      return filled::yes;
    }
    if (got == 0)
      return filled::end_of_stream;
    if (errno == EAGAIN) {
      if (!wait_for(socket_, POLLIN, limit))
        return filled::timed_out;
    } else if (errno != EINTR)
      fail_with_errno("recv");
  }
}

response connection::read_response(reply_body body, deadline limit) {
  const auto need_more = [&](const char* part) {
    switch (fill(limit)) {
    case filled::yes:
      return;
    case filled::end_of_stream:
      fail(fmt::format("the connection ended in the {} of a response; got '{}'", part, unread_));
    case filled::timed_out:
      fail(fmt::format("no more of the {} of a response in time; got '{}'", part, unread_));
    }
  };
  auto head_end = std::string::npos;
  while ((head_end = unread_.find("\r\n\r\n")) == std::string::npos)
    need_more("head");
  auto result = parse_head(std::string_view{unread_}.substr(0, head_end + 2));
  unread_.erase(0, head_end + 4);

  if (body == reply_body::absent || result.status < 200 || result.status == 204 || result.status == 304)
    return result;

  const auto take = [&](std::size_t bytes) {
    while (unread_.size() < bytes)
      need_more("body");
    auto taken = unread_.substr(0, bytes);
    unread_.erase(0, bytes);
    return taken;
  };
  if (equals_ignoring_case(result.header_text("Transfer-Encoding"), "chunked")) {
    for (;;) {
      auto line_end = std::string::npos;
      while ((line_end = unread_.find("\r\n")) == std::string::npos)
        need_more("chunk size");
      const auto size = number(std::string_view{unread_}.substr(0, line_end), 16);
      unread_.erase(0, line_end + 2);
      result.body += take(size);
      if (take(2) != "\r\n")
        fail("the server sent a chunk without its end");
      if (size == 0)
        return result;
    }
  }
  if (const auto length = result.header("Content-Length")) {
    result.body = take(number(*length, 10));
    return result;
  }
  if (!result.closes())
    fail("the server sent a response whose length can't be told");
  result.body = read_to_end(limit);
  return result;
}

std::string connection::read_some(std::size_t at_most, deadline limit) {
  if (unread_.empty()) {
    // Not more than asked for: what stays in the socket is what makes this a slow reader.
    std::string buffer(at_most, '\0');
    for (;;) {
      const auto got = ::recv(socket_, buffer.data(), buffer.size(), 0);
      if (got >= 0) {
        buffer.resize(static_cast<std::size_t>(got));
        return buffer;
      }
      if (errno == EAGAIN) {
        if (!wait_for(socket_, POLLIN, limit))
          fail("nothing arrives in time");
      } else if (errno != EINTR)
        fail_with_errno("recv");
    }
  }
  auto result = unread_.substr(0, at_most);
  unread_.erase(0, result.size());
  return result;
}

std::string connection::read_to_end(deadline limit) {
  for (;;) {
    filled outcome = filled::end_of_stream;
    try {
      outcome = fill(limit);
    } catch (const transport_error&) {
      // a reset: an end like any other to whoever asks for all there is
    }
    if (outcome == filled::timed_out)
      fail(fmt::format("the server keeps the connection open; got '{}'", unread_.substr(0, 2000)));
    if (outcome == filled::end_of_stream)
      return std::exchange(unread_, {});
  }
}

std::vector<response> connection::read_responses_to_end(deadline limit) {
  std::vector<response> result;
  while (!ends(limit)) {
    if (limit.passed())
      fail("the server keeps the connection open");
    result.push_back(read_response(reply_body::expected, limit));
  }
  return result;
}

bool connection::ends(deadline limit) {
  if (!unread_.empty())
    return false;
  try {
    return fill(limit) == filled::end_of_stream;
  } catch (const transport_error&) {
    return true;
  }
}

bool connection::stays_silent(deadline end) {
  return unread_.empty() && !wait_for(socket_, POLLIN, end);
}

bool connection::delivered(deadline limit) const {
  return eventually(limit, [&] {
    int outstanding = 0;
    return ::ioctl(socket_, SIOCOUTQ, &outstanding) == 0 && outstanding == 0;
  });
}

void connection::finish_sending() {
  ::shutdown(socket_, SHUT_WR);
}

void connection::reset() {
  const linger at_once{1, 0};
  ::setsockopt(socket_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  close();
}

void connection::close() noexcept {
  if (socket_ >= 0)
    ::close(std::exchange(socket_, -1));
}

bool accepts_connections(std::uint16_t port) {
  const int socket = connected_socket(port, {}, 5s);
  if (socket >= 0)
    ::close(socket);
  return socket >= 0;
}

bool refuses_connections(std::uint16_t port) {
  return !accepts_connections(port) && errno == ECONNREFUSED;
}

std::uint16_t free_port() {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  auto address = loopback(0);
  socklen_t size = sizeof address;
  const bool bound = ::bind(socket, reinterpret_cast<const sockaddr*>(&address), size) == 0
                     && ::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) == 0;
  ::close(socket);
  if (!bound)
    fail("no free port");
  return ntohs(address.sin_port);
}

} // namespace coordinator::service_test
