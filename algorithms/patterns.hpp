/// @file
/// Peer arithmetic and building blocks that several algorithms share.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <span>
#include <vector>

#include <tutti/spi/algorithm.hpp>

namespace tutti::v0::algorithms {

/// The signature of every generator.
using Builder = Schedule(const Shape& shape, Rank self);

/// Building blocks over one unit per rank. After them rank r has the complete unit r, or all units.
Builder ring_reduce_scatter, ring_all_gather, circulant_reduce_scatter, circulant_all_gather;
/// In-order binomial tree from the root. After it rank r has unit r of n.
Builder binomial_scatter;
/// Trees over the vector as one unit.
Builder binomial_broadcast, binomial_reduce;

[[nodiscard]] constexpr std::uint32_t unsigned_of(int value) noexcept {
  return static_cast<std::uint32_t>(value);
}

/// Rounds in which data of one rank can reach `size` ranks; binary digits that number them.
[[nodiscard]] constexpr int ceil_log2(int size) noexcept {
  return static_cast<int>(std::bit_width(unsigned_of(size - 1)));
}

/// The ranks as a cycle, seen from one of them.
struct Cycle {
  int size;
  Rank self;

  /// The rank, or unit, `distance` further along; the distance may be negative.
  [[nodiscard]] constexpr int at(int distance) const noexcept {
    const int place = (self + distance) % size;
    return place < 0 ? place + size : place;
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

/// Calls visit(Slots) for units of the result in this order. Adjacent units are one run, ascending
/// or descending.
template <class Visit>
void runs_of(std::span<const Slots> units, Visit visit) {
  Slots run{Space::out, 0, 0};
  for (const Slots& unit : units) {
    const bool above = unit.first == run.first + run.count;
    const bool below = unit.first + 1 == run.first;
    if (run.count > 0 && !above && !below) visit(run);
    if (run.count == 0 || (!above && !below)) run = unit;
    else run = {Space::out, std::min(run.first, unit.first), run.count + 1};
  }
  if (run.count > 0) visit(run);
}

/// A rank's place in the in-order binary tree over ranks [begin, end): the last rank is its root,
/// the lower half of the others is one subtree, the upper half the other. -1 is no rank.
struct InOrderNode {
  Rank parent = -1;
  std::array<Rank, 2> children = {-1, -1};  // in the order of ranks
};
[[nodiscard]] InOrderNode in_order_node(int begin, int end, Rank self) noexcept;

/// A reduce's schedule for its root. Each unit of the result is finished in the last round that
/// receives into it, so that an average is rounded once; units without a receive are finished at
/// the end.
[[nodiscard]] Schedule finish_each(const Schedule& schedule);

/// The reduce_scatter that is the reversal of an all_gather. Commutative operators.
[[nodiscard]] inline Schedule reduce_scatter_from(const Schedule& all_gather, Rank self) {
  return reverse(all_gather, Reversal::reduce).finish({Space::out, unsigned_of(self)});
}

/// The network of a choice. Throws Error{invalid_argument} if there is none, or if it does not have
/// one of the ranks on each router. @param example of a choice.
[[nodiscard]] const Graph& graph_of(const Shape& shape, const char* example);

/// The rank of each router of such a network.
[[nodiscard]] std::vector<Rank> ranks_of(const Graph& graph);

/// The side of the operand of `peer`, in the order of ranks.
[[nodiscard]] constexpr Side side_of(Rank peer, Rank self) noexcept {
  return peer < self ? Side::left : Side::right;
}

}  // namespace tutti::v0::algorithms
