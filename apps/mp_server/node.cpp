#include "apps/mp_server/node.hpp"

#include "http/response.hpp"

#include <caf/send.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <utility>

namespace mp_server {

namespace http = coordinator::http;

namespace {

/// A token list of a million ids has 11 MB, and a test may want to send too much.
constexpr std::size_t large_body = std::size_t{64} << 20;
constexpr std::size_t most_recorded_calls = 10'000;
constexpr std::size_t longest_recorded_body = std::size_t{4} << 20; // 10,000 keys take half of it
constexpr std::size_t most_recorded_bytes = std::size_t{64} << 20;
constexpr duration post_timeout = std::chrono::seconds{2};

std::string_view name_of(http::Method method) noexcept {
  switch (method) {
  case http::Method::Post:
    return "POST";
  case http::Method::Put:
    return "PUT";
  case http::Method::Delete:
    return "DELETE";
  default:
    return "GET";
  }
}

event_stream::delivery delivery_of(const coordinator::outbound_reply& reply) {
  if (reply.succeeded())
    return event_stream::delivery::done;
  const bool never = reply.outcome == coordinator::outbound_outcome::answered && reply.status >= 400
                     && reply.status < 500 && reply.status != 408 && reply.status != 429;
  return never ? event_stream::delivery::refused : event_stream::delivery::failed;
}

http::response scripted_answer(const fault& wrong) {
  http::response reply;
  reply.status = static_cast<http::Code>(wrong.status.value_or(200));
  reply.body = wrong.body.value_or(R"({"detail":"as the test wants it"})");
  return reply;
}

} // namespace

node::node() = default;

void node::report(const changes& happened) {
  if (stream_)
    stream_->record(happened);
}

void node::declare() {
  if (!stream_)
    return;
  std::vector<capacity> capacities{{{schema::cache_tier::l1, "dram", false}, options_.cache.l1_capacity_bytes}};
  for (const auto& adapter : options_.cache.adapters)
    capacities.push_back({{schema::cache_tier::l2, adapter.name, adapter.shared}, 0});
  stream_->declare(std::move(capacities));
}

std::int64_t node::restart() {
  options_.incarnation = std::max(options_.incarnation + 1, static_cast<std::int64_t>(options_.wall_clock()));
  cache_->restart();
  if (stream_)
    stream_->restart(options_.incarnation);
  declare();
  return options_.incarnation;
}

node_status node::status() const {
  node_status shown;
  shown.instance_id = options_.instance_id;
  shown.incarnation = options_.incarnation;
  const auto& l1 = cache_->l1();
  shown.compartments.push_back(
      {schema::cache_tier::l1, "dram", false, l1.size(), l1.bytes(), options_.cache.l1_capacity_bytes});
  for (std::size_t i = 0; i < cache_->adapters().size(); ++i) {
    const auto& adapter = cache_->adapters()[i];
    shown.compartments.push_back(
        {schema::cache_tier::l2, adapter.name, adapter.shared, cache_->l2(i).size(), cache_->l2(i).bytes(), 0});
  }
  shown.prefetches = cache_->loads_under_way();
  if (stream_) {
    shown.event_batches = stream_->batches();
    shown.dropped_events = stream_->dropped_events();
  }
  return shown;
}

void node::record(std::string_view method, const http::call& asked) {
  const auto& message = asked.message();
  recorded_call made{std::string{method}, std::string{message.target}, message.body.size(), {}};
  if (message.body.size() <= longest_recorded_body) {
    made.body = message.body;
    recorded_bytes_ += made.body->size();
  }
  calls_.push_back(std::move(made));
  ++call_count_;
  while (calls_.size() > most_recorded_calls || recorded_bytes_ > most_recorded_bytes) {
    if (calls_.front().body)
      recorded_bytes_ -= calls_.front().body->size();
    calls_.pop_front();
  }
}

call_list node::calls() const {
  return {call_count_, {calls_.begin(), calls_.end()}};
}

void node::forget_calls() {
  calls_.clear();
  recorded_bytes_ = 0;
  call_count_ = 0;
}

/// The turns of the actor.
struct node_behavior {
  using pointer = node_actor::stateful_pointer<node_state>;

  pointer self;
  node& state;

  void start(node_options options) const {
    state.options_ = std::move(options);
    state.cache_.emplace(state.options_.cache);
    if (!state.options_.reporter)
      return;
    state.stream_.emplace(state.options_.instance_id, state.options_.incarnation);
    state.declare();
    self->delayed_send(self, state.options_.flush_interval, flush_atom::value);
  }

