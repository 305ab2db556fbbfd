#include "http/registrar/event.hpp"

#include <array>
#include <charconv>

namespace mp_registrar {

namespace {

std::string seconds(std::chrono::nanoseconds time) {
  std::array<char, 32> text{};
  const auto end =
      std::to_chars(text.data(), text.data() + text.size(), std::chrono::duration<double>{time}.count()).ptr;
  return std::string{text.data(), end} + " s";
}

} // namespace

std::string_view to_string(event_kind value) noexcept {
  switch (value) {
  case event_kind::registered:
    return "registered";
  case event_kind::lost:
    return "lost";
  case event_kind::superseded:
    return "superseded";
  case event_kind::unreachable:
    return "unreachable";
  case event_kind::refused:
    return "refused";
  case event_kind::interval_shortened:
    return "interval_shortened";
  case event_kind::left:
    return "left";
  }
  return "unknown";
}

std::string describe(const event& what) {
  const auto& url = what.coordinator_url;
  const auto& id = what.instance_id;
  switch (what.kind) {
  case event_kind::registered:
    return "registered as " + id + " with " + url + (what.re_registered ? ", replacing an earlier registration" : "")
           + "; a heartbeat every " + seconds(what.interval);
  case event_kind::lost:
    return url + " does not know " + id + " any more; registering again";
  case event_kind::superseded:
    return "somebody else registered " + id + " with " + url + ": two servers have the same id";
  case event_kind::unreachable:
    return "no answer from " + url + ": " + what.detail;
  case event_kind::refused:
    return url + " refuses: " + what.detail;
  case event_kind::interval_shortened:
    return url + " evicts after " + seconds(what.lease) + " of silence: a heartbeat every " + seconds(what.interval)
           + " from now on, not as configured";
  case event_kind::left:
    return what.detail.empty() ? id + " left " + url : id + " could not take its leave of " + url + ": " + what.detail;
  }
  return {};
}

} // namespace mp_registrar
