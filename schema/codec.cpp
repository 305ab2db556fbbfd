#include "schema/codec_impl.hpp"

#include "schema/identifier.hpp"

#include <algorithm>

namespace coordinator::schema {

namespace {

char lower_case(char c) noexcept {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

std::string lower_case(std::string_view text) {
  std::string result{text};
  std::transform(result.begin(), result.end(), result.begin(), [](char c) { return lower_case(c); });
  return result;
}

bool is_json_media_type(std::string_view type) {
  constexpr std::string_view prefix = "application/";
  constexpr std::string_view suffix = "+json";
  return type == "application/json"
         || (type.starts_with(prefix) && type.ends_with(suffix) && type.size() > prefix.size() + suffix.size());
}

/// Whether a parameter such as ` charset="utf-8"` leaves the text what JSON has to be.
bool keeps_utf8(std::string_view parameter) {
  const auto equals = parameter.find('=');
  if (equals == std::string_view::npos || stripped(parameter.substr(0, equals)) != "charset")
    return true;
  auto value = stripped(parameter.substr(equals + 1));
  if (value.size() >= 2 && value.front() == '"' && value.back() == '"')
    value = value.substr(1, value.size() - 2);
  return value == "utf-8" || value == "utf8";
}

bool announces_json(std::string_view content_type) {
  const auto header = lower_case(content_type);
  std::string_view rest = header;
  const auto next_part = [&rest] {
    const auto end = std::min(rest.find(';'), rest.size());
    const auto part = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    return part;
  };
  if (!is_json_media_type(stripped(next_part())))
    return false;
  while (!rest.empty())
    if (!keeps_utf8(next_part()))
      return false;
  return true;
}

} // namespace

std::optional<violation> read_body(json_document& document, std::string_view body, std::string_view content_type) {
  using namespace std::string_literals;
  if (body.empty())
    return violation{"missing", {"body"s}, "Field required", "null", {}};
  if (!stripped(content_type).empty() && !announces_json(content_type))
    return violation{"value_error",
                     {"header"s, "content-type"s},
                     "Value error, the body is not announced as JSON in UTF-8: send Content-Type: application/json",
                     echo(content_type),
                     R"({"error":{}})"};
  if (const auto error = document.read(body)) {
    std::string ctx = R"({"error":)";
    append_quoted(ctx, error->reason);
    ctx.push_back('}');
    return violation{"json_invalid", {"body"s, error->offset}, "JSON decode error", "{}", std::move(ctx)};
  }
  return std::nullopt;
}

} // namespace coordinator::schema
