#pragma once

#include "schema/json.hpp"
#include "schema/violation.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace coordinator::schema {

/// Collects what is wrong with a request while it is being read, and knows where in it the reading is.
///
/// Keeps and describes at most `max_listed_violations`, so that a request with a million wrong values costs no more
/// than one with a hundred.
class violation_report {
  using step = std::variant<std::string_view, std::size_t>;

public:
  /// While it lives, violations are inside of the member or item it was made for.
  class [[nodiscard]] scope {
  public:
    scope(violation_report& report, step inner) : report_{report} { report_.path_.push_back(inner); }
    ~scope() { report_.path_.pop_back(); }
    scope(const scope&) = delete;
    scope& operator=(const scope&) = delete;

  private:
    violation_report& report_;
  };

  /// `source` is the first step of every location: `body`, for one. It must outlive the report.
  explicit violation_report(std::string_view source) : path_{source} {}

  /// `name` must outlive the scope.
  scope inside(std::string_view name) { return {*this, name}; }
  scope inside(std::size_t index) { return {*this, index}; }

  /// Adds a violation of `input`, which is at the present location. `ctx` is a JSON object or empty.
  void add(std::string_view type, std::string msg, const json_value& input, std::string ctx = {});

  /// The violation of a rule of our own, with a text that says what is wrong.
  void add_value_error(std::string_view text, const json_value& input);

  /// How many violations there are, listed or not.
  std::size_t count() const noexcept { return count_; }

  /// What was found, with the closing item when not everything is listed.
  violations take();

private:
  std::vector<step> path_;
  violations listed_;
  std::size_t count_ = 0;
};

} // namespace coordinator::schema
