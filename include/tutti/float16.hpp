/// @file
/// Storage types for the two 16-bit floating-point formats. They convert and compare; arithmetic is
/// in float. g++ 12 lacks std::float16_t, and clang 14 lacks __bf16.
#pragma once

#include <bit>
#include <cstdint>

#include <tutti/export.hpp>
#include <tutti/version.hpp>

namespace tutti::v0 {

/// IEEE 754 binary16: 1 sign, 5 exponent, 10 fraction bits.
struct TUTTI_API Float16 {
  std::uint16_t bits = 0;  ///< The encoding.

  /// Positive zero.
  constexpr Float16() = default;
  /// Rounds to nearest, ties to even; overflow becomes infinity, NaN stays NaN (quiet).
  constexpr explicit Float16(float value) noexcept;
  /// Exact.
  constexpr explicit operator float() const noexcept;
  /// Compares encodings.
  friend constexpr bool operator==(Float16, Float16) = default;
};

/// bfloat16: the upper half of an IEEE 754 binary32.
struct TUTTI_API BFloat16 {
  std::uint16_t bits = 0;  ///< The encoding.

  /// Positive zero.
  constexpr BFloat16() = default;
  /// Rounds to nearest, ties to even; NaN stays NaN (quiet).
  constexpr explicit BFloat16(float value) noexcept;
  /// Exact.
  constexpr explicit operator float() const noexcept;
  /// Compares encodings.
  friend constexpr bool operator==(BFloat16, BFloat16) = default;
};

constexpr BFloat16::BFloat16(float value) noexcept {
  const auto word = std::bit_cast<std::uint32_t>(value);
  // A NaN whose payload sits in the lower half would otherwise round to infinity.
  const bool is_nan = (word & 0x7fffffffu) > 0x7f800000u;
  const std::uint32_t rounded = (word + 0x7fffu + ((word >> 16) & 1u)) >> 16;
  bits = static_cast<std::uint16_t>(is_nan ? ((word >> 16) | 0x40u) : rounded);
}

constexpr BFloat16::operator float() const noexcept {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

constexpr Float16::Float16(float value) noexcept {
  const auto word = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (word >> 16) & 0x8000u;
  const std::uint32_t magnitude = word & 0x7fffffffu;
  std::uint32_t result = 0;
  if (magnitude > 0x7f800000u) {
    result = 0x7e00u | ((magnitude >> 13) & 0x3ffu);
  } else if (magnitude >= 0x47800000u) {
    result = 0x7c00u;
  } else if (magnitude < 0x38800000u) {
    // Subnormal: adding 0.5 lets the float unit shift and round the fraction by itself.
    const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    result = std::bit_cast<std::uint32_t>(shifted) - 0x3f000000u;
  } else {
    result = (magnitude - 0x38000000u + 0xfffu + ((magnitude >> 13) & 1u)) >> 13;
  }
  bits = static_cast<std::uint16_t>(sign | result);
}

constexpr Float16::operator float() const noexcept {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000u) << 16;
  const std::uint32_t exponent = (bits >> 10) & 0x1fu;
  const std::uint32_t fraction = bits & 0x3ffu;
  if (exponent == 0x1fu) return std::bit_cast<float>(sign | 0x7f800000u | (fraction << 13));
  if (exponent == 0) {
    // 2^-24 is the weight of the lowest subnormal bit; the product is exact.
    const float magnitude = static_cast<float>(fraction) * 0x1p-24f;
    return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(magnitude));
  }
  return std::bit_cast<float>(sign | ((exponent + 112u) << 23) | (fraction << 13));
}

}  // namespace tutti::v0
