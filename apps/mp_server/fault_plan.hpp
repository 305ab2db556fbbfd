#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mp_server {

/// What goes wrong with the requests that match.
struct fault {
  std::string method;                 ///< Empty: any.
  std::string path;                   ///< What the request target starts with; empty: any.
  std::optional<std::uint32_t> times; ///< So many requests; unset: all from now on.

  std::chrono::milliseconds::rep delay_ms = 0; ///< Before anything else is done.
  bool hang = false;                           ///< No answer, ever.
  std::optional<std::uint16_t> status;         ///< This is answered, and nothing is done.
  std::optional<std::string> body;             ///< This is answered as it stands, and nothing is done.
  bool ok_false = false;                       ///< The L2 store fails.
  bool drop_events = false;                    ///< What the request changes is not reported.
  std::chrono::milliseconds::rep load_ms = 0;  ///< The prefetch that is submitted takes that long.
};

/// Which requests are to go wrong, and how.
class fault_plan {
public:
  void set(std::vector<fault> faults) { faults_ = std::move(faults); }

  /// The fault of a request that came in, the first that matches. Counts against its `times`.
  std::optional<fault> next(std::string_view method, std::string_view target);

  const std::vector<fault>& faults() const noexcept { return faults_; }

private:
  std::vector<fault> faults_;
};

} // namespace mp_server
