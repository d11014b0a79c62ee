/// @file
/// Peer arithmetic and building blocks that several algorithms share.
#pragma once

#include <algorithm>
#include <bit>

#include <tutti/algorithm.hpp>

namespace tutti::algorithms {

/// The signature of every generator, for declaring them by name.
using Builder = Schedule(const Shape& shape, Rank self);

/// Building blocks over one unit per rank: afterwards rank r holds unit r complete, or all units.
Builder ring_reduce_scatter, ring_all_gather, circulant_reduce_scatter, circulant_all_gather;
/// In-order binomial tree from the root: afterwards rank r holds unit r of n.
Builder binomial_scatter;
/// Trees over the vector as one unit.
Builder binomial_broadcast, binomial_reduce;

[[nodiscard]] constexpr std::uint32_t unsigned_of(int value) noexcept {
  return static_cast<std::uint32_t>(value);
}

/// The ranks as a cycle, seen from one of them.
struct Cycle {
  int size;
  Rank self;

  /// The rank, or unit, `distance` further along; the distance may be negative.
  [[nodiscard]] constexpr int at(int distance) const noexcept {
    return ((self + distance) % size + size) % size;
  }
  /// One unit of the result, by its distance.
  [[nodiscard]] constexpr Slots unit(int distance) const noexcept {
    return {Space::out, unsigned_of(at(distance))};
  }
  /// Calls visit(Slots) for the units [begin, end) by distance: at most two runs where they wrap.
  template <class Visit>
  constexpr void runs(int begin, int end, Visit visit) const {
    if (begin >= end) return;
    const int first = at(begin);
    const int count = end - begin;
    const int before_wrap = std::min(count, size - first);
    visit(Slots{Space::out, unsigned_of(first), unsigned_of(before_wrap)});
    if (count > before_wrap) visit(Slots{Space::out, 0, unsigned_of(count - before_wrap)});
  }
};

/// Ranks renumbered so that the root is 0.
struct Rooted {
  int size;
  Rank root;

  [[nodiscard]] constexpr int virtual_rank(Rank rank) const noexcept {
    return (rank - root + size) % size;
  }
  [[nodiscard]] constexpr Rank rank(int virtual_rank) const noexcept {
    return (virtual_rank + root) % size;
  }
};

/// Ranks folded to a power of two: the first 2 * extra ranks pair up, and the odd ones carry on.
struct PowerOfTwo {
  int size;
  int core = static_cast<int>(std::bit_floor(unsigned_of(size)));
  int extra = size - core;

  /// Whether a rank hands its part to its right neighbour and waits for the result.
  [[nodiscard]] constexpr bool idles(Rank rank) const noexcept {
    return rank < 2 * extra && rank % 2 == 0;
  }
  /// Whether a rank carries its left neighbour's part.
  [[nodiscard]] constexpr bool carries(Rank rank) const noexcept {
    return rank < 2 * extra && rank % 2 == 1;
  }
  [[nodiscard]] constexpr int virtual_rank(Rank rank) const noexcept {
    return rank < 2 * extra ? rank / 2 : rank - extra;
  }
  [[nodiscard]] constexpr Rank rank(int virtual_rank) const noexcept {
    return virtual_rank < extra ? 2 * virtual_rank + 1 : virtual_rank + extra;
  }
  /// The first real rank that a virtual rank stands for; virtual ranks cover runs of ranks in
  /// order.
  [[nodiscard]] constexpr Rank first_of(int virtual_rank) const noexcept {
    return virtual_rank < extra ? 2 * virtual_rank : virtual_rank + extra;
  }
};

/// An all_reduce for any number of ranks from one for powers of two: extra ranks hand the whole
/// vector to a neighbour first and get the result last. Operands stay in order.
[[nodiscard]] Schedule fold_to_power_of_two(Builder* inner, const Shape& shape, Rank self);

/// Where the operand of `peer` stands in the order of ranks.
[[nodiscard]] constexpr Side side_of(Rank peer, Rank self) noexcept {
  return peer < self ? Side::left : Side::right;
}

}  // namespace tutti::algorithms
