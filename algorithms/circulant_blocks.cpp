// Blocks on the circulant graph of halved skips, in b - 1 + ceil(log2 n) rounds, which is the least
// number there can be where a rank sends and hears one block per round: in round i every rank sends
// a block to the rank one skip further and hears another from the one a skip before, and the skips
// take turns. A broadcast of b blocks of the vector, for any n and root; backwards it is a reduce,
// for commutative operators. All ranks' broadcasts at once, one message a round, are an all-gather,
// in which a block that is larger than others does not hold them up as often. Which block when
// follows from a search of logarithmic length that every rank does by itself: Traeff,
// arXiv:2312.11236 (2023), 2407.18004 (2024) and, of all-gathers, 2205.10072 (2022). A broadcast
// wins from about 100 KiB on, with eight blocks to a few MiB, with more blocks beyond; an
// all-gather where ranks have blocks of very different sizes.
#include "circulant_hearing.hpp"

namespace tutti::algorithms {

Schedule circulant_broadcast(const Shape& shape, Rank self) {
  const Rooted rooted{shape.size, shape.root};
  const Cycle cycle{shape.size, rooted.virtual_rank(self)};
  const BlockRounds rounds{Skips{shape.size}, shape.number};
  Schedule schedule{unsigned_of(shape.number)};
  if (shape.size == 1) return schedule;
  const std::vector<int> own = rounds.heard(cycle.self);
  std::vector<std::vector<int>> theirs;  // skips take turns
  for (int k = 0; k < rounds.skips.rounds; ++k)
    theirs.push_back(rounds.heard(cycle.at(rounds.skip(k))));
  for (int round = 0; round < rounds.count(); ++round) {
    const int skip = rounds.skip(round);
    const int sent = theirs[unsigned_of(round % rounds.skips.rounds)][unsigned_of(round)];
    const int heard = own[unsigned_of(round)];
    if (sent >= 0) schedule.add(Send{rooted.rank(cycle.at(skip)), {Space::out, unsigned_of(sent)}});
    if (heard >= 0)
      schedule.add(Recv{rooted.rank(cycle.at(-skip)), {Space::out, unsigned_of(heard)}});
    schedule.end_round();
  }
  return schedule;
}

Schedule circulant_reduce(const Shape& shape, Rank self) {
  const Schedule schedule = reverse(circulant_broadcast(shape, self), Reversal::reduce);
  return self == shape.root ? finish_each(schedule) : schedule;
}

Schedule circulant_blocks_all_gather(const Shape& shape, Rank self) {
  const Cycle cycle{shape.size, self};
  const BlockRounds rounds{Skips{shape.size}, shape.number};
  Schedule schedule{unsigned_of(shape.size * shape.number)};
  if (shape.size == 1) return schedule;
  const std::size_t n = unsigned_of(shape.size);
  // Round by round, by distance from the root.
  std::vector<int> heard(n * unsigned_of(rounds.count()));
  schedule.reserve(2 * heard.size());
  for (std::size_t distance = 1; distance < n; ++distance) {
    const std::vector<int> own = rounds.heard(static_cast<int>(distance));
    for (std::size_t round = 0; round < own.size(); ++round)
      heard[round * n + distance] = own[round];
  }
  for (int round = 0; round < rounds.count(); ++round) {
    const int skip = rounds.skip(round);
    const Rank next = cycle.at(skip);
    const Rank last = cycle.at(-skip);
    for (int distance = 1; distance < shape.size; ++distance) {
      const int block = heard[unsigned_of(round) * n + unsigned_of(distance)];
      if (block < 0) continue;
      const auto part_of = [&](int root) {
        return Slots{Space::out,
                     unsigned_of((root < 0 ? root + shape.size : root) * shape.number + block)};
      };
      schedule.add(Send{next, part_of(next - distance)});
      schedule.add(Recv{last, part_of(self - distance)});
    }
    schedule.end_round();
  }
  return schedule;
}

}  // namespace tutti::algorithms
