/// @file
/// The cluster's random numbers. The standard distributions differ between libraries, but a seed
/// must give the same run everywhere.
#pragma once

#include <cstdint>

namespace tutti::v0::sim {

/// SplitMix64 (Steele, Lea, Flood 2014): a counter and a mixing function.
class Random {
 public:
  /// @param seed any number; equal seeds give equal sequences.
  explicit constexpr Random(std::uint64_t seed) noexcept : state_{seed} {}

  /// @return the next 64 bits.
  constexpr std::uint64_t next() noexcept {
    state_ += 0x9e3779b97f4a7c15u;
    std::uint64_t mixed = state_;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9u;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebu;
    return mixed ^ (mixed >> 31);
  }
  /// The modulo bias is below bound / 2^64 and does not matter here.
  /// @param bound more than zero. @return a number in [0, bound).
  constexpr std::uint64_t below(std::uint64_t bound) noexcept { return next() % bound; }

 private:
  std::uint64_t state_;
};

}  // namespace tutti::v0::sim
