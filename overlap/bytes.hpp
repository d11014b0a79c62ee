/// @file
/// The bytes of arrays, and hashes of bytes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include <tutti/gradient_sync.hpp>
#include <tutti/spi/copy.hpp>

namespace tutti::v0::detail {

/// @param array of the program's. @return its bytes.
[[nodiscard]] inline std::span<std::byte> bytes_of(const Parameter& array) noexcept {
  return {static_cast<std::byte*>(array.data), array.count * size_of(array.type)};
}

/// A 64-bit hash, eight bytes at a time, padded with zeros. Each step can be reversed, so a change
/// within any eight bytes always changes it. @param hash of the bytes before these. @return the
/// hash of all.
[[nodiscard]] inline std::uint64_t hash_of(std::span<const std::byte> bytes,
                                           std::uint64_t hash = 0x7475747469636b70) noexcept {
  for (std::size_t i = 0; i < bytes.size(); i += sizeof hash) {
    std::uint64_t word = 0;
    if (bytes.size() - i >= sizeof word) std::memcpy(&word, bytes.data() + i, sizeof word);
    else std::ranges::copy(bytes.subspan(i), std::as_writable_bytes(std::span{&word, 1}).begin());
    hash = (hash ^ word) * 0x9e3779b97f4a7c15;
    hash ^= hash >> 32;  // otherwise two flipped highest bits would cancel each other
  }
  return hash;
}

/// A hash for large arrays: a hash of kGradientLanes hashes, each of every kGradientLanes-th word,
/// so that a processor computes several at once. It differs from hash_of(). @param seed of all
/// hashes.
[[nodiscard]] std::uint64_t hash_in_lanes(std::span<const std::byte> bytes,
                                          std::uint64_t seed = 0x7475747469636b70) noexcept;

/// SplitMix64's finalizer (Steele, Lea, Flood, OOPSLA 2014).
[[nodiscard]] constexpr std::uint64_t mixed_bits(std::uint64_t x) noexcept {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

}  // namespace tutti::v0::detail
