/// @file
/// Stores past the caches, a line at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace tutti::host {

/// Bytes that are stored past the caches at a time.
inline constexpr std::size_t kLine = 64;

/// Copies a line past the caches, or through them if it does not lie at a multiple of 16 bytes.
/// @param to where it goes. @param from where it is.
inline void stream_line(std::byte* to, const std::byte* from) noexcept {
#if defined(__SSE2__)
  if (reinterpret_cast<std::uintptr_t>(to) % sizeof(__m128i) == 0) {
    for (std::size_t i = 0; i < kLine; i += sizeof(__m128i))
      _mm_stream_si128(reinterpret_cast<__m128i*>(to + i),
                       _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i)));
    return;
  }
#endif
  std::memcpy(to, from, kLine);
}

}  // namespace tutti::host
