/// @file
/// The copy of payload, except where the system or another library copies.
#pragma once

#include <cstddef>
#include <cstring>

#include <tutti/export.hpp>
#include <tutti/version.hpp>

namespace tutti::v0 {
namespace detail {

/// Copies by the widest vectors of this processor. @param from no overlap. @param bytes more than
/// 64.
TUTTI_API void copy_by_vectors(void* to, const void* from, std::size_t bytes) noexcept;

/// Copies the first kBytes and the last ones, which may overlap the first.
/// @tparam kBytes at least half of `bytes`. @param bytes at least kBytes.
template <std::size_t kBytes>
inline void copy_both_ends(std::byte* to, const std::byte* from, std::size_t bytes) noexcept {
  std::memcpy(to, from, kBytes);
  std::memcpy(to + (bytes - kBytes), from + (bytes - kBytes), kBytes);
}

}  // namespace detail

/// Copies at the same speed for all addresses. std::memcpy of the GNU C library before 2.39 takes
/// ten times as long on AMD processors if the destination lies 1 to 31 bytes after the source,
/// modulo 4096 (its bug 30994). That holds between a page of shared memory and nearly every array
/// of malloc. Thread-safe. @param from no overlap. @param bytes may be zero.
inline void copy_bytes(void* to, const void* from, std::size_t bytes) noexcept {
  if (bytes > 64) return detail::copy_by_vectors(to, from, bytes);
  auto* const target = static_cast<std::byte*>(to);
  const auto* const origin = static_cast<const std::byte*>(from);
  if (bytes >= 32) detail::copy_both_ends<32>(target, origin, bytes);
  else if (bytes >= 16) detail::copy_both_ends<16>(target, origin, bytes);
  else if (bytes >= 8) detail::copy_both_ends<8>(target, origin, bytes);
  else if (bytes >= 4) detail::copy_both_ends<4>(target, origin, bytes);
  else if (bytes >= 2) detail::copy_both_ends<2>(target, origin, bytes);
  else if (bytes == 1) *target = *origin;
}

}  // namespace tutti::v0
