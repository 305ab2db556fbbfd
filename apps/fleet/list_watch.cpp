#include "apps/fleet/list_watch.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace coordinator::fleet {

namespace {

constexpr std::size_t max_list_bytes = std::size_t{1} << 30;
constexpr duration patience = std::chrono::seconds{10};

double wall_clock() {
  return std::chrono::duration<double>{std::chrono::system_clock::now().time_since_epoch()}.count();
}

} // namespace

list_watch::list_watch(const std::string& coordinator_url, duration interval, consumer consume)
    : url_{coordinator_url + "/instances"}, interval_{interval}, consume_{std::move(consume)} {
  loop_.post([this] { ask(); });
}

void list_watch::ask() {
  outbound_request request;
  request.url = url_;
  request.timeout = patience;
  request.max_reply_bytes = max_list_bytes;
  const auto now = std::chrono::steady_clock::now();
  loop_.start(std::move(request), [this, now](const outbound_reply& reply) { take(now, reply); });
}

void list_watch::take(time_point requested_at, const outbound_reply& reply) {
  list_result result{
      .about = {requested_at, std::chrono::steady_clock::now(), wall_clock()}, .took = reply.took, .list = ""};
  if (reply.outcome != outbound_outcome::answered) {
    result.list = reply.detail;
  } else {
    result.status = reply.status;
    if (reply.status != 200) {
      result.list = "status " + std::to_string(reply.status);
    } else if (auto read = schema::parse<schema::instance_list>(reply.body, {});
               auto* list = std::get_if<schema::instance_list>(&read)) {
      result.list = std::move(*list);
    } else {
      result.is_nonsense = true;
      result.list = "not a list of instances: " + schema::to_json(std::get<schema::violations>(read));
    }
  }
  consume_(std::move(result));
  const auto now = std::chrono::steady_clock::now();
  // However long a list takes: some time for others in between.
  loop_.post_at(std::max(requested_at + interval_, now + interval_ / 4), [this] { ask(); });
}

} // namespace coordinator::fleet
