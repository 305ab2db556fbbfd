#pragma once

#include "actors/lapse_guard.hpp"
#include "actors/messages.hpp"
#include "actors/observed.hpp"
#include "actors/progress.hpp"
#include "http/exchange.hpp"
#include "http/membership_waits.hpp"
#include "http/router.hpp"

#include <caf/actor_cast.hpp>
#include <caf/atom.hpp>
#include <caf/stateful_actor.hpp>
#include <caf/typed_actor.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace coordinator::http {

using serve_atom = caf::atom_constant<caf::atom("serve")>;
using wake_atom = caf::atom_constant<caf::atom("wake")>;
using timer_atom = caf::atom_constant<caf::atom("timer")>;

// clang-format off

/// Stands between HTTP and the actors: one per worker, turns a request into messages and their answers into a reply.
/// Domain actors never see HTTP.
using gateway_actor = caf::typed_actor<
  caf::reacts_to<serve_atom, exchange_ptr>,
  caf::reacts_to<wake_atom>,                 // the service stops: answers those who wait for membership
  caf::reacts_to<timer_atom, std::uint64_t>, // the timer of that number has fired
  caf::reacts_to<caf::tick_atom>,
  caf::reacts_to<links_atom, links>,
  caf::replies_to<status_atom>::with<actor_status>>;

// clang-format on

struct gateway_options {
  links actors;
  std::shared_ptr<const router> routes;
  std::shared_ptr<progress_board> board;
  std::shared_ptr<guard_board> guard;
  duration instance_timeout{};
  std::shared_ptr<progress_mark> progress; ///< Of this gateway.
};

/// A reply body that is sent again as long as what it shows has the same tag.
struct cached_body {
  std::string tag;
  std::shared_ptr<const std::string> body;
};

/// Parts of the list that many clients wait for at once, so that a change makes each of them once. By what was
/// selected.
struct shared_selections {
  static constexpr std::size_t most = 64;

  std::string tag;   ///< Of all of them.
  time_point made{}; ///< The first of them.
  std::map<std::string, std::shared_ptr<const std::string>, std::less<>> bodies;
};

struct gateway_state : observed_state {
  static inline constexpr const char* name = "gateway";
  gateway_options options;
  cached_body instance_list;
  shared_selections selections;
  membership_waits waits;
  std::deque<membership_wait> ready;        ///< To go on with, a few at a time.
  bool watching = false;                    ///< The registry was asked to tell of the next change.
  std::uint64_t watch_number = 0;           ///< An answer to an earlier question says nothing of the current one.
  time_point timer_due = time_point::max(); ///< Of the timer that counts; those armed before it are void.
  std::uint64_t timers = 0;                 ///< The number of that timer.
};

using gateway_pointer = gateway_actor::stateful_pointer<gateway_state>;

gateway_actor::behavior_type gateway(gateway_pointer self, gateway_options options);

/// What a route's handler works with: the request, the actors, and the way to answer. Cheap to copy into the callbacks
/// of a request to an actor, which run in later turns of the same gateway.
class call {
public:
  call(gateway_pointer self, exchange_ptr exchange) : self_(self), exchange_(std::move(exchange)) {}

  const request& message() const noexcept { return exchange_->call; }
  const links& actors() const noexcept { return self_->state.options.actors; }
  /// The actor that a capability has entered under that name; one that nobody has answers every request with an error.
  template <class Handle>
  Handle capability(std::string_view name) const {
    const auto found = actors().capabilities.find(name);
    return found == actors().capabilities.end() ? Handle{} : caf::actor_cast<Handle>(found->second);
  }
  gateway_state& state() const noexcept { return self_->state; }
  time_point now() const { return self_->clock().now(); }

  std::optional<std::string_view> query(std::string_view name) const noexcept {
    return exchange_->where.parameter(name);
  }

  /// The instance id that is the path's first parameter. When it can't be one, answers with a 422 and is empty.
  std::optional<std::string> instance_id() const;

  /// A yes/no query parameter; absent is no. When it is neither, answers with a 422 and is empty.
  std::optional<bool> flag(std::string_view name) const;

  /// The request body. When it breaks its schema, answers with a 422 and is empty.
  template <class T>
  std::optional<T> body() const {
    auto read = schema::parse<T>(message().body, message().header_value("content-type"));
    if (auto* found = std::get_if<schema::violations>(&read)) {
      answer_invalid(*found);
      return std::nullopt;
    }
    return std::move(std::get<T>(read));
  }

  /// Lets the request wait until membership is no longer at the version `known`, for `at_most`; then `go_on` answers
  /// it. When too many wait already, answers with a 503.
  void wait_for_change(std::string known, duration at_most, std::function<void()> go_on) const;

  /// The values of a query parameter that may be given several times, in order.
  std::vector<std::string_view> queries(std::string_view name) const;

  /// A query parameter that is a number from `least` to `most`. When it is not, answers with a 422 and is empty; when
  /// it is absent, the inner value is.
  std::optional<std::optional<double>> number(std::string_view name, double least, double most) const;
  std::optional<std::optional<std::size_t>> whole_number(std::string_view name, std::size_t least,
                                                         std::size_t most) const;

  /// What `If-Match` demands. When it is malformed, answers with a 400 and is empty.
  std::optional<registration_condition> condition() const;

  /// Asks an actor; `.then(…)` on the result as with CAF's own request. Without a deadline of its own: the worker
  /// bounds the wait of every client, and an actor that ends answers with an error.
  template <class Actor, class... Ts>
  auto ask(const Actor& actor, Ts&&... message) const {
    return self_->request(actor, caf::infinite, std::forward<Ts>(message)...);
  }

  void answer(response reply) const { http::answer(exchange_, std::move(reply)); }
  /// 200 with the value as JSON.
  template <class T>
  void answer_json(const T& value) const {
    response reply;
    schema::append_json(reply.body, value);
    answer(std::move(reply));
  }
  void answer_invalid(const schema::violations& found) const;
  /// A 422 about one query parameter; `why` is a sentence without a full stop.
  void answer_invalid_query(std::string_view name, std::string_view value, const std::string& why) const;
  /// The answer to an error that an actor gave; see http/problems.hpp.
  void answer_error(const caf::error& error) const;

private:
  gateway_pointer self_;
  exchange_ptr exchange_;
};

} // namespace coordinator::http
