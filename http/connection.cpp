#include "http/connection.hpp"

#include "http/outbox.hpp"

#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <array>
#include <cerrno>
#include <string_view>
#include <utility>

namespace coordinator::http {

namespace {

constexpr std::size_t read_size = 64 * 1024;
/// Reads in a row before other connections get their turn.
constexpr int reads_per_turn = 4;
/// Memory that a connection keeps between requests.
constexpr std::size_t kept_capacity = 16 * 1024;
constexpr std::string_view continue_line = "HTTP/1.1 100 Continue\r\n\r\n";

/// Moves a view from one buffer to the same place in another with the same bytes.
void rebase(std::string_view& view, const char* from, const char* to) noexcept {
  if (!view.empty())
    view = {to + (view.data() - from), view.size()};
}

void rebase(request& parsed, const char* from, const char* to) noexcept {
  rebase(parsed.target, from, to);
  rebase(parsed.body, from, to);
  for (auto& line : parsed.headers) {
    rebase(line.name, from, to);
    rebase(line.value, from, to);
  }
}

response no_route(bool readable_target, const router::match& match) {
  if (!readable_target)
    return problem(Code::Bad_Request,
                   "The request target must be a path: starting with a slash, without a fragment, and with %XX escapes "
                   "of two hexadecimal digits each.");
  if (!match.path_known)
    return problem(Code::Not_Found, "Not Found");
  auto reply = problem(Code::Method_Not_Allowed, "Method Not Allowed");
  reply.headers.emplace_back("Allow", match.allow);
  return reply;
}

response unavailable(std::string_view detail) {
  auto reply = problem(Code::Service_Unavailable, detail);
  reply.headers.emplace_back("Retry-After", "1");
  return reply;
}

} // namespace

connection::connection(int descriptor, std::uint64_t serial, connection_host& host, time_point now)
    : descriptor_(descriptor), serial_(serial), host_(host), parser_(host.limits().request), since_(now) {}

void connection::on_readable(time_point now) {
  readable_ = true;
  advance(now);
}

void connection::on_writable(time_point now) {
  if (phase_ != phase::writing)
    return;
  flush(now);
  advance(now);
}

void connection::advance(time_point now) {
  process_input(now);
  for (int reads = 0; (phase_ == phase::reading || phase_ == phase::lingering) && readable_; ++reads) {
    if (reads == reads_per_turn) {
      host_.resume_later(*this);
      return;
    }
    switch (read_some()) {
    case read_result::some:
      process_input(now);
      break;
    case read_result::blocked:
      return;
    case read_result::ended:
      // Whatever is incomplete stays so; a request that was complete has been taken already.
      phase_ = phase::finished;
      return;
    }
  }
}

connection::read_result connection::read_some() {
  thread_local std::array<char, read_size> buffer;
  const auto n = ::recv(descriptor_, buffer.data(), buffer.size(), 0);
  if (n > 0) {
    if (phase_ == phase::reading) {
      input_.append(buffer.data(), static_cast<std::size_t>(n));
      body_received_ += static_cast<std::size_t>(n);
    }
    return read_result::some;
  }
  if (n < 0 && errno == EINTR)
    return read_result::some;
  if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
    readable_ = false;
    return read_result::blocked;
  }
  ended_ = true;
  readable_ = false;
  return read_result::ended;
}

void connection::process_input(time_point now) {
  while (phase_ == phase::reading && !input_.empty()) {
    const bool had_started = parser_.started();
    const auto progress = parser_.parse(input_);
    if (!had_started && parser_.started())
      since_ = now; // the head's deadline counts from here
    switch (progress) {
    case request_parser::progress::need_more:
      if (parser_.in_body() && parser_.expects_continue() && !std::exchange(continued_, true))
        // Nothing else is under way on this connection, so the socket has room for these few bytes.
        (void)::send(descriptor_, continue_line.data(), continue_line.size(), MSG_NOSIGNAL);
      return;
    case request_parser::progress::head_complete:
      admit_body(now);
      break;
    case request_parser::progress::complete:
      dispatch(now);
      break;
    case request_parser::progress::failed:
      refuse(parser_.error(), now);
      return;
    }
  }
}

