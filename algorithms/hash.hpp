/// @file
/// The hash for fingerprints and ids of communicators; equal on all ranks.
#pragma once

#include <cstdint>
#include <string_view>

#include <tutti/version.hpp>

namespace tutti::v0::detail {

/// @param hash of all values before. @return the hash with one more value.
[[nodiscard]] inline std::uint64_t combine(std::uint64_t hash, std::uint64_t value) noexcept {
  hash = (hash ^ value) * 0x9e3779b97f4a7c15U;
  return hash ^ (hash >> 29U);
}
/// @param hash of all values before. @return the hash with one more text.
[[nodiscard]] inline std::uint64_t combine(std::uint64_t hash, std::string_view text) noexcept {
  for (const char c : text)
    hash = combine(hash, static_cast<std::uint64_t>(static_cast<unsigned char>(c)));
  return combine(hash, text.size());
}

}  // namespace tutti::v0::detail
