/// @file
/// Which block when, where blocks go round a circulant graph in the fewest rounds.
#pragma once

#include <array>
#include <vector>

#include "patterns.hpp"

namespace tutti::algorithms {

/// The skips of a circulant graph: skip[k] is n halved, rounded up, ceil(log2 n) - k times; the
/// last one is n.
struct Skips {
  static constexpr std::size_t kMost = 34;  ///< Of as many ranks as an int can count.

  int size;
  int rounds = ceil_log2(size);
  std::array<int, kMost> skip{};

  explicit Skips(int ranks) : size{ranks} {
    skip[unsigned_of(rounds)] = size;
    for (std::size_t k = unsigned_of(rounds); k-- > 0;) skip[k] = (skip[k + 1] + 1) / 2;
  }
  [[nodiscard]] int operator[](int k) const noexcept { return skip[unsigned_of(k)]; }
};

/// The rounds in which `blocks` blocks of one rank reach all others: in each a rank sends one skip
/// further, and the skips take turns.
struct BlockRounds {
  Skips skips;
  int blocks;

  [[nodiscard]] int count() const { return blocks - 1 + skips.rounds; }
  /// How far messages of a round go.
  [[nodiscard]] int skip(int round) const { return skips[(round + cut()) % skips.rounds]; }
  /// What a virtual rank hears, round by round: a block, or a negative number. For the root
  /// nothing.
  [[nodiscard]] std::vector<int> heard(int virtual_rank) const;

 private:
  // The first phase, of as many rounds as skips, is cut short, so that the last ends with the last.
  [[nodiscard]] int cut() const {
    return (skips.rounds - (blocks - 1) % skips.rounds) % skips.rounds;
  }
};

}  // namespace tutti::algorithms
