#pragma once

#include "http/registrar/registrar.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace mp_registrar {

// Why something can't be what it is to be, as `must …`; empty when it can.

std::optional<std::string> coordinator_url_problem(const std::string& url);
std::optional<std::string> heartbeat_interval_problem(std::chrono::duration<double> interval);

/// Strips what surrounds values, drops brackets around an address, and checks everything. Not for options without
/// coordinators.
configuration_problems normalise(options& how);

/// The address of the interface that leads to the host of that (correct) URL; empty when there is none. Sends nothing
/// and asks no name server: for a host name it is the interface of the default route.
std::optional<std::string> detect_own_address(const std::string& coordinator_url);

} // namespace mp_registrar
