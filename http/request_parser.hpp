#pragma once

#include "http/request.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace coordinator::http {

/// Bounds on one request, in bytes unless named otherwise. docs/http.md lists what a client gets past each.
struct request_limits {
  std::size_t request_line = 8 * 1024; ///< Without its line end; 414 past it.
  /// All header lines of a request together, with their line ends; 431 past it. Chunk extensions and trailers
  /// together have the same bound again.
  std::size_t header_section = 64 * 1024;
  std::size_t header_count = 256; ///< 431 past it; bounds trailers too.
  std::size_t body = 1024 * 1024; ///< Decoded body; 413 past it.
};

/// Why a request can't be framed. The connection is closed after the answer, since where the next request
/// starts is unknown.
struct framing_error {
  Code status;
  std::string detail; ///< One sentence for the client, naming what is wrong.
};

/// Frames HTTP/1.x requests out of a byte stream, strictly (RFC 9112), one after the other.
///
/// Holds no bytes of its own: it is given the connection's input buffer, from the first byte of the request on,
/// each time more has arrived, and remembers how far it got, so that its work is linear in the input. A chunked
/// body is decoded in place inside that buffer, and the framing around it is dropped, so that the buffer never holds
/// more than the head, the decoded body, one line of framing and what was read since. No thread safety, no exceptions,
/// no sockets: a plain value that unit tests and the fuzzer drive.
class request_parser {
public:
  enum class progress {
    need_more,     ///< Nothing wrong so far.
    head_complete, ///< Returned once per request with a body, when its head is in: the place to refuse it or to send
                   ///< `100 Continue`.
    complete,      ///< `result()` is the request; `consumed()` bytes of the buffer are its own.
    failed,        ///< `error()` says why. Terminal.
  };

  request_parser() = default;
  explicit request_parser(const request_limits& limits);

  /// Looks at `buffer` (from the first byte of the current request). Between two calls for one request the buffer
  /// may only have grown at its end, though it may have moved in memory. The call itself may shorten the buffer.
  progress parse(std::string& buffer);

  /// The request, after `complete`; after `head_complete` all but its body. Views point into the buffer of the last
  /// call. After `failed` at least its method and version, as far as they had been read.
  const request& result() const noexcept;

  /// Bytes of the buffer that belong to the completed request, framing included.
  std::size_t consumed() const noexcept;

  /// After `head_complete`: whether the client waits for `100 Continue` before it sends the body.
  bool expects_continue() const noexcept;

  /// After `head_complete`: raises or lowers the body bound for this request (a route may allow more). Fails the
  /// request at the next `parse` when its declared length is over it.
  void limit_body(std::size_t bytes) noexcept;

  const framing_error& error() const noexcept;

  /// Whether any byte of the current request has been seen (leading empty lines do not count). Decides between 408
  /// and a silent close on a timeout.
  bool started() const noexcept;

  /// Whether the head is complete, that is: the body is being read.
  bool in_body() const noexcept;

  /// Starts over for the next request on the same connection.
  void reset() noexcept;

private:
  /// What the next unread byte belongs to.
  enum class stage { request_line, headers, sized_body, chunk_size, chunk_data, chunk_end, trailers, complete, failed };

  /// A view as offset and length, since the buffer may move before the request is complete.
  struct span {
    std::size_t offset = 0;
    std::size_t length = 0;
  };

  struct header_span {
    span name;
    span value;
  };

  /// One step per stage, each empty when the next stage can go on at once.
  using outcome = std::optional<progress>;
  outcome step(std::string& buffer);
  outcome read_request_line(std::string& buffer);
  outcome read_header(const std::string& buffer);
  outcome finish_head(const std::string& buffer);
  outcome read_sized_body(const std::string& buffer);
  outcome read_chunk_size(const std::string& buffer);
  outcome read_chunk_data(std::string& buffer);
  outcome read_chunk_end(const std::string& buffer);
  outcome read_trailer(const std::string& buffer);

  /// Takes the next line, without its line end, if all of it has arrived within `bound` bytes, line end included.
  outcome take_line(const std::string& buffer, std::size_t bound, Code past_bound, const char* detail,
                    std::string_view& line);
  outcome store_target(std::string& buffer, std::string_view text);
  outcome interpret_header(std::string_view name, std::string_view value);
  outcome fail(Code status, std::string detail);
  outcome fail_body_too_long();
  outcome fail_extras_too_long();

  span span_of(const std::string& buffer, std::string_view view) const noexcept;
  void publish(const std::string& buffer);
  void finish(const std::string& buffer, std::size_t body_bytes);
  void drop_framing(std::string& buffer);

  request_limits limits_;
  std::size_t body_limit_ = limits_.body;
  stage stage_ = stage::request_line;

  std::size_t position_ = 0; ///< Start of what is not interpreted yet.
  std::size_t scanned_ = 0;  ///< Up to where a line end has been looked for. Never behind `position_`.
  std::size_t empty_lines_ = 0;
  std::size_t headers_start_ = 0;
  std::size_t body_start_ = 0;
  std::size_t body_end_ = 0; ///< End of the part of a chunked body that is decoded; its framing lies behind.
  std::uint64_t chunk_remaining_ = 0;
  std::size_t extras_ = 0; ///< Bytes of chunk extensions and trailers so far.
  std::size_t trailer_count_ = 0;

  span target_;
  std::vector<header_span> headers_;
  std::optional<std::uint64_t> content_length_;
  std::size_t transfer_encodings_ = 0; ///< Header lines of that name.
  bool chunked_ = false;
  bool has_host_ = false;
  bool close_requested_ = false;
  bool keep_alive_requested_ = false;
  bool continue_expected_ = false;
  bool unknown_expectation_ = false;
  bool started_ = false;
  bool published_ = false;
  const char* published_from_ = nullptr; ///< Where the buffer was when the views of `request_` were made.

  request request_;
  framing_error error_{Code::Bad_Request, {}};
};

} // namespace coordinator::http
