// Broadcast of b blocks on the circulant graph of halved skips, in b - 1 + ceil(log2 n) rounds,
// which is the least number there can be where a rank sends and hears one block per round: in round
// i every rank sends a block to the rank one skip further and hears another from the one a skip
// before, and the skips take turns. Any n and root; backwards it is a reduce, for commutative
// operators. Which block when follows from a search of logarithmic length that every rank does by
// itself: Traeff, arXiv:2312.11236 (2023) and 2407.18004 (2024). Wins from about 100 KiB on, with
// eight blocks to a few MiB, with more blocks beyond.
#include <array>
#include <vector>

#include "patterns.hpp"

namespace tutti::algorithms {
namespace {

constexpr std::size_t kMost = 34;  // skips of as many ranks as an int can count

/// skip[k] is n halved, rounded up, ceil(log2 n) - k times; the last one is n.
struct Skips {
  int size;
  int rounds = ceil_log2(size);
  std::array<int, kMost> skip{};

  explicit Skips(int ranks) : size{ranks} {
    skip[unsigned_of(rounds)] = size;
    for (std::size_t k = unsigned_of(rounds); k-- > 0;) skip[k] = (skip[k + 1] + 1) / 2;
  }
  [[nodiscard]] int operator[](int k) const noexcept { return skip[unsigned_of(k)]; }
};

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
  std::array<int, kMost> below_{};  // the edges not yet taken, from large to small
  std::array<int, kMost> above_{};
  std::array<int, kMost> blocks_{};
};

}  // namespace

Schedule circulant_broadcast(const Shape& shape, Rank self) {
  const Rooted rooted{shape.size, shape.root};
  const Cycle cycle{shape.size, rooted.virtual_rank(self)};
  const Skips skips{shape.size};
  const int last = shape.number - 1;
  Schedule schedule{unsigned_of(shape.number)};
  if (shape.size == 1) return schedule;
  std::vector<int> sending;
  for (int k = 0; k < skips.rounds; ++k) sending.push_back(Hearing{skips, cycle.at(skips[k])}[k]);
  const Hearing own{skips, cycle.self};
  // The first phase is cut short, so that the last one ends with the last round.
  const int skipped = (skips.rounds - last % skips.rounds) % skips.rounds;
  for (int i = skipped; i < last + skips.rounds + skipped; ++i) {
    const int k = i % skips.rounds;
    const int offset = i / skips.rounds * skips.rounds - skipped;
    const int sent = std::min(sending[unsigned_of(k)] + offset, last);
    const int heard = std::min(own[k] + offset, last);
    const int to = cycle.at(skips[k]);
    const Rank from = rooted.rank(cycle.at(-skips[k]));
    if (sent >= 0 && to != 0) schedule.add(Send{rooted.rank(to), {Space::out, unsigned_of(sent)}});
    if (heard >= 0 && cycle.self != 0) schedule.add(Recv{from, {Space::out, unsigned_of(heard)}});
    schedule.end_round();
  }
  return schedule;
}

Schedule circulant_reduce(const Shape& shape, Rank self) {
  const Schedule schedule = reverse(circulant_broadcast(shape, self), Reversal::reduce);
  return self == shape.root ? finish_each(schedule) : schedule;
}

}  // namespace tutti::algorithms
