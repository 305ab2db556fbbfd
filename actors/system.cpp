#include "actors/system.hpp"

#include "actors/errors.hpp"
#include "actors/log_sink.hpp"
#include "actors/messages.hpp"

#include <caf/atom.hpp>

#include <string>

namespace coordinator {

namespace {

void add_vocabulary(caf::actor_system_config& config) {
  config.add_message_types<caf::id_block::coordinator>();
  config.add_error_category(caf::atom("mpc"), render_error);
}

} // namespace

system_config::system_config(std::size_t scheduler_threads) {
  add_vocabulary(*this);
  set("scheduler.policy", caf::atom("sharing"));
  set("scheduler.max-threads", scheduler_threads);
  // Wide open: actors/log.hpp filters, and can do so differently at run time.
  set("logger.console", caf::atom("uncolored"));
  set("logger.verbosity", caf::atom("trace"));
  set("logger.console-verbosity", caf::atom("trace"));
  set("logger.file-verbosity", caf::atom("quiet")); // or it leaves a file in the working directory
  static_assert(log_sink::mark == "mpc ", "the category that the format below puts before each message");
  set("logger.console-format", std::string{"%c %m"});
}

test_system_config::test_system_config() {
  add_vocabulary(*this);
  set("scheduler.policy", caf::atom("testing"));
}

} // namespace coordinator
