/// @file
/// Input and output of each collective. The verifier proves them, and the executor lays out buffers
/// by them.
#pragma once

#include <cstddef>
#include <cstdint>

#include <tutti/types.hpp>

namespace tutti::v0 {

/// The pre- and post-condition of one collective on `size` ranks.
struct Contract {
  Collective collective{};  ///< The operation.
  int size = 1;             ///< Number of ranks.
  Rank root = 0;            ///< Root of rooted collectives.

  /// @return blocks of the whole vector: one, one per rank, or one per pair of ranks.
  [[nodiscard]] constexpr std::uint32_t blocks() const noexcept {
    const auto n = static_cast<std::uint32_t>(size);
    if (is_between_pairs(collective)) return n * n;
    return is_gathering(collective) || is_scattering(collective) ? n : 1;
  }

  /// @return whether a rank holds a block at the start: its own contribution to it, or its final
  /// value.
  /// @param block in [0, blocks()).
  [[nodiscard]] constexpr bool has_input(Rank rank, std::uint32_t block) const noexcept {
    if (traits_of(collective).readers == Holders::root) return rank == root;
    if (is_gathering(collective)) return static_cast<std::uint32_t>(rank) == block;
    return !is_between_pairs(collective) || source(block) == rank;
  }

  /// @return whether a rank must hold a block at the end. @param block in [0, blocks()).
  [[nodiscard]] constexpr bool wants_output(Rank rank, std::uint32_t block) const noexcept {
    const auto r = static_cast<std::uint32_t>(rank);
    if (!is_among(traits_of(collective).writers, rank, root)) return false;
    if (is_scattering(collective)) return r == block;
    return !is_between_pairs(collective) || block % static_cast<std::uint32_t>(size) == r;
  }

  /// @return the rank whose data a block has, in a collective without reduction.
  /// @param block in [0, blocks()).
  [[nodiscard]] constexpr Rank source(std::uint32_t block) const noexcept {
    if (is_gathering(collective)) return static_cast<Rank>(block);
    if (is_between_pairs(collective))
      return static_cast<Rank>(block / static_cast<std::uint32_t>(size));
    return root;
  }

  /// @return the number of ranks, from rank 0 on, that contribute to a rank's reduced result.
  [[nodiscard]] constexpr int contributors(Rank rank) const noexcept {
    if (!is_prefix(collective)) return size;
    return traits_of(collective).writers == Holders::all_but_first ? rank : rank + 1;
  }

  /// @return whether results combine contributions of several ranks: reductions, and the barrier,
  /// whose token is reduced.
  [[nodiscard]] constexpr bool reduces() const noexcept {
    return is_reduction(collective) || collective == Collective::barrier;
  }

  /// @return whether a contribution may count more than once: only in the barrier, whose token is a
  /// bit.
  [[nodiscard]] constexpr bool idempotent() const noexcept {
    return collective == Collective::barrier;
  }
};

/// Division of `count` elements into `parts`: sizes differ by at most one, larger ones first.
struct Partition {
  std::size_t count;  ///< Elements in all.
  std::size_t parts;  ///< At least one.

  /// @param part in [0, parts]. @return the first element of that part.
  [[nodiscard]] constexpr std::size_t offset(std::size_t part) const noexcept {
    const std::size_t extra = count % parts;
    return part * (count / parts) + (part < extra ? part : extra);
  }
  /// @param part in [0, parts). @return the number of its elements.
  [[nodiscard]] constexpr std::size_t size(std::size_t part) const noexcept {
    return count / parts + (part < count % parts ? 1 : 0);
  }
};

}  // namespace tutti::v0
