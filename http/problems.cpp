#include "http/problems.hpp"

#include "actors/errors.hpp"

#include <caf/error.hpp>
#include <caf/exit_reason.hpp>
#include <caf/sec.hpp>

namespace coordinator::http {

response problem_of(const caf::error& error) {
  if (error == ec::unknown_instance)
    return problem(Code::Not_Found, "No instance of this id is registered; list them with GET /instances.");
  if (error == ec::superseded)
    return problem(Code::Precondition_Failed,
                   "The id has been registered anew since the registration that If-Match names; nothing was changed.");
  if (error == ec::departed)
    return problem(Code::Not_Found, "The instance left, or registered anew, before it could be asked.");
  if (error == ec::overloaded) {
    auto reply =
        problem(Code::Service_Unavailable, "Too many calls to cache servers are waiting already; try again later.");
    reply.headers.emplace_back("Retry-After", "1");
    return reply;
  }
  // Everything else is an actor that ended, is being restarted, or is stopping: trying again is right.
  auto reply = problem(Code::Service_Unavailable, "The coordinator is restarting a part of itself; try again.");
  reply.headers.emplace_back("Retry-After", "1");
  return reply;
}

} // namespace coordinator::http
