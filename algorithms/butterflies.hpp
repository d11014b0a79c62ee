/// @file
/// Parts of butterflies: ranks folded to a power of a radix, and vectors halved along exchanges.
#pragma once

#include <algorithm>
#include <span>

#include "patterns.hpp"

namespace tutti::v0::algorithms {

/// Ranks folded to a power of a radix. The first ranks form groups of `radix` ranks; the last group
/// may be smaller. The last rank of a group carries the operands of the others.
struct Power {
  int size;
  int radix;
  int core = greatest_power(size, radix);
  int extra = size - core;
  int groups = extra / (radix - 1);  // without the smaller one

  [[nodiscard]] static constexpr int greatest_power(int limit, int radix) noexcept {
    int power = 1;
    while (power <= limit / radix) power *= radix;
    return power;
  }
  /// The number of a carrier, and of the ranks that it carries. Virtual ranks keep the order of
  /// ranks.
  [[nodiscard]] constexpr int virtual_rank(Rank rank) const noexcept {
    return rank < groups * radix ? rank / radix : std::max(groups, rank - extra);
  }
  /// The carrier of that number.
  [[nodiscard]] constexpr Rank rank(int virtual_rank) const noexcept {
    return virtual_rank < groups ? virtual_rank * radix + radix - 1 : virtual_rank + extra;
  }
  /// The first rank that a virtual rank stands for. These ranks are consecutive; the carrier is the
  /// last.
  [[nodiscard]] constexpr Rank first_of(int virtual_rank) const noexcept {
    return virtual_rank <= groups ? virtual_rank * radix : virtual_rank + extra;
  }
};

/// Makes an all_reduce for any number of ranks from one for powers: surplus ranks send the whole
/// vector to their carrier first and get the result last. Operands stay in order.
[[nodiscard]] Schedule fold_to_power(const Power& power, Builder* inner, const Shape& shape,
                                     Rank self);

/// One exchange of a butterfly that halves the vector.
struct Halving {
  Rank peer;
  bool keeps_lower;  // half of this rank's part
};

/// Rabenseifner's all_reduce along exchanges: halves are reduced one way and gathered back. Powers
/// of two; the vector is cut into a unit per rank.
[[nodiscard]] Schedule halve_and_double(std::span<const Halving> halvings, const Shape& shape,
                                        Rank self);

}  // namespace tutti::v0::algorithms
