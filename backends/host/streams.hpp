/// @file
/// Stores past the caches, a line at a time.
#pragma once

#include <cstddef>
#include <cstdint>

#if defined(__SSE2__)
#include <emmintrin.h>
#else
#include <tutti/spi/copy.hpp>
#endif

namespace tutti::host {

/// Bytes that are stored past the caches at a time.
inline constexpr std::size_t kLine = 64;

/// Copies a line past the caches. @param to aligned to a line.
inline void stream_line(std::byte* to, const std::byte* from) noexcept {
#if defined(__SSE2__)
  for (std::size_t i = 0; i < kLine; i += sizeof(__m128i))
    _mm_stream_si128(reinterpret_cast<__m128i*>(to + i),
                     _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i)));
#else
  copy_bytes(to, from, kLine);
#endif
}

}  // namespace tutti::host
