#include "apps/mp_server/control_api.hpp"

#include "apps/mp_server/replies.hpp"

namespace mp_server {

namespace http = coordinator::http;
using http::call;
using http::Method;

namespace {

/// Answers with how many objects an operation was for.
void answer_tally(const call& asked, node& state, const result<tally>& outcome) {
  state.report(outcome.changed);
  if (const auto* declined = outcome.declined())
    return asked.answer(problem_of(*declined));
  asked.answer_json(tally_reply{outcome.value()->done, outcome.value()->skipped});
}

void answer_done(const call& asked) {
  http::response reply;
  reply.status = http::Code::No_Content;
  asked.answer(std::move(reply));
}

// -- the cache, as an engine would use it ------------------------------------

void store(const call& asked, node& state, const fault&) {
  if (auto body = asked.body<store_request>())
    answer_tally(asked, state, state.cache().store(std::move(body->entries), body->tier, body->adapter, body->shared));
}

void store_tokens(const call& asked, node& state, const fault&) {
  if (auto body = asked.body<store_tokens_request>())
    answer_tally(asked, state,
                 state.cache().store_tokens(
                     {body->model_name, body->world_size, std::move(body->token_ids), body->cache_salt, "l2", "l1"},
                     body->size_bytes, body->tier, body->adapter, body->shared));
}

void evict(const call& asked, node& state, const fault&) {
  if (auto body = asked.body<keys_request>())
    answer_tally(asked, state, state.cache().evict(std::move(body->keys), body->tier, body->adapter));
}

void access(const call& asked, node& state, const fault&) {
  if (auto body = asked.body<keys_request>())
    answer_tally(asked, state, state.cache().access(std::move(body->keys), body->tier, body->adapter));
}

node_handler lock_handler(bool locked) {
  return [locked](const call& asked, node& state, const fault&) {
    if (auto body = asked.body<keys_request>())
      answer_tally(asked, state, state.cache().set_locked(std::move(body->keys), locked));
  };
}

// -- faults and records ------------------------------------------------------

void set_faults(const call& asked, node& state, const fault&) {
  auto body = asked.body<fault_list>();
  if (!body)
    return;
  state.faults().set(std::move(body->faults));
  answer_done(asked);
}

void clear_faults(const call& asked, node& state, const fault&) {
  state.faults().set({});
  state.release_hung();
  answer_done(asked);
}

void forget_calls(const call& asked, node& state, const fault&) {
  state.forget_calls();
  answer_done(asked);
}

// -- the socket and the registration -----------------------------------------

void get_socket(const call& asked, const controlled& what) {
  what.main.post([asked, &service = what.service] { asked.answer_json(service.status()); });
}

void set_socket(const call& asked, const controlled& what) {
  const auto body = asked.body<socket_request>();
  if (!body)
    return;
  what.main.post([asked, mode = body->mode, &service = what.service] {
    if (const auto problem = service.set_mode(mode))
      asked.answer(http::problem(http::Code::Internal_Server_Error, *problem));
    else
      asked.answer_json(service.status());
  });
}

void set_heartbeats(const call& asked, const controlled& what) {
  const auto body = asked.body<heartbeats_request>();
  if (!body)
    return;
  what.main.post([asked, wanted = *body, set = what.set_heartbeats] {
    if (const auto problem = set(wanted.enabled))
      asked.answer(http::problem(http::Code::Service_Unavailable, *problem));
    else
      asked.answer_json(wanted);
  });
}

} // namespace

void add_control_routes(http::router& routes, const node_actor& to, const controlled& what) {
  const auto add = [&](Method method, const char* path, node_handler handler) {
    add_route(routes, to, false, method, path, std::move(handler));
  };
  add(Method::Post, "/store", store);
  add(Method::Post, "/store_tokens", store_tokens);
  add(Method::Post, "/evict", evict);
  add(Method::Post, "/access", access);
  add(Method::Post, "/lock", lock_handler(true));
  add(Method::Post, "/unlock", lock_handler(false));
  add(Method::Post, "/restart", [what](const call& asked, node& state, const fault&) {
    const restart_reply reply{state.restart()};
    what.main.post([asked, reply, again = what.register_anew] {
      if (const auto problem = again())
        asked.answer(http::problem(http::Code::Service_Unavailable, *problem));
      else
        asked.answer_json(reply);
    });
  });
  add(Method::Put, "/faults", set_faults);
  add(Method::Get, "/faults",
      [](const call& asked, node& state, const fault&) { asked.answer_json(fault_list{state.faults().faults()}); });
  add(Method::Delete, "/faults", clear_faults);
  add(Method::Get, "/calls", [](const call& asked, node& state, const fault&) { asked.answer_json(state.calls()); });
  add(Method::Delete, "/calls", forget_calls);

  // These are the main thread's work, whatever the node is doing.
  const auto add_here = [&](Method method, const char* path, void (*handler)(const call&, const controlled&)) {
    routes.add({method, path, http::small_body, {}, [handler, what](const call& asked) { handler(asked, what); }});
  };
  add_here(Method::Get, "/socket", get_socket);
  add_here(Method::Put, "/socket", set_socket);
  add_here(Method::Put, "/heartbeats", set_heartbeats);
}

} // namespace mp_server
