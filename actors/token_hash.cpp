#include "actors/token_hash.hpp"

#include <blake3.h>

#include <algorithm>

namespace coordinator {

namespace {

/// Tokens are hashed as four bytes each, the most significant first.
void append_token(std::vector<std::uint8_t>& out, std::uint32_t token) {
  for (int shift = 24; shift >= 0; shift -= 8)
    out.push_back(static_cast<std::uint8_t>(token >> shift));
}

chunk_hash hash_of(std::span<const std::uint8_t> bytes) {
  blake3_hasher hasher;
  blake3_hasher_init(&hasher);
  blake3_hasher_update(&hasher, bytes.data(), bytes.size());
  chunk_hash result{};
  blake3_hasher_finalize(&hasher, result.data(), result.size());
  return result;
}

} // namespace

chunk_hash no_chunk_hash() {
  // The seed, 0 in eight bytes, and one token, 0 in four.
  static const chunk_hash seeded = hash_of(std::array<std::uint8_t, 12>{});
  return seeded;
}

std::vector<chunk_hash> chunk_hashes(std::span<const std::uint32_t> tokens, std::size_t chunk_size) {
  std::vector<chunk_hash> result;
  result.reserve(tokens.size() / chunk_size);
  auto previous = no_chunk_hash();
  std::vector<std::uint8_t> input;
  for (; tokens.size() >= chunk_size; tokens = tokens.subspan(chunk_size)) {
    input.assign(previous.begin(), previous.end());
    for (const auto token : tokens.first(chunk_size))
      append_token(input, token);
    previous = result.emplace_back(hash_of(input));
  }
  return result;
}

std::string to_hex(const chunk_hash& hash) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string result;
  result.reserve(2 * hash.size());
  for (const auto byte : hash) {
    result += digits[byte >> 4];
    result += digits[byte & 0xF];
  }
  return result;
}

std::vector<schema::cache_key> chunk_keys(std::span<const chunk_hash> hashes, std::string_view model_name,
                                          std::uint32_t world_size, std::string_view cache_salt) {
  std::vector<schema::cache_key> keys;
  keys.reserve(hashes.size() * world_size);
  for (const auto& hash : hashes) {
    const auto hex = to_hex(hash);
    for (std::uint32_t rank = 0; rank < world_size; ++rank)
      keys.push_back(
          {hex, std::string{model_name}, schema::pack_kv_rank(world_size, rank), 0, std::string{cache_salt}});
  }
  return keys;
}

} // namespace coordinator
