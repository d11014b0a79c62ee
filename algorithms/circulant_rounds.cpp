#include "circulant_rounds.hpp"

namespace tutti::v0::algorithms {
namespace {

/// The blocks that a virtual rank other than 0 receives in rounds 0, 1, ..; a negative number is no
/// block. Every rank but the root gets one block in the first phase, its own. The search finds for
/// each round the nearest rank that has a different block by then.
class ReceivedBlocks {
 public:
  ReceivedBlocks(const Skips& skips, int virtual_rank)
      : skips_{skips}, place_{skips.size + virtual_rank}, nearest_{2 * skips.size} {
    for (int k = 0; k <= skips.rounds; ++k)
      below_[unsigned_of(k)] = small(k - 1), above_[unsigned_of(k)] = small(k + 1);
    int rest = virtual_rank;
    int own = skips.rounds;
    for (int k = skips.rounds; k-- > 0 && rest > 0;) {
      if (skips[k] == rest) own = k;
      if (skips[k] <= rest) rest -= skips[k];
    }
    unlink(own);
    search(0, skips.rounds);
    for (int k = 0; k < skips.rounds; ++k)
      block(k) = small(block(k) == skips.rounds ? own : block(k) - skips.rounds);
  }
  [[nodiscard]] const PerSkip& blocks() const noexcept { return blocks_; }

 private:
  void search(int from, int edge) {
    for (; edge >= 0; edge = below_[unsigned_of(edge)]) {
      if (round_ >= skips_.rounds) return;
      const int reached = from + skips_[edge];
      if (!fits(reached)) continue;
      if (reached <= place_ - skips_[round_ + 1]) search(reached, edge);
      if (round_ >= skips_.rounds || from > place_ - skips_[round_ + 1]) return;
      if (!fits(reached)) continue;
      nearest_ = reached;
      block(round_++) = small(edge);
      unlink(edge);
    }
  }
  [[nodiscard]] bool fits(int reached) const noexcept {
    return reached <= place_ - skips_[round_] && reached < nearest_;
  }
  void unlink(int edge) {
    const std::int8_t above = above_[unsigned_of(edge)];
    const std::int8_t below = below_[unsigned_of(edge)];
    if (above <= skips_.rounds) below_[unsigned_of(above)] = below;
    if (below >= 0) above_[unsigned_of(below)] = above;
  }
  std::int8_t& block(int round) { return blocks_[unsigned_of(round)]; }
  static constexpr std::int8_t small(int skip) { return static_cast<std::int8_t>(skip); }

  const Skips& skips_;
  int place_;
  int nearest_;
  int round_ = 0;
  PerSkip below_{};  // the edges not yet taken, from large to small
  PerSkip above_{};
  PerSkip blocks_{};
};

}  // namespace

PerSkip BlockRounds::received(int virtual_rank) const {
  return ReceivedBlocks{skips, virtual_rank}.blocks();
}

}  // namespace tutti::v0::algorithms
