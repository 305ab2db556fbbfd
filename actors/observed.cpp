#include "actors/observed.hpp"

#include <caf/error.hpp>

namespace coordinator::detail {

namespace {

/// A trace line shows what was sent, not all of a long list.
constexpr std::size_t max_traced_content = 200;

} // namespace

void log_handled(const caf::local_actor* self, const std::string& content) {
  log::write(log::level::trace, log::of(self), "actor.handled",
             {{"message", std::string_view{content}.substr(0, max_traced_content)}});
}

void log_spawned(const caf::local_actor* self) {
  log::write(log::level::debug, log::of(self), "actor.spawned");
}

void log_ended(const char* name, caf::actor_id id, const std::string& reason) {
  log::write(log::level::debug, {name, id}, "actor.stopped", {{"reason", reason}});
}

caf::error caught(const caf::local_actor* self, const std::exception_ptr& thrown) {
  std::string what = "unknown exception";
  try {
    std::rethrow_exception(thrown);
  } catch (const std::exception& error) {
    what = error.what();
  } catch (...) {
  }
  log::write(log::level::error, log::of(self), "actor.failed", {{"exception", what}});
  return caf::make_error(caf::sec::runtime_error, std::move(what));
}

} // namespace coordinator::detail
