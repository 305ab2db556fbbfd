#pragma once

#include "actors/outbound.hpp"
#include "apps/fleet/clock.hpp"
#include "apps/fleet/ledger.hpp"
#include "http/outbound_loop.hpp"
#include "schema/instance.hpp"

#include <functional>
#include <memory>
#include <string>
#include <variant>

namespace coordinator::fleet {

/// What became of one `GET /instances`.
struct list_result {
  observed_list about;
  duration took{};
  /// The list, or why there is none.
  std::variant<schema::instance_list, std::string> list;
  int status = 0;           ///< 0: no answer.
  bool is_nonsense = false; ///< Answered with 200 and something that is no list.
};

/// Asks for the coordinator's list over and over, one request after the other, over a connection of its own; long lists
/// are read on its own thread, so that they keep nobody waiting.
class list_watch {
public:
  using consumer = std::function<void(list_result)>;

  /// `consume` is called on a thread of its own.
  list_watch(const std::string& coordinator_url, duration interval, consumer consume);

private:
  void ask();
  void take(time_point requested_at, const outbound_reply& reply);

  std::string url_;
  duration interval_;
  consumer consume_;
  http::outbound_loop loop_; ///< Last, so that it ends first.
};

} // namespace coordinator::fleet
