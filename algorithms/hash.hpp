/// @file
/// What fingerprints and numbers of communicators are made with; equal on all ranks.
#pragma once

#include <cstdint>
#include <string_view>

#include <tutti/version.hpp>

namespace tutti::v0::detail {

/// @param hash of what came before. @param value what comes. @return the hash of both.
[[nodiscard]] inline std::uint64_t combine(std::uint64_t hash, std::uint64_t value) noexcept {
  hash = (hash ^ value) * 0x9e3779b97f4a7c15U;
  return hash ^ (hash >> 29U);
}
/// @copydoc combine
/// @param text what comes.
[[nodiscard]] inline std::uint64_t combine(std::uint64_t hash, std::string_view text) noexcept {
  for (const char c : text)
    hash = combine(hash, static_cast<std::uint64_t>(static_cast<unsigned char>(c)));
  return combine(hash, text.size());
}

}  // namespace tutti::v0::detail
