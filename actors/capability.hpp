#pragma once

#include "actors/messages.hpp"
#include "actors/supervisor.hpp"

#include <caf/actor_cast.hpp>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// What a capability tells the service of itself (docs/adding-a-capability.md). The build finds each file
// actors/<name>_capability.cpp, which defines `capability <name>_capability();`.

namespace coordinator {

/// A setting that comes with a capability: a flag, an environment variable and a line of the settings file, like every
/// other.
struct capability_setting {
  std::string name; ///< Without dashes in front, unique: `ping-interval`.
  std::string description;
  std::string default_value;
  /// Why a text can't be its value, as "must be …"; empty when it can.
  std::function<std::optional<std::string>(const std::string& text)> problem;
};

/// One whose value is a number of seconds from `least` to `most`; see `configuration::seconds`.
capability_setting seconds_setting(std::string name, std::string description, std::string default_value, double least,
                                   double most);

/// The effective values of a capability's settings. All have passed their checks.
class configuration {
public:
  configuration() = default;
  explicit configuration(std::map<std::string, std::string, std::less<>> values) : values_(std::move(values)) {}

  /// The name must be that of a setting.
  const std::string& text(std::string_view name) const { return values_.find(name)->second; }
  duration seconds(std::string_view name) const;

private:
  std::map<std::string, std::string, std::less<>> values_;
};

struct capability {
  /// Of its actor: in links, readiness and the log, whose filter takes it as a component.
  std::string name;
  std::vector<capability_setting> settings{};
  /// Says how the supervisor makes the actor. Called once, before any actor runs.
  std::function<child_specification(const configuration&)> make;
};

/// All that the build has found, by name. Generated.
std::vector<capability> all_capabilities();

/// To be returned by `child_specification::spawn`: enters the actor into the links under the name, for those who ask
/// it, and has it told of restarted peers. Its interface must take `links_atom, links`.
template <class Handle>
child capability_child(links& actors, const std::string& name, const Handle& spawned) {
  actors.capabilities.insert_or_assign(name, caf::actor_cast<caf::strong_actor_ptr>(spawned));
  return child_with_links(spawned);
}

} // namespace coordinator
