#pragma once

#include "schema/cache_key.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// How a sequence of tokens becomes the keys of its cached chunks. Coordinator and servers must agree on it to the bit.

namespace coordinator {

/// BLAKE3 with its usual 32 bytes of output.
using chunk_hash = std::array<std::uint8_t, 32>;

inline constexpr std::size_t default_chunk_size = 256;

/// The hash of each complete chunk of `chunk_size` (at least 1) tokens; what is left at the end is ignored. Each hash
/// covers the one before it, and so all tokens from the start of the sequence.
std::vector<chunk_hash> chunk_hashes(std::span<const std::uint32_t> tokens, std::size_t chunk_size);

/// What the hash of the first chunk covers in the place of one before it.
chunk_hash no_chunk_hash();

/// 64 lower-case hexadecimal digits.
std::string to_hex(const chunk_hash& hash);

/// The keys of those chunks: for each chunk in turn one for each of `world_size` workers, all in object group 0.
std::vector<schema::cache_key> chunk_keys(std::span<const chunk_hash> hashes, std::string_view model_name,
                                          std::uint32_t world_size, std::string_view cache_salt);

} // namespace coordinator
