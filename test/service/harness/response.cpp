#include "response.hpp"

#include <algorithm>
#include <cctype>
#include <ostream>

namespace coordinator::service_test {

namespace {

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos)
    return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

} // namespace

std::optional<std::string> response::header(std::string_view name) const {
  for (const auto& [key, value] : headers)
    if (equals_ignoring_case(key, name))
      return value;
  return std::nullopt;
}

std::string response::header_text(std::string_view name) const {
  return header(name).value_or("");
}

bool response::closes() const {
  const auto options = split(header_text("Connection"), ',');
  const auto says = [&](std::string_view option) {
    return std::any_of(options.begin(), options.end(), [&](const auto& x) { return equals_ignoring_case(x, option); });
  };
  return says("close") || (version == "HTTP/1.0" && !says("keep-alive"));
}

json response::body_json() const {
  return json::parse(body);
}

std::ostream& operator<<(std::ostream& out, const response& value) {
  out << value.version << ' ' << value.status << ' ' << value.reason;
  for (const auto& [name, text] : value.headers)
    out << "\n" << name << ": " << text;
  return out << "\n\n" << value.body.substr(0, 2000);
}

bool equals_ignoring_case(std::string_view left, std::string_view right) {
  return std::equal(left.begin(), left.end(), right.begin(), right.end(),
                    [](unsigned char a, unsigned char b) { return std::tolower(a) == std::tolower(b); });
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> result;
  for (;;) {
    const auto end = text.find(separator);
    result.emplace_back(trimmed(text.substr(0, end)));
    if (end == std::string_view::npos)
      return result;
    text.remove_prefix(end + 1);
  }
}

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> result;
  while (!text.empty()) {
    const auto end = text.find('\n');
    result.emplace_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return result;
}

} // namespace coordinator::service_test
