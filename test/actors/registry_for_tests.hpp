#pragma once

#include "actors/registry.hpp"

#include <chrono>
#include <memory>
#include <string>
#include <utility>

namespace coordinator::test {

/// A registry with leases of 30 s and nothing surprising about it.
inline registry_options options_of_registry(time_point now) {
  registry_options result;
  result.instance_timeout = std::chrono::seconds{30};
  result.run = "run";
  result.memory = std::make_shared<membership_memory>();
  result.generate_id = [] { return "generated"; };
  result.wall_clock = [] { return 12.5; };
  result.progress = std::make_shared<progress_mark>("registry", std::chrono::seconds{3}, now);
  return result;
}

/// Body of a registration in which only the id matters. Each has an address of its own.
inline schema::register_request registration_of(std::string id) {
  schema::register_request result;
  result.ip = "host-" + id;
  result.instance_id = std::move(id);
  result.http_port = 8080;
  return result;
}

} // namespace coordinator::test
