#pragma once

#include "apps/mp_server/node.hpp"
#include "http/response.hpp"

#include <utility>

namespace mp_server {

/// The status of a declined request, and why it was.
inline coordinator::http::response problem_of(const refusal& declined) {
  using coordinator::http::Code;
  switch (declined.reason) {
  case refusal_reason::not_found:
    return coordinator::http::problem(Code::Not_Found, declined.detail);
  case refusal_reason::unavailable:
    return coordinator::http::problem(Code::Service_Unavailable, declined.detail);
  case refusal_reason::invalid:
    break;
  }
  return coordinator::http::problem(Code::Bad_Request, declined.detail);
}

/// Answers with what an operation came to, and reports what it changed.
template <class T>
void answer(const coordinator::http::call& asked, node& state, const result<T>& outcome, const fault& wrong,
            coordinator::http::Code status = coordinator::http::Code::Ok) {
  if (!wrong.drop_events)
    state.report(outcome.changed);
  if (const auto* declined = outcome.declined())
    return asked.answer(problem_of(*declined));
  coordinator::http::response reply;
  reply.status = status;
  schema::append_json(reply.body, *outcome.value());
  asked.answer(std::move(reply));
}

} // namespace mp_server
