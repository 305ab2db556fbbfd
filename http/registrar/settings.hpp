#pragma once

#include "registrar.hpp" // next to this file, here as well as where it is installed

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace mp_registrar {

/// A setting that mp servers have in common, under the names that LMCache's server gives it.
struct setting {
  std::string_view flag;        ///< `--coordinator-url`
  std::string_view environment; ///< `LMCACHE_COORDINATOR_URL`
  std::string_view description;
  std::string_view default_value; ///< As text.
  /// Sets it in `to`. Returns what is wrong with the text, as `must …`; `to` is as before then.
  std::optional<std::string> (*apply)(options& to, std::string_view text);
};

/// All of them, to be declared to whatever parses the command line.
std::span<const setting> settings() noexcept;

/// Gives the value that the command line has for a flag (`--coordinator-url`), or nothing.
using flag_lookup = std::function<std::optional<std::string>(std::string_view flag)>;

/// Sets what the flags say, and what the environment says where there is no such flag. The environment of a flag that
/// is given is not looked at. Each problem names the flag or the variable.
configuration_problems apply_settings(options& to, const flag_lookup& given_flag);

/// The same for a server without flags.
configuration_problems apply_environment(options& to);

} // namespace mp_registrar
