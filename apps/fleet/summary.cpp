#include "apps/fleet/summary.hpp"

#include "schema/json_text.hpp"

#include <cmath>
#include <concepts>
#include <string_view>
#include <utility>

namespace coordinator::fleet {

namespace {

/// Three decimals are plenty, and short.
double rounded(double value) {
  return std::round(value * 1000) / 1000;
}

double milliseconds(duration value) {
  return rounded(to_seconds(value) * 1000);
}

/// Writes one object; braces close by themselves.
class object {
public:
  explicit object(std::string& out) : out_{out} { out_ += '{'; }
  ~object() { out_ += '}'; }
  object(const object&) = delete;
  object& operator=(const object&) = delete;

  template <class Value>
  void add(std::string_view name, const Value& value) {
    key(name);
    if constexpr (std::same_as<Value, bool>)
      schema::append_boolean(out_, value);
    else if constexpr (std::integral<Value>)
      schema::append_number(out_, value);
    else if constexpr (std::floating_point<Value>)
      schema::append_number(out_, rounded(value));
    else
      schema::append_quoted(out_, value);
  }

  object inside(std::string_view name) {
    key(name);
    return object{out_};
  }

  std::string& key(std::string_view name) {
    if (!std::exchange(is_first_, false))
      out_ += ',';
    schema::append_quoted(out_, name);
    out_ += ':';
    return out_;
  }

private:
  std::string& out_;
  bool is_first_ = true;
};

void add_requests(object& to, std::string_view name, const request_figures& figures) {
  auto one = to.inside(name);
  one.add("sent", figures.sent);
  one.add("answered", figures.answered);
  one.add("unavailable", figures.unavailable);
  one.add("failed", figures.failed);
  auto took = one.inside("latency_ms");
  took.add("p50", milliseconds(figures.took.quantile(0.5)));
  took.add("p90", milliseconds(figures.took.quantile(0.9)));
  took.add("p99", milliseconds(figures.took.quantile(0.99)));
  took.add("max", milliseconds(figures.took.max()));
}

void add_violations(object& to, const violation_log& log) {
  auto all = to.inside("violations");
  all.add("total", log.total());
  for (std::size_t i = 0; i < violation_kinds; ++i) {
    const auto kind = static_cast<violation_kind>(i);
    auto of_kind = all.inside(to_string(kind));
    of_kind.add("count", log.count(kind));
    auto& out = of_kind.key("examples");
    out += '[';
    bool is_first = true;
    for (const auto& example : log.examples(kind)) {
      if (!std::exchange(is_first, false))
        out += ',';
      object one{out};
      one.add("at", to_seconds(example.at));
      one.add("instance_id", example.instance_id);
      one.add("detail", example.detail);
    }
    out += ']';
  }
}

} // namespace

std::string summary_json(const options& asked, const outcome& result) {
  const auto& last = result.last;
  std::string out;
  {
    object whole{out};
    whole.add("profile", asked.chosen->name);
    whole.add("servers", static_cast<std::uint64_t>(last.servers));
    whole.add("seconds", to_seconds(last.elapsed));
    whole.add("seed", asked.seed);
    whole.add("interrupted", result.was_interrupted);
    {
      auto settings = whole.inside("settings");
      settings.add("heartbeat_interval", to_seconds(asked.heartbeat_interval));
      settings.add("instance_timeout", to_seconds(asked.instance_timeout));
      settings.add("health_check_interval", to_seconds(asked.health_check_interval));
      settings.add("slack", to_seconds(asked.slack));
    }
    {
      auto counts = whole.inside("counts");
      counts.add("starts", last.starts);
      counts.add("crashes", last.crashes);
      counts.add("rejoined", last.rejoined);
      counts.add("coordinator_kills", last.coordinator_kills);
      counts.add("health_checks", result.health_checks);
    }
    {
      auto requests = whole.inside("requests");
      add_requests(requests, "register", last.requests[0]);
      add_requests(requests, "heartbeat", last.requests[1]);
      add_requests(requests, "deregister", last.requests[2]);
      add_requests(requests, "list", last.lists);
    }
    add_violations(whole, last.violations);
    {
      auto simulator = whole.inside("simulator");
      simulator.add("cpu_seconds", result.processor_seconds);
      simulator.add("longest_delay_ms", milliseconds(last.longest_delay));
    }
    if (result.coordinator) {
      auto coordinator = whole.inside("coordinator");
      coordinator.add("cpu_seconds", result.coordinator->processor_seconds);
      coordinator.add("rss_bytes", result.coordinator->resident_bytes);
      coordinator.add("peak_rss_bytes", result.coordinator->peak_resident_bytes);
    }
  }
  out += '\n';
  return out;
}

} // namespace coordinator::fleet
