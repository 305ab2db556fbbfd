#include "apps/fleet/simulated_server.hpp"

#include "schema/instance.hpp"

#include <utility>
#include <variant>

namespace coordinator::fleet {

namespace {

request_kind kind_of(const outbound_request& request) noexcept {
  return request.method == "POST"  ? request_kind::registration
         : request.method == "PUT" ? request_kind::heartbeat
                                   : request_kind::departure;
}

answer read_answer(request_kind kind, const outbound_reply& reply) {
  answer result{reply.status};
  if (reply.status != 200)
    return result;
  if (kind == request_kind::registration) {
    auto read = schema::parse<schema::register_reply>(reply.body, {});
    if (auto* body = std::get_if<schema::register_reply>(&read)) {
      result.instance_id = std::move(body->instance_id);
      result.re_registered = body->re_registered;
    }
  } else if (kind == request_kind::heartbeat) {
    auto read = schema::parse<schema::heartbeat_reply>(reply.body, {});
    if (auto* body = std::get_if<schema::heartbeat_reply>(&read))
      result.instance_id = std::move(body->instance_id);
  }
  return result;
}

} // namespace

simulated_server::simulated_server(std::size_t index, mp_registrar::session_options options, double clock_rate,
                                   surroundings& around)
    : index_{index}, options_{std::move(options)}, clock_rate_{clock_rate}, around_{around} {}

void simulated_server::start() {
  if (session_) {
    starts_again_ = is_leaving_;
    return;
  }
  const auto now = around_.now();
  clock_ = {now, clock_rate_};
  session_.emplace(options_, around_.random, now);
  is_leaving_ = false;
  starts_again_ = false;
  was_unknown_ = false;
  ++around_.counts.starts;
  around_.book.started(index_, now);
  turn();
}

void simulated_server::leave() {
  starts_again_ = false;
  if (!session_ || is_leaving_)
    return;
  is_leaving_ = true;
  around_.book.leaving(index_);
  session_->stop(clock_.shows(around_.now()));
  turn();
}

void simulated_server::crash() {
  starts_again_ = false;
  if (!session_)
    return;
  ++around_.counts.crashes;
  end();
}

void simulated_server::cut() {
  if (std::exchange(is_cut_, true))
    return;
  around_.book.cut(index_, around_.now());
  if (!call_)
    return;
  // Whether it arrived or not: nobody will hear of it.
  abandon_call();
  times_out_at_ = deadline_;
  arm(deadline_);
}

void simulated_server::heal() {
  if (std::exchange(is_cut_, false))
    around_.book.healed(index_, around_.now());
}

void simulated_server::turn() {
  armed_ = time_point::max();
  for (;;) {
    if (!session_)
      return;
    const auto now = around_.now();
    if (times_out_at_ && *times_out_at_ <= now) {
      times_out_at_.reset();
      hear_nothing(outbound_outcome::timed_out);
      continue;
    }
    if (call_ || times_out_at_)
      break;
    if (session_->finished()) {
      end();
      if (starts_again_)
        start();
      return;
    }
    auto request = session_->next(clock_.shows(now));
    if (!request)
      break;
    ask(std::move(*request));
  }
  arm(times_out_at_ ? *times_out_at_ : clock_.real(session_->wake()));
}

void simulated_server::ask(outbound_request request) {
  const auto now = around_.now();
  kind_ = kind_of(request);
  ++requests_;
  deadline_ = now + request.timeout;
  if (is_cut_) {
    if (around_.random() < 0.5)
      hear_nothing(outbound_outcome::refused);
    else
      times_out_at_ = deadline_;
    return;
  }
  ++around_.counts.requests[static_cast<std::size_t>(kind_)].sent;
  around_.book.sent(index_, kind_, now, around_.wall());
  call_ = around_.client.start(std::move(request), around_.completion(index_, requests_));
}

void simulated_server::answered(std::uint64_t request, const outbound_reply& reply) {
  if (!call_ || request != requests_)
    return; // given up
  call_.reset();
  auto& figures = around_.counts.requests[static_cast<std::size_t>(kind_)];
  const auto now = around_.now();
  if (reply.outcome == outbound_outcome::answered) {
    ++figures.answered;
    figures.took.record(reply.took);
    if (reply.status == 429 || reply.status == 503)
      ++figures.unavailable;
    if (kind_ == request_kind::registration)
      around_.counts.told_lease = reply.header("instance-timeout");
    around_.book.answered(index_, read_answer(kind_, reply), now);
    if (kind_ == request_kind::registration && reply.succeeded() && std::exchange(was_unknown_, false))
      ++around_.counts.rejoined;
    else if (kind_ == request_kind::heartbeat)
      was_unknown_ = reply.status == 404;
  } else {
    ++figures.failed;
    around_.book.given_up(index_, now);
  }
  hear(reply);
  turn();
}

void simulated_server::hear(const outbound_reply& reply) {
  session_->on_reply(reply, clock_.shows(around_.now()));
  session_->take_events();
}

void simulated_server::hear_nothing(outbound_outcome outcome) {
  outbound_reply nothing;
  nothing.outcome = outcome;
  hear(nothing);
}

void simulated_server::abandon_call() {
  if (const auto call = std::exchange(call_, std::nullopt))
    around_.client.cancel(*call);
}

void simulated_server::end() {
  abandon_call();
  times_out_at_.reset();
  session_.reset();
  is_leaving_ = false;
  around_.book.ended(index_, around_.now());
}

void simulated_server::arm(time_point when) {
  if (when >= armed_)
    return;
  armed_ = when;
  around_.wake_at(index_, when);
}

} // namespace coordinator::fleet
