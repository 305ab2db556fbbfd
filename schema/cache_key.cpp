#include "schema/cache_key.hpp"

#include "schema/cache_declarations.hpp"
#include "schema/utf8.hpp"

#include <fmt/format.h>

#include <utility>

namespace coordinator::schema {

namespace {

constexpr bool is_hex_digit(char c) noexcept {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

constexpr char lower(char c) noexcept {
  return c >= 'A' && c <= 'F' ? static_cast<char>(c - 'A' + 'a') : c;
}

/// Hexadecimal digits in pairs, with white space allowed between the pairs, as Python's `bytes.fromhex` reads them.
std::optional<std::string> normalized_hex(std::string_view text) {
  constexpr std::string_view white_space = " \t\n\v\f\r";
  std::string digits;
  digits.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    if (white_space.find(text[at]) != std::string_view::npos) {
      ++at;
      continue;
    }
    if (at + 1 >= text.size() || !is_hex_digit(text[at]) || !is_hex_digit(text[at + 1]))
      return std::nullopt;
    digits += lower(text[at]);
    digits += lower(text[at + 1]);
    at += 2;
  }
  return digits;
}

/// The first of `forbidden` that is in `text`.
std::optional<char> first_of(std::string_view text, std::string_view forbidden) {
  const auto at = text.find_first_of(forbidden);
  return at == std::string_view::npos ? std::nullopt : std::optional{text[at]};
}

} // namespace

std::string_view to_string(cache_tier value) noexcept {
  switch (value) {
  case cache_tier::l1:
    return "l1";
  case cache_tier::l2:
    return "l2";
  case cache_tier::all:
    return "all";
  }
  return "";
}

std::optional<std::string> model_name_problem(std::string_view name) {
  if (first_of(name, "@"))
    return fmt::format("model_name must not contain '@' (got '{}')", utf8_prefix(name, 200));
  return std::nullopt;
}

std::optional<std::string> cache_salt_problem(std::string_view salt) {
  using namespace std::string_view_literals;
  if (const auto found = first_of(salt, "@/\\\0"sv))
    return *found == '\0' ? std::string{"cache_salt must not contain NUL"}
                          : fmt::format("cache_salt must not contain '{}' (got '{}')", *found, utf8_prefix(salt, 200));
  if (const auto length = utf8_length(salt); length > max_cache_salt_characters)
    return fmt::format("cache_salt exceeds max length {} (got {})", max_cache_salt_characters, length);
  return std::nullopt;
}

std::optional<std::string> normalize(cache_key& key) {
  auto digits = normalized_hex(key.chunk_hash_hex);
  if (!digits)
    return "chunk_hash_hex must be pairs of hexadecimal digits";
  if (auto problem = model_name_problem(key.model_name))
    return problem;
  if (key.object_group_id < 0)
    return fmt::format("object_group_id must be >= 0 (got {})", key.object_group_id);
  if (auto problem = cache_salt_problem(key.cache_salt))
    return problem;
  key.chunk_hash_hex = std::move(*digits);
  return std::nullopt;
}

std::int64_t pack_kv_rank(std::uint32_t world_size, std::uint32_t rank) noexcept {
  return std::int64_t{world_size} << 24 | std::int64_t{rank} << 16 | std::int64_t{world_size} << 8 | std::int64_t{rank};
}

std::uint32_t world_size_of(std::int64_t kv_rank) noexcept {
  return static_cast<std::uint32_t>(static_cast<std::uint64_t>(kv_rank) >> 24 & 0xFF);
}

std::size_t cache_key_hash::operator()(const cache_key& key) const noexcept {
  std::size_t result = std::hash<std::string_view>{}(key.chunk_hash_hex);
  const auto mix = [&result](std::size_t part) { result ^= part + 0x9E3779B97F4A7C15 + (result << 6) + (result >> 2); };
  mix(std::hash<std::string_view>{}(key.model_name));
  mix(std::hash<std::int64_t>{}(key.kv_rank));
  mix(std::hash<std::int64_t>{}(key.object_group_id));
  mix(std::hash<std::string_view>{}(key.cache_salt));
  return result;
}

template parsed<cache_key> parse(std::string_view, std::string_view);
template void append_json(std::string&, const cache_key&);
template named_schema json_schema<cache_key>();

} // namespace coordinator::schema
