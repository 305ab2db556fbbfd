#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// How this project calls others over HTTP, as far as the caller needs to know. The courier actor and its tests know no
// more than this; http/outbound_loop.hpp does the calling.

namespace coordinator {

enum class outbound_outcome : std::uint8_t {
  answered,    ///< With whatever status.
  refused,     ///< The machine is there, but nobody listens.
  unreachable, ///< No connection for another reason: no route, no such name, no descriptor left here.
  timed_out,   ///< No whole reply in time, be it for want of a connection or of bytes.
  failed,      ///< Cut off, not HTTP, or longer than allowed.
};

std::string_view to_string(outbound_outcome value) noexcept;

struct outbound_request {
  std::string method = "GET";
  std::string url; ///< `http://…` or `https://…`, an IPv6 address in brackets.
  std::vector<std::pair<std::string, std::string>> headers{};
  std::string body{}; ///< JSON, and sent as that; empty: no body. DELETE may have one.
  std::chrono::nanoseconds connect_timeout = std::chrono::seconds{1};
  std::chrono::nanoseconds timeout = std::chrono::seconds{5}; ///< From start to the last byte of the reply.
  std::size_t max_reply_bytes = std::size_t{1} << 20;
};

struct outbound_reply {
  outbound_outcome outcome = outbound_outcome::failed;
  int status = 0;                                             ///< Of an answer, else 0.
  std::vector<std::pair<std::string, std::string>> headers{}; ///< Names in lower case.
  std::string body{};
  std::string detail{}; ///< What went wrong, for people; empty for an answer.
  std::chrono::nanoseconds took{};
  std::chrono::nanoseconds tried_for{}; ///< Of that, since its turn came; 0: it did not come in time.

  /// The value of the first header of that (lower-case) name, or an empty view.
  std::string_view header(std::string_view name) const noexcept;
  bool succeeded() const noexcept { return status >= 200 && status < 300; }
};

/// Makes HTTP calls without anybody waiting. All functions may be called from any thread and none blocks.
class outbound_client {
public:
  using call_id = std::uint64_t;
  using completion = std::function<void(outbound_reply)>;

  virtual ~outbound_client() = default;

  /// `done` is called once, on the client's own thread, unless the call is cancelled first. It must not throw.
  virtual call_id start(outbound_request request, completion done) = 0;

  /// Gives a call up and closes its connection. A completion that is about to run may still do so; one that is
  /// unknown or done is ignored.
  virtual void cancel(call_id call) = 0;
};

} // namespace coordinator
