#pragma once

#include "deadline.hpp"
#include "response.hpp"

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace coordinator::service_test {

/// The socket did not do what the test relied on: refused, reset, ended early or silent past the deadline.
struct transport_error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct connection_options {
  int receive_buffer = 0; ///< SO_RCVBUF in bytes; 0: the system's choice. Makes a slow reader block its server early.
};

enum class reply_body {
  expected,
  absent, ///< The reply to HEAD: framed like that to GET, without the body.
};

/// One TCP connection to a server on the loopback interface. It sends exactly the bytes it is given and reads HTTP/1.x
/// responses, one after the other. Every wait has a deadline. For one thread at a time.
class connection {
public:
  explicit connection(std::uint16_t port, const connection_options& options = {});
  connection(connection&& other) noexcept;
  connection& operator=(connection&& other) noexcept;
  ~connection();

  /// Sends all of `bytes`; throws when the peer does not take them in time.
  void send(std::string_view bytes, deadline limit = 10s);

  /// Like `send`, for peers that may have closed: false when they have.
  bool try_send(std::string_view bytes, deadline limit = 10s);

  /// Reads one response, an interim (1xx) one included. Bytes after it are kept for the next call.
  response read_response(reply_body body = reply_body::expected, deadline limit = 10s);

  /// Between 1 and `at_most` of the bytes that come next, framing and all; empty at the end of the stream.
  std::string read_some(std::size_t at_most, deadline limit = 10s);

  /// Everything up to the end of the stream. A reset counts as an end here.
  std::string read_to_end(deadline limit = 10s);

  /// All responses up to the end of the stream, or up to a reset.
  std::vector<response> read_responses_to_end(deadline limit = 10s);

  /// Whether the peer ends the connection in time without having sent anything more.
  bool ends(deadline limit);

  /// Whether nothing has arrived until then, neither bytes nor the end of the stream.
  bool stays_silent(deadline end);

  /// Whether the peer's system has taken in all that was sent.
  bool delivered(deadline limit = 10s) const;

  /// Half-closes: the peer sees the end of our stream, and can still send.
  void finish_sending();

  /// Ends the connection with a reset, as a client does that crashes or loses interest.
  void reset();

  void close() noexcept;

private:
  enum class filled { yes, end_of_stream, timed_out };
  filled fill(deadline limit);

  int socket_ = -1;
  std::string unread_;
};

/// Whether a connection attempt succeeds or is refused, now.
bool accepts_connections(std::uint16_t port);
bool refuses_connections(std::uint16_t port);

/// A port on which nobody listened a moment ago.
std::uint16_t free_port();

} // namespace coordinator::service_test