void connection::admit_body(time_point now) {
  since_ = now; // the body's deadline counts from here
  body_received_ = 0;
  const auto& head = parser_.result();
  const auto where = parse_target(head.target);
  const auto match = where ? host_.routes().find(head.method, where->segments) : router::match{};
  if (match.found) {
    parser_.limit_body(match.found->max_body);
  } else if (parser_.expects_continue()) {
    // The client asked before sending: it need not send what nobody would read.
    close_after_response_ = true;
    respond(no_route(where.has_value(), match), head, now);
  }
}

exchange_ptr connection::fresh_exchange() {
  // Answered and let go of by everybody else: its memory can be used again.
  if (exchange_ && exchange_->answered.load(std::memory_order_relaxed) && exchange_.use_count() == 1) {
    exchange_->answered.store(false, std::memory_order_relaxed);
    exchange_->patience.store({}, std::memory_order_relaxed);
    exchange_->client_gone.store(false, std::memory_order_relaxed);
    exchange_->matched = nullptr;
    exchange_->path_parameters.clear();
    return exchange_;
  }
  auto made = std::make_shared<exchange>();
  made->home = host_.mail();
  made->descriptor = descriptor_;
  made->connection = serial_;
  return made;
}

void connection::dispatch(time_point now) {
  const auto size = parser_.consumed();
  exchange_ = fresh_exchange();
  auto& asked = *exchange_;
  asked.call = parser_.result();
  const char* const parsed_at = input_.data();
  if (size == input_.size()) {
    asked.bytes.swap(input_);
    rebase(asked.call, parsed_at, asked.bytes.data());
    input_.clear();
  } else {
    asked.bytes.assign(input_, 0, size);
    rebase(asked.call, parsed_at, asked.bytes.data());
    input_.erase(0, size);
  }
  parser_.reset();
  continued_ = false;
  since_ = now;

  auto where = parse_target(asked.call.target);
  auto match = where ? host_.routes().find(asked.call.method, where->segments) : router::match{};
  if (!match.found)
    return respond(no_route(where.has_value(), match), asked.call, now);
  asked.where = std::move(*where);
  asked.matched = match.found;
  asked.path_parameters = std::move(match.parameters);
  phase_ = phase::serving;
  host_.serve(exchange_);
}

void connection::deliver(const exchange_ptr& to, response reply, time_point now) {
  if (phase_ != phase::serving || to != exchange_)
    return;
  respond(std::move(reply), to->call, now);
}

void connection::respond(response reply, const request& to, time_point now) {
  if (exchange_)
    exchange_->answered.store(true, std::memory_order_relaxed);
  close_after_response_ = close_after_response_ || !to.keep_alive || ended_ || host_.draining();
  send(std::move(reply), {to.version, to.method == Method::Head, !close_after_response_, host_.date()}, now);
}

void connection::refuse(const framing_error& error, time_point now) {
  close_after_response_ = true;
  const auto& known = parser_.result(); // as far as it was read
  send(problem(error.status, error.detail), {known.version, known.method == Method::Head, false, host_.date()}, now);
}

void connection::send(response reply, const response_framing& framing, time_point now) {
  head_.clear();
  response_ = std::move(reply);
  omit_body_ = framing.head;
  written_ = 0;
  append_head(head_, response_, framing);
  phase_ = phase::writing;
  since_ = now;
  flush(now);
}

void connection::flush(time_point now) {
  const auto body = omit_body_ ? std::string_view{} : response_.body_text();
  const auto total = head_.size() + body.size();
  while (written_ < total) {
    std::array<iovec, 2> parts{};
    std::size_t count = 0;
    if (written_ < head_.size())
      parts[count++] = {head_.data() + written_, head_.size() - written_};
    const auto body_done = written_ > head_.size() ? written_ - head_.size() : 0;
    if (body_done < body.size())
      parts[count++] = {const_cast<char*>(body.data()) + body_done, body.size() - body_done};
    msghdr message{};
    message.msg_iov = parts.data();
    message.msg_iovlen = count;
    const auto n = ::sendmsg(descriptor_, &message, MSG_NOSIGNAL);
    if (n > 0) {
      written_ += static_cast<std::size_t>(n);
      since_ = now;
      continue;
    }
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      if (!std::exchange(watching_writable_, true))
        host_.watch_writable(*this, true);
      return;
    }
    phase_ = phase::finished; // the client has gone
    return;
  }
  after_response(now);
}

