#include "http/uri.hpp"

#include <algorithm>

namespace coordinator::http {

namespace {

/// The value of a hexadecimal digit, or -1.
constexpr int hexadecimal(char c) noexcept {
  if (c >= '0' && c <= '9')
    return c - '0';
  if (c >= 'a' && c <= 'f')
    return c - 'a' + 10;
  if (c >= 'A' && c <= 'F')
    return c - 'A' + 10;
  return -1;
}

constexpr bool is_unreserved(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_'
         || c == '~';
}

std::optional<std::string> decode(std::string_view text, bool plus_is_blank) {
  const auto is_special = [plus_is_blank](char c) { return c == '%' || (c == '+' && plus_is_blank); };
  std::string result;
  result.reserve(text.size());
  for (;;) {
    // Most text holds nothing to decode, so what lies between is copied as a whole.
    const auto special = std::find_if(text.begin(), text.end(), is_special);
    result.append(text.begin(), special);
    text.remove_prefix(static_cast<std::size_t>(special - text.begin()));
    if (text.empty())
      return result;
    if (text.front() == '+') {
      result += ' ';
      text.remove_prefix(1);
      continue;
    }
    if (text.size() < 3)
      return std::nullopt;
    const int high = hexadecimal(text[1]);
    const int low = hexadecimal(text[2]);
    if (high < 0 || low < 0)
      return std::nullopt;
    result += static_cast<char>(high * 16 + low);
    text.remove_prefix(3);
  }
}

/// Calls `use` with each piece between separators, until it returns false. An empty text is one empty piece.
template <class Use>
bool for_each_piece(std::string_view text, char separator, Use use) {
  for (;;) {
    const auto end = text.find(separator);
    if (!use(text.substr(0, end)))
      return false;
    if (end == std::string_view::npos)
      return true;
    text.remove_prefix(end + 1);
  }
}

bool add_query(std::string_view text, std::vector<std::pair<std::string, std::string>>& query) {
  return for_each_piece(text, '&', [&query](std::string_view piece) {
    if (piece.empty()) // nothing between two ampersands, or no query at all
      return true;
    const auto equals = piece.find('=');
    auto name = decode(piece.substr(0, equals), true);
    auto value = equals == std::string_view::npos ? std::string{} : decode(piece.substr(equals + 1), true);
    if (!name || !value)
      return false;
    query.emplace_back(std::move(*name), std::move(*value));
    return true;
  });
}

} // namespace

std::optional<std::string> percent_decode(std::string_view text) {
  return decode(text, false);
}

std::string percent_encode(std::string_view text) {
  static constexpr char digits[] = "0123456789ABCDEF";
  std::string result;
  result.reserve(text.size());
  for (const char c : text) {
    if (is_unreserved(c)) {
      result += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      result += '%';
      result += digits[byte >> 4];
      result += digits[byte & 15];
    }
  }
  return result;
}

std::optional<std::string_view> target::parameter(std::string_view name) const noexcept {
  const auto last = std::find_if(query.rbegin(), query.rend(), [name](const auto& pair) { return pair.first == name; });
  if (last == query.rend())
    return std::nullopt;
  return last->second;
}

std::optional<target> parse_target(std::string_view text) {
  // A fragment is never sent (RFC 9110, 7.1), so a '#' is a client that forgot to escape it.
  if (text.empty() || text.front() != '/' || text.find('#') != std::string_view::npos)
    return std::nullopt;
  target result;
  const auto question = text.find('?');
  if (question != std::string_view::npos && !add_query(text.substr(question + 1), result.query))
    return std::nullopt;
  auto path = text.substr(1, question == std::string_view::npos ? question : question - 1);
  if (path.empty())
    return result;
  if (path.back() == '/')
    path.remove_suffix(1);
  result.segments.reserve(4); // as many as most routes have at most
  const bool well_formed = for_each_piece(path, '/', [&result](std::string_view piece) {
    auto segment = decode(piece, false);
    if (segment)
      result.segments.push_back(std::move(*segment));
    return segment.has_value();
  });
  if (!well_formed)
    return std::nullopt;
  return result;
}

} // namespace coordinator::http
