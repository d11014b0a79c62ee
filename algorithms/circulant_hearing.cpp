#include "circulant_hearing.hpp"

namespace tutti::algorithms {
namespace {

/// Which blocks a virtual rank other than the root's hears in rounds 0, 1, ..: those before the
/// first phase are negative. Every rank but the root gets one of 0, 1, .. in the first phase, its
/// own; the search finds for each round the nearest rank that has another one by then.
class Hearing {
 public:
  Hearing(const Skips& skips, int virtual_rank)
      : skips_{skips}, place_{skips.size + virtual_rank}, nearest_{2 * skips.size} {
    for (int k = 0; k <= skips.rounds; ++k)
      below_[unsigned_of(k)] = k - 1, above_[unsigned_of(k)] = k + 1;
    int rest = virtual_rank;
    int own = skips.rounds;
    for (int k = skips.rounds; k-- > 0 && rest > 0;) {
      if (skips[k] == rest) own = k;
      if (skips[k] <= rest) rest -= skips[k];
    }
    unlink(own);
    search(0, skips.rounds);
    for (int k = 0; k < skips.rounds; ++k)
      block(k) = block(k) == skips.rounds ? own : block(k) - skips.rounds;
  }
  [[nodiscard]] int operator[](int round) const noexcept { return blocks_[unsigned_of(round)]; }

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
      block(round_++) = edge;
      unlink(edge);
    }
  }
  [[nodiscard]] bool fits(int reached) const noexcept {
    return reached <= place_ - skips_[round_] && reached < nearest_;
  }
  void unlink(int edge) {
    const int above = above_[unsigned_of(edge)];
    const int below = below_[unsigned_of(edge)];
    if (above <= skips_.rounds) below_[unsigned_of(above)] = below;
    if (below >= 0) above_[unsigned_of(below)] = above;
  }
  int& block(int round) { return blocks_[unsigned_of(round)]; }

  const Skips& skips_;
  int place_;
  int nearest_;
  int round_ = 0;
  std::array<int, Skips::kMost> below_{};  // the edges not yet taken, from large to small
  std::array<int, Skips::kMost> above_{};
  std::array<int, Skips::kMost> blocks_{};
};

}  // namespace

std::vector<int> BlockRounds::heard(int virtual_rank) const {
  if (virtual_rank == 0) return std::vector<int>(unsigned_of(count()), -1);
  const Hearing hearing{skips, virtual_rank};
  std::vector<int> heard;
  heard.reserve(unsigned_of(count()));
  int k = cut();
  for (int i = 0, phase = -cut(); i < count(); ++i) {
    heard.push_back(std::min(hearing[k] + phase, blocks - 1));
    if (++k < skips.rounds) continue;
    k = 0;
    phase += skips.rounds;
  }
  return heard;
}

}  // namespace tutti::algorithms
