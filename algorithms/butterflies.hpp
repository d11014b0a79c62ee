/// @file
/// What butterflies share: ranks folded to powers of a radix, and vectors halved along exchanges.
#pragma once

#include <algorithm>
#include <span>

#include "patterns.hpp"

namespace tutti::v0::algorithms {

/// Ranks folded to a power of a radix: the first ones form groups of as many as the radix, the last
/// of a group carries the others' operands; of the last group some may be missing.
struct Power {
  int size;
  int radix;
  int core = greatest_power(size, radix);
  int extra = size - core;
  int groups = extra / (radix - 1);  // without the one that is not full

  [[nodiscard]] static constexpr int greatest_power(int limit, int radix) noexcept {
    int power = 1;
    while (power <= limit / radix) power *= radix;
    return power;
  }
  /// The number of a carrier, and of those it carries; virtual ranks keep the order of ranks.
  [[nodiscard]] constexpr int virtual_rank(Rank rank) const noexcept {
    return rank < groups * radix ? rank / radix : std::max(groups, rank - extra);
  }
  /// The carrier of that number.
  [[nodiscard]] constexpr Rank rank(int virtual_rank) const noexcept {
    return virtual_rank < groups ? virtual_rank * radix + radix - 1 : virtual_rank + extra;
  }
  /// The first rank that a virtual rank stands for; they are a run, and the carrier is its last.
  [[nodiscard]] constexpr Rank first_of(int virtual_rank) const noexcept {
    return virtual_rank <= groups ? virtual_rank * radix : virtual_rank + extra;
  }
};

/// An all_reduce for any number of ranks from one for powers: surplus ranks hand the whole vector
/// to their carrier first and get the result last. Operands stay in order.
[[nodiscard]] Schedule fold_to_power(const Power& power, Builder* inner, const Shape& shape,
                                     Rank self);

/// One exchange of a butterfly that halves the vector.
struct Halving {
  Rank peer;
  bool keeps_lower;  // half of what this rank has
};

/// Rabenseifner's all_reduce along exchanges: halves are reduced one way and gathered back. Powers
/// of two; the vector is cut into a unit per rank.
[[nodiscard]] Schedule halve_and_double(std::span<const Halving> halvings, const Shape& shape,
                                        Rank self);

}  // namespace tutti::v0::algorithms
