#include "http/gateway.hpp"
#include "schema/service.hpp"

#include <algorithm>
#include <chrono>

namespace coordinator::http {

namespace {

using seconds = std::chrono::duration<double>;

/// Alive: this worker and its gateway got as far as answering.
void healthz(const call& asked) {
  asked.answer_json(schema::health_reply{});
}

/// Ready: everything made progress lately. Asks no actor, since one that is stuck would not answer.
void readyz(const call& asked) {
  const auto& board = *asked.state().options.board;
  const auto now = asked.now();
  schema::readiness_reply state;
  for (const auto& mark : board.late(now))
    state.late.push_back({mark->name(), seconds{mark->age(now)}.count(), seconds{mark->limit()}.count()});
  if (const auto guard = asked.state().options.guard->get(); guard.active())
    state.guard = schema::guard_reply{guard.held_back, guard.alive, guard.dead,
                                      seconds{std::max(guard.last_end - now, duration::zero())}.count(),
                                      "Each server is asked at its address: those that answer keep their leases, those "
                                      "that refuse or stay silent are evicted."};
  state.status = board.stopping() ? "stopping" : state.late.empty() ? "ready" : "late";

  response reply;
  schema::append_json(reply.body, state);
  if (state.status != "ready") {
    reply.status = Code::Service_Unavailable;
    reply.headers.emplace_back("Retry-After", "1");
  }
  asked.answer(std::move(reply));
}

} // namespace

void register_health_api(router& routes) {
  const auto health = schema::json_schema<schema::health_reply>();
  const auto readiness = schema::json_schema<schema::readiness_reply>();
  routes.describe(health);
  routes.describe(readiness);

  schema::operation doc;
  doc.tag = "service";
  doc.id = "health";
  doc.summary = "Whether the process can serve";
  doc.description = "For a liveness probe: it looks at nothing else.";
  doc.responses = {{200, "It can.", health.name, {}}};
  routes.add({Method::Get, "/healthz", small_body, doc, healthz});

  doc.id = "readiness";
  doc.summary = "Whether every part of the service makes progress";
  doc.description = "For a readiness probe: every actor's and worker's last turn and the last sweep must be recent.";
  doc.responses = {{200, "All of them do.", readiness.name, {}},
                   {503, "Some do not, and are named; or the service is stopping.", readiness.name, {}}};
  routes.add({Method::Get, "/readyz", small_body, doc, readyz});
}

} // namespace coordinator::http
