#include "apps/fleet/live_view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

namespace coordinator::fleet {

namespace {

/// What the coordinator answered that it should not have.
std::uint64_t wrong_answers(const figures& current) {
  return current.violations.count(violation_kind::wrong_answer) + current.violations.count(violation_kind::wrong_row);
}

std::uint64_t failed(const figures& current) {
  std::uint64_t result = current.lists.failed;
  for (const auto& one : current.requests)
    result += one.failed;
  return result;
}

std::string latencies(std::string_view name, const request_figures& of) {
  const auto ms = [](duration value) { return to_seconds(value) * 1000; };
  return fmt::format("  {:<12} {:>10} {:>9.2f} {:>9.2f} {:>9.2f}\n", name, of.answered, ms(of.took.quantile(0.5)),
                     ms(of.took.quantile(0.99)), ms(of.took.max()));
}

} // namespace

double live_view::rate(const figures& current) {
  std::uint64_t answered = 0;
  for (const auto& one : current.requests)
    answered += one.answered;
  const auto time = to_seconds(current.elapsed - std::exchange(last_elapsed_, current.elapsed));
  const auto more = static_cast<double>(answered - std::exchange(last_answered_, answered));
  return time > 0 ? more / time : 0;
}

std::string live_view::screen(const figures& current, duration length) {
  auto text = fmt::format("{}: {}   {:.0f} s of {:.0f} s   seed {}\n", asked_.chosen->name, current.phase,
                          to_seconds(current.elapsed), to_seconds(length), asked_.seed);
  text += fmt::format("  servers {}   up {}   cut off {}   registered {}   listed {}   crashes {}\n", current.servers,
                      current.up, current.cut_off, current.registered, current.listed, current.crashes);
  text += fmt::format("  {:.0f} requests a second   failed {}\n", rate(current), failed(current));
  text += fmt::format("  {:<12} {:>10} {:>9} {:>9} {:>9}\n", "", "answered", "p50 ms", "p99 ms", "max ms");
  text += latencies("register", current.requests[0]);
  text += latencies("heartbeat", current.requests[1]);
  text += latencies("deregister", current.requests[2]);
  text += latencies("list", current.lists);
  text += fmt::format("  wrong answers {}   violations {}\n", wrong_answers(current), current.violations.total());
  for (std::size_t i = 0; i < violation_kinds; ++i) {
    const auto kind = static_cast<violation_kind>(i);
    if (const auto& examples = current.violations.examples(kind); !examples.empty())
      text += fmt::format("    {} {}, the first: {} {}\n", current.violations.count(kind), to_string(kind),
                          examples.front().instance_id, examples.front().detail.substr(0, 60));
  }
  // Back to the first line of what was drawn before, and nothing left of it.
  const auto back = drawn_lines_ > 0 ? fmt::format("\x1b[{}F\x1b[J", drawn_lines_) : std::string{};
  drawn_lines_ = static_cast<std::size_t>(std::ranges::count(text, '\n'));
  return back + text;
}

std::string live_view::line(const figures& current, duration length) {
  return fmt::format("{}: {}, {:.0f} s of {:.0f} s: {} of {} up, {} cut off, {} registered, {} listed, {:.0f} requests "
                     "a second, heartbeat p99 {:.2f} ms, {} failed, {} wrong answers, {} violations\n",
                     asked_.chosen->name, current.phase, to_seconds(current.elapsed), to_seconds(length), current.up,
                     current.servers, current.cut_off, current.registered, current.listed, rate(current),
                     to_seconds(current.requests[1].took.quantile(0.99)) * 1000, failed(current),
                     wrong_answers(current), current.violations.total());
}

} // namespace coordinator::fleet
