/// @file
/// The block that each rank receives in each round of a broadcast on a circulant graph.
#pragma once

#include <array>
#include <cstdint>

#include "patterns.hpp"

namespace tutti::v0::algorithms {

/// The skips of a circulant graph: skip[k] is n halved ceil(log2 n) - k times, rounded up each
/// time. The last one is n.
struct Skips {
  static constexpr std::size_t kMost = 34;  ///< Enough for any int.

  int size;
  int rounds = ceil_log2(size);
  std::array<int, kMost> skip{};

  explicit Skips(int ranks) : size{ranks} {
    skip[unsigned_of(rounds)] = size;
    for (std::size_t k = unsigned_of(rounds); k-- > 0;) skip[k] = (skip[k + 1] + 1) / 2;
  }
  [[nodiscard]] int operator[](int k) const noexcept { return skip[unsigned_of(k)]; }
};

/// A small number for each skip.
using PerSkip = std::array<std::int8_t, Skips::kMost>;

/// The rounds in which `blocks` blocks of one rank reach all others. In each round a rank sends one
/// skip further; the skips take turns. A phase has one round per skip.
struct BlockRounds {
  Skips skips;
  int blocks;

  [[nodiscard]] int count() const { return blocks - 1 + skips.rounds; }
  /// @return the number of the skip of a round; `skip` returns its distance.
  [[nodiscard]] int turn(int round) const { return (round + cut()) % skips.rounds; }
  [[nodiscard]] int skip(int round) const { return skips[turn(round)]; }
  /// @param virtual_rank not 0: the root receives nothing. @return the block that it receives on
  /// each skip, in the phase that starts with block 0; a negative number for none. In other phases
  /// these are counted from the first block of the phase.
  [[nodiscard]] PerSkip received(int virtual_rank) const;
  /// The first block of the phase of a round.
  [[nodiscard]] int first(int round) const { return round - turn(round); }

 private:
  // Rounds that the first phase lacks, so that the last phase is complete.
  [[nodiscard]] int cut() const {
    return (skips.rounds - (blocks - 1) % skips.rounds) % skips.rounds;
  }
};

}  // namespace tutti::v0::algorithms
