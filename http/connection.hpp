#pragma once

#include "http/exchange.hpp"
#include "http/limits.hpp"
#include "http/request_parser.hpp"
#include "http/router.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace coordinator::http {

class connection;

/// What a connection needs of the worker that owns it.
class connection_host {
public:
  virtual ~connection_host() = default;
  virtual const router& routes() const noexcept = 0;
  virtual const server_limits& limits() const noexcept = 0;
  virtual const std::shared_ptr<outbox>& mail() const noexcept = 0;
  /// The value of `Date`, good for this second.
  virtual std::string_view date() = 0;
  /// No further request is to be taken on connections that have answered theirs.
  virtual bool draining() const noexcept = 0;
  /// Hands a request to the actors.
  virtual void serve(exchange_ptr request) = 0;
  /// Asks to be told when the socket takes bytes again, or no longer.
  virtual void watch_writable(connection& which, bool wanted) = 0;
  /// Asks for `advance` in the worker's next round, after other connections had their turn.
  virtual void resume_later(connection& which) = 0;
};

/// One client connection: reads, frames, asks, answers, one request at a time and so in order.
///
/// While a request is being answered nothing more is read, so a client that does not read its answers stops being
/// read, and a connection holds at most one request, what came with it in one read, and one response.
/// Belongs to its worker's thread. Does not own the descriptor.
class connection {
public:
  using time_point = std::chrono::steady_clock::time_point;

  connection(int descriptor, std::uint64_t serial, connection_host& host, time_point now);

  int descriptor() const noexcept { return descriptor_; }
  std::uint64_t serial() const noexcept { return serial_; }
  /// Nothing is left to do: close it.
  bool finished() const noexcept { return phase_ == phase::finished; }

  /// The socket has bytes, an end or an error to tell of.
  void on_readable(time_point now);
  void on_writable(time_point now);
  /// Goes on where it was interrupted. Cheap when there is nothing to do.
  void advance(time_point now);
  /// The answer to `to`, if that is what the connection waits for.
  void deliver(const exchange_ptr& to, response reply, time_point now);
  /// Looks at the deadlines.
  void on_timer(time_point now);
  /// The server stops: finishes at once when no request is under way.
  void begin_drain(time_point now);
  /// The process ends now.
  void abandon() noexcept { phase_ = phase::finished; }

private:
  enum class phase {
    reading,   ///< Waiting for a request or in the middle of one.
    serving,   ///< A request is with the actors.
    writing,   ///< A response is partly written.
    lingering, ///< Write side closed; waiting for the client to have read everything.
    finished,
  };

  enum class read_result { some, blocked, ended };

  void process_input(time_point now);
  read_result read_some();
  void admit_body(time_point now);
  void dispatch(time_point now);
  /// Answers without asking anybody.
  void respond(response reply, const request& to, time_point now);
  /// Answers a request whose end is unknown, and closes.
  void refuse(const framing_error& error, time_point now);
  void send(response reply, const response_framing& framing, time_point now);
  void flush(time_point now);
  void after_response(time_point now);
  void close_politely(time_point now);

  exchange_ptr fresh_exchange();
  bool lost(const exchange_ptr& asked) const noexcept;
  bool client_has_closed() const noexcept;
  int bytes_unacknowledged() const noexcept;

  int descriptor_;
  std::uint64_t serial_;
  connection_host& host_;
  phase phase_ = phase::reading;
  bool readable_ = true; ///< Edge-triggered: the last read has not been told "no more" yet.
  bool ended_ = false;   ///< The client has closed its side.
  bool close_after_response_ = false;
  bool continued_ = false; ///< `100 Continue` was sent for the current request.
  bool served_before_ = false;
  bool watching_writable_ = false;

  std::string input_;
  request_parser parser_;
  exchange_ptr exchange_; ///< The one under way; kept afterwards for its memory.

  std::string head_;  ///< Of the response being written.
  response response_; ///< Its body.
  bool omit_body_ = false;
  std::size_t written_ = 0; ///< Of head and body together.
  int unacknowledged_ = 0;  ///< By the client's system, when the timer last looked.

  /// Start of what the current phase's deadline counts from.
  time_point since_;
  std::size_t body_received_ = 0;
};

} // namespace coordinator::http
