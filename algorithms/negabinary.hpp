/// @file
/// Numbers in base -2, by which Swing and Bine name distances between ranks: steps that alternate
/// between both directions keep peers near.
#pragma once

#include "patterns.hpp"

namespace tutti::v0::algorithms {

inline constexpr std::uint32_t kNegativeDigits = 0xAAAAAAAA;

/// The digits of a number in base -2.
[[nodiscard]] constexpr std::uint32_t negabinary_of(int value) noexcept {
  return (kNegativeDigits + unsigned_of(value)) ^ kNegativeDigits;
}

/// The number that has these digits, modulo 2^32.
[[nodiscard]] constexpr std::uint32_t number_of(std::uint32_t negabinary) noexcept {
  return (kNegativeDigits ^ negabinary) - kNegativeDigits;
}

/// Marks digits that differ from the next higher digit.
[[nodiscard]] constexpr std::uint32_t changes_in(std::uint32_t digits) noexcept {
  return digits ^ digits >> 1;
}

/// The peer of a rank at a step: at distance 1, -1, 3, -5, 11, .. for an even rank, and the
/// opposite distance for an odd one, so that the peer's peer is the rank itself. Any even number of
/// ranks.
[[nodiscard]] constexpr Rank swing_peer(const Cycle& cycle, int step) noexcept {
  const int power = 1 << (step + 1);
  const int distance = (1 - (step % 2 == 0 ? -power : power)) / 3;
  return cycle.at(cycle.self % 2 == 0 ? distance : -distance);
}

}  // namespace tutti::v0::algorithms