  time_point now() const { return std::chrono::steady_clock::now(); }

  void take(visit& who) const {
    state.report(state.cache_->advance(now()));
    if (who.on_service_port) {
      state.record(who.method, who.asked);
      if (auto wrong = state.faults_.next(who.method, who.asked.message().target))
        who.wrong = std::move(*wrong);
      if (who.wrong.delay_ms > 0) {
        self->delayed_send(self, std::chrono::milliseconds{who.wrong.delay_ms}, proceed_atom::value, who);
        return;
      }
    }
    proceed(who);
  }

  void proceed(const visit& who) const {
    if (who.wrong.hang) {
      state.hung_.push_back(who.asked);
      return;
    }
    if (who.wrong.status || who.wrong.body)
      return who.asked.answer(scripted_answer(who.wrong));
    try {
      (*who.handler)(who.asked, state, who.wrong);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "mp-server: error: %s\n", error.what());
      who.asked.answer(http::problem(http::Code::Internal_Server_Error, "The server failed to handle this request."));
    }
  }

  void registered(const std::string& url) const {
    state.options_.coordinator_url = url;
    state.declare();
  }

  void flush() const {
    state.report(state.cache_->advance(now()));
    if (!state.stream_)
      return;
    state.stream_->flush(state.options_.wall_clock());
    post_next();
    self->delayed_send(self, state.options_.flush_interval, flush_atom::value);
  }

  void post_next() const {
    auto post = state.stream_->next(now());
    if (!post)
      return;
    coordinator::outbound_request request;
    request.method = "POST";
    request.url = state.options_.coordinator_url + "/events";
    request.body = std::move(post->body);
    request.timeout = post_timeout;
    state.options_.reporter->start(std::move(request),
                                   [to = node_actor{self}, id = post->id](const coordinator::outbound_reply& reply) {
                                     caf::anon_send(to, post_result{id, delivery_of(reply), reply.status});
                                   });
  }

  void posted(const post_result& result) const {
    if (result.outcome == event_stream::delivery::refused && !std::exchange(state.warned_of_refusal_, true))
      std::fprintf(stderr, "mp-server: warning: %s/events answered %d; events are dropped\n",
                   state.options_.coordinator_url.c_str(), result.status);
    if (result.outcome == event_stream::delivery::done)
      state.warned_of_refusal_ = false;
    state.stream_->on_result(result.id, result.outcome, now());
    if (state.stream_->empty() || result.outcome == event_stream::delivery::failed)
      finish_delivery();
    if (const auto wake = state.stream_->wake(); wake && *wake > now())
      self->delayed_send(self, *wake - now(), retry_atom::value);
    else
      post_next();
  }

  caf::result<void> deliver() const {
    state.release_hung();
    if (!state.stream_)
      return caf::unit;
    state.stream_->flush(state.options_.wall_clock());
    post_next();
    if (!state.stream_->is_under_way())
      return caf::unit;
    state.waiting_for_delivery_.push_back(self->make_response_promise());
    return caf::delegated<void>{};
  }

  void finish_delivery() const {
    for (auto& promise : std::exchange(state.waiting_for_delivery_, {}))
      promise.deliver(caf::unit);
  }
};

node_actor::behavior_type run_node(node_actor::stateful_pointer<node_state> self, node_options options) {
  auto& state = self->state.owned;
  node_behavior turns{self, state};
  turns.start(std::move(options));
  return {
      [turns](visit& who) { turns.take(who); },
      [turns](proceed_atom, const visit& who) { turns.proceed(who); },
      [turns](registered_atom, const std::string& url) { turns.registered(url); },
      [turns](flush_atom) { turns.flush(); },
      [turns](retry_atom) { turns.post_next(); },
      [turns](const post_result& result) { turns.posted(result); },
      [turns](deliver_atom) { return turns.deliver(); },
  };
}

void add_route(http::router& routes, const node_actor& to, bool on_service_port, http::Method method, std::string path,
               node_handler handler) {
  http::route added;
  added.method = method;
  added.path = std::move(path);
  added.max_body = large_body;
  added.handler = [to, on_service_port, method,
                   handler = std::make_shared<const node_handler>(std::move(handler))](const http::call& asked) {
    asked.ask(to, visit{asked, name_of(method), handler, on_service_port})
        .then([] {}, [asked](const caf::error& error) { asked.answer_error(error); });
  };
  routes.add(std::move(added));
}

} // namespace mp_server