void connection::after_response(time_point now) {
  response_ = {};
  if (std::exchange(watching_writable_, false))
    host_.watch_writable(*this, false);
  if (head_.capacity() > kept_capacity)
    std::string{}.swap(head_);
  if (exchange_ && exchange_.use_count() == 1 && exchange_->bytes.capacity() > kept_capacity)
    std::string{}.swap(exchange_->bytes);
  served_before_ = true;
  since_ = now;
  // A stop that began while the response was being written has asked nothing of this connection yet.
  const bool last_before_stop = host_.draining() && input_.empty();
  if (close_after_response_ || last_before_stop)
    close_politely(now);
  else
    phase_ = phase::reading;
}

void connection::close_politely(time_point now) {
  if (ended_) {
    phase_ = phase::finished;
    return;
  }
  // Closing with unread bytes in the socket would reset the connection, and a reset may overtake the response.
  ::shutdown(descriptor_, SHUT_WR);
  std::string{}.swap(input_);
  phase_ = phase::lingering;
  since_ = now;
}

bool connection::lost(const exchange_ptr& asked) const noexcept {
  return asked.use_count() == 1 && !asked->answered.load(std::memory_order_relaxed);
}

bool connection::client_has_closed() const noexcept {
  char byte = 0;
  const auto got = ::recv(descriptor_, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR);
}

int connection::bytes_unacknowledged() const noexcept {
  int bytes = 0;
  return ::ioctl(descriptor_, SIOCOUTQ, &bytes) == 0 ? bytes : 0;
}

void connection::on_timer(time_point now) {
  const auto& limits = host_.limits();
  const auto elapsed = now - since_;
  switch (phase_) {
  case phase::reading: {
    if (!parser_.started()) {
      if (elapsed > (served_before_ ? limits.idle : limits.head))
        phase_ = phase::finished;
      return;
    }
    auto allowed = limits.head;
    if (parser_.in_body())
      allowed = limits.body
                + std::chrono::nanoseconds{std::chrono::seconds{1}}
                      * static_cast<std::int64_t>(body_received_ / limits.slowest_body);
    if (elapsed > allowed)
      refuse({Code::Request_Timeout, parser_.in_body() ? "The request body did not arrive in time."
                                                       : "The request head did not arrive in time."},
             now);
    return;
  }
  case phase::serving: {
    const auto patience = exchange_->patience.load(std::memory_order_relaxed);
    if (patience > std::chrono::nanoseconds::zero() && client_has_closed())
      exchange_->client_gone.store(true, std::memory_order_relaxed);
    if (lost(exchange_) || elapsed > limits.answer + patience) {
      close_after_response_ = true; // whoever holds the request may still read it: leave it to them
      auto asked = exchange_;
      respond(unavailable("The coordinator could not answer in time; try again."), asked->call, now);
    }
    return;
  }
  case phase::writing: {
    // A slow reader frees room in the socket in large steps: what its system acknowledges tells of it sooner.
    const int unacknowledged = bytes_unacknowledged();
    if (unacknowledged < std::exchange(unacknowledged_, unacknowledged))
      since_ = now;
    else if (elapsed > limits.write_stall)
      phase_ = phase::finished;
    return;
  }
  case phase::lingering:
    // While the server stops, it is enough that the client's system has everything.
    if (elapsed > limits.linger || (host_.draining() && bytes_unacknowledged() == 0))
      phase_ = phase::finished;
    return;
  case phase::finished:
    return;
  }
}

void connection::begin_drain(time_point now) {
  advance(now); // takes a request that has arrived but was not told of yet
  if (phase_ == phase::reading && !parser_.started() && input_.empty())
    phase_ = phase::finished;
}

} // namespace coordinator::http
