#include "http/registrar/session.hpp"

#include "http/uri.hpp"
#include "schema/identifier.hpp"
#include "schema/instance.hpp"
#include "schema/json_text.hpp"
#include "schema/number_text.hpp"
#include "schema/utf8.hpp"

#include <algorithm>
#include <utility>
#include <variant>

namespace mp_registrar {

namespace {

using coordinator::outbound_outcome;
using coordinator::outbound_reply;
using coordinator::outbound_request;
namespace schema = coordinator::schema;
using namespace std::chrono_literals;

/// However short the lease: a coordinator that talks nonsense must not make this loop spin.
constexpr duration shortest_interval = 20ms;
constexpr duration shortest_timeout = 100ms;
/// Enough for a lost packet, and so little that the next URL gets its turn.
constexpr duration longest_connect_timeout = 3s;
/// Without an answer.
constexpr std::size_t heartbeats_per_url = 2;
constexpr std::size_t max_reply_bytes = 64 * 1024;
constexpr std::size_t max_detail_bytes = 300;
constexpr double longest_lease_seconds = 366.0 * 24 * 3600;

/// Empty when it is not told, or makes no sense.
std::optional<duration> told_lease(const outbound_reply& reply) {
  const auto seconds = schema::number_in(schema::stripped(reply.header("instance-timeout")));
  if (!seconds || *seconds <= 0)
    return std::nullopt;
  return std::chrono::round<duration>(std::chrono::duration<double>{std::min(*seconds, longest_lease_seconds)});
}

/// One line of it, whatever it holds.
std::string one_line(std::string_view text) {
  std::string result{schema::utf8_prefix(schema::stripped(text), max_detail_bytes)};
  std::replace_if(
      result.begin(), result.end(), [](unsigned char c) { return c < ' ' || c == 0x7F; }, ' ');
  return result;
}

std::string describe(const outbound_reply& reply) {
  if (reply.outcome != outbound_outcome::answered)
    return one_line(reply.detail.empty() ? coordinator::to_string(reply.outcome) : std::string_view{reply.detail});
  auto text = "status " + std::to_string(reply.status);
  if (const auto body = one_line(reply.body); !body.empty())
    text += ": " + body;
  return text;
}

session_event_kind failure_kind(const outbound_reply& reply) noexcept {
  return reply.outcome == outbound_outcome::answered ? session_event_kind::refused : session_event_kind::unreachable;
}

bool is_answer(const outbound_reply& reply, int status) noexcept {
  return reply.outcome == outbound_outcome::answered && reply.status == status;
}

bool is_success(const outbound_reply& reply) noexcept {
  return reply.outcome == outbound_outcome::answered && reply.succeeded();
}

/// The tag that `If-Match` may carry; a weak one, which a proxy may have added, would never match.
std::string usable_tag(const outbound_reply& reply) {
  const auto tag = schema::stripped(reply.header("etag"));
  const bool is_strong = tag.size() > 2 && tag.front() == '"' && tag.find('"', 1) == tag.size() - 1;
  return std::string{is_strong ? tag : std::string_view{}};
}

/// What was registered, or why nothing was.
std::variant<schema::register_reply, std::string> read_registration(const outbound_reply& reply) {
  if (!is_success(reply))
    return describe(reply);
  auto parsed = schema::parse<schema::register_reply>(reply.body, {});
  auto* const accepted = std::get_if<schema::register_reply>(&parsed);
  if (!accepted)
    return "not the reply of a coordinator: " + describe(reply);
  if (const auto problem = schema::identifier_problem(accepted->instance_id))
    return "not the reply of a coordinator: " + *problem;
  return std::move(*accepted);
}

} // namespace

session::session(session_options options, std::function<double()> random, time_point now)
    : options_{std::move(options)}, random_{std::move(random)}, started_{now}, due_{now},
      interval_{options_.heartbeat_interval}, complaints_(options_.coordinator_urls.size()) {
  for (auto& url : options_.coordinator_urls)
    url.resize(url.find_last_not_of('/') + 1);
}

std::optional<outbound_request> session::next(time_point now) {
  if (now < wake())
    return std::nullopt;
  const auto kind = stopped_        ? request_kind::departure
                    : registration_ ? request_kind::heartbeat
                                    : request_kind::registration;
  if (kind == request_kind::departure)
    current_url_ = registration_->url; // which may have been left for another one that was of no use yet
  under_way_ = kind;
  started_ = now;
  return make_request(kind);
}

time_point session::wake() const noexcept {
  return under_way_ || finished() ? time_point::max() : due_;
}

void session::on_reply(const outbound_reply& reply, time_point now) {
  const auto answered = std::exchange(under_way_, std::nullopt);
  if (!answered)
    return;
  switch (*answered) {
  case request_kind::registration:
    on_registration_reply(reply, now);
    break;
  case request_kind::heartbeat:
    on_heartbeat_reply(reply, now);
    break;
  case request_kind::departure:
    on_departure_reply(reply);
    break;
  }
  if (stopped_)
    due_ = now;
}

void session::stop(time_point now) {
  stopped_ = true;
  due_ = now;
}

bool session::finished() const noexcept {
  return stopped_ && !under_way_ && !registration_;
}

const std::string& session::instance_id() const noexcept {
  return registration_ ? registration_->instance_id : options_.instance_id;
}

std::vector<session_event> session::take_events() {
  return std::exchange(events_, {});
}

std::string session::instance_url() const {
  return url() + "/instances/" + coordinator::http::percent_encode(instance_id());
}

duration session::request_timeout() const noexcept {
  // A third: after a heartbeat that came to nothing there is still time for another one.
  return lease_ > duration::zero() ? std::max(shortest_timeout, std::min(options_.request_timeout, lease_ / 3))
                                   : options_.request_timeout;
}

outbound_request session::make_request(request_kind kind) const {
  outbound_request request;
  switch (kind) {
  case request_kind::registration: {
    request.method = "POST";
    request.url = url() + "/instances";
    const schema::register_request body{.ip = options_.ip,
                                        .http_port = options_.http_port,
                                        .instance_id = options_.instance_id,
                                        .labels = options_.metadata,
                                        .p2p_advertised_url = options_.p2p_advertised_url,
                                        .mq_port = options_.mq_port};
    schema::append_json(request.body, body);
    break;
  }
  case request_kind::heartbeat:
    request.method = "PUT";
    request.url = instance_url() + "/heartbeat";
    break;
  case request_kind::departure:
    request.method = "DELETE";
    request.url = instance_url();
    break;
  }
  if (registration_ && !registration_->tag.empty())
    request.headers.emplace_back("If-Match", registration_->tag);
  request.timeout = request_timeout();
  request.connect_timeout = std::min(request.timeout, longest_connect_timeout);
  request.max_reply_bytes = max_reply_bytes;
  return request;
}

void session::on_registration_reply(const outbound_reply& reply, time_point now) {
  auto read = read_registration(reply);
  if (auto* const accepted = std::get_if<schema::register_reply>(&read)) {
    if (options_.instance_id.empty())
      options_.instance_id = accepted->instance_id;
    registration_ = {std::move(accepted->instance_id), usable_tag(reply), current_url_};
    superseded_ = false;
    const bool is_shorter = adopt_lease(told_lease(reply).value_or(duration::zero()));
    on_sign_of_life();
    report(session_event_kind::registered).re_registered = accepted->re_registered;
    if (is_shorter)
      report(session_event_kind::interval_shortened);
    beat_later(now);
    return;
  }
  complain(failure_kind(reply), std::get<std::string>(read));
  move_to_next_url();
  if (++failed_urls_ < options_.coordinator_urls.size()) {
    due_ = now;
  } else {
    // Where nothing works, preference decides where to begin.
    failed_urls_ = 0;
    current_url_ = 0;
    retry_later(now);
  }
}

void session::on_heartbeat_reply(const outbound_reply& reply, time_point now) {
  if (is_success(reply)) {
    on_sign_of_life();
    superseded_ = false;
    registration_->url = current_url_;
    const auto lease = told_lease(reply);
    if (lease && adopt_lease(*lease))
      report(session_event_kind::interval_shortened);
    beat_later(now);
  } else if (is_answer(reply, 404) || (is_answer(reply, 412) && registration_->url != current_url_)) {
    // A coordinator that did not make the tag, but knows the id from earlier, has a registration that is not in force.
    on_sign_of_life();
    if (stopped_ && registration_->url != current_url_)
      return; // says nothing of the coordinator that is to be told
    report(session_event_kind::lost);
    registration_.reset();
    superseded_ = false;
    due_ = now;
  } else if (is_answer(reply, 412)) {
    // The newer registration is left alone. When its heartbeats end, the answer becomes 404.
    on_sign_of_life();
    if (!std::exchange(superseded_, true))
      report(session_event_kind::superseded);
    beat_later(now);
  } else {
    complain(failure_kind(reply), describe(reply));
    // One that answers is there, and holds the registration: it may only be restarting a part of itself.
    if (reply.outcome == outbound_outcome::answered)
      unanswered_heartbeats_ = 0;
    else if (++unanswered_heartbeats_ == heartbeats_per_url)
      move_to_next_url();
    retry_later(now);
  }
}

void session::on_departure_reply(const outbound_reply& reply) {
  report(session_event_kind::left, is_success(reply)       ? std::string{}
                                   : is_answer(reply, 412) ? "the id is registered by somebody else now"
                                                           : describe(reply));
  registration_.reset();
}

bool session::adopt_lease(duration lease) noexcept {
  lease_ = lease;
  auto interval = options_.heartbeat_interval;
  if (lease > duration::zero() && interval > lease / 2)
    interval = std::max(lease / 3, std::min(interval, shortest_interval));
  return std::exchange(interval_, interval) != interval && interval < options_.heartbeat_interval;
}

void session::on_sign_of_life() noexcept {
  unanswered_heartbeats_ = 0;
  failed_urls_ = 0;
  std::fill(complaints_.begin(), complaints_.end(), std::nullopt);
}

void session::complain(session_event_kind kind, std::string detail) {
  if (std::exchange(complaints_[current_url_], kind) != kind)
    report(kind, std::move(detail));
}

void session::beat_later(time_point now) noexcept {
  due_ = std::max(started_ + interval_, now);
}

void session::retry_later(time_point now) {
  // Spread, so that a fleet that lost its coordinator at one moment does not come back in step. Counted from the start
  // of what failed, so that a request that timed out does not use up the lease with a pause on top.
  const auto pause = std::chrono::duration<double>{interval_} * (0.5 + 0.5 * random_());
  due_ = std::max(started_ + std::chrono::round<duration>(pause), now + interval_ / 10);
}

void session::move_to_next_url() noexcept {
  unanswered_heartbeats_ = 0;
  current_url_ = (current_url_ + 1) % options_.coordinator_urls.size();
}

session_event& session::report(session_event_kind kind, std::string detail) {
  return events_.emplace_back(session_event{.kind = kind,
                                            .instance_id = instance_id(),
                                            .coordinator_url = url(),
                                            .detail = std::move(detail),
                                            .lease = lease_,
                                            .interval = interval_});
}

} // namespace mp_registrar
