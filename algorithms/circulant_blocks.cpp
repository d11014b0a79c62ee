// Blocks on the circulant graph of halved skips, in b - 1 + ceil(log2 n) rounds, the least possible
// if a rank sends and receives one block per round. In each round every rank sends a block to the
// rank one skip further and receives another from the rank one skip before; the skips take turns. A
// broadcast of b blocks of the vector, for any n and root; backwards it is a reduce, for
// commutative operators. The broadcasts of all ranks at once, with one message per round, are an
// all-gather, in which a large block delays the others less often. Every rank finds the block of
// each round by a search of logarithmic length: Traeff, arXiv:2312.11236 (2023), 2407.18004 (2024)
// and, for all-gathers, 2205.10072 (2022). A broadcast wins from about 100 KiB on, with eight
// blocks up to a few MiB and more blocks beyond; an all-gather wins if ranks have blocks of very
// different sizes.
#include "circulant_rounds.hpp"

namespace tutti::v0::algorithms {

Schedule circulant_broadcast(const Shape& shape, Rank self) {
  const Rooted rooted{shape.size, shape.root};
  const Cycle cycle{shape.size, rooted.virtual_rank(self)};
  const BlockRounds rounds{Skips{shape.size}, shape.number};
  Schedule schedule{unsigned_of(shape.number)};
  if (shape.size == 1) return schedule;
  const bool is_root = cycle.self == 0;
  const PerSkip own = is_root ? PerSkip{} : rounds.received(cycle.self);
  PerSkip theirs{};  // blocks that the rank one skip further receives
  for (int k = 0; k < rounds.skips.rounds; ++k)
    if (const int next = cycle.at(rounds.skips[k]); next > 0)
      theirs[unsigned_of(k)] = rounds.received(next)[unsigned_of(k)];
  const auto block_of = [&](const PerSkip& received, int round) {
    return std::min(rounds.first(round) + received[unsigned_of(rounds.turn(round))],
                    rounds.blocks - 1);
  };
  for (int round = 0; round < rounds.count(); ++round) {
    const int skip = rounds.skip(round);
    const int sent = cycle.at(skip) == 0 ? -1 : block_of(theirs, round);
    const int received = is_root ? -1 : block_of(own, round);
    if (sent >= 0) schedule.add(Send{rooted.rank(cycle.at(skip)), {Space::out, unsigned_of(sent)}});
    if (received >= 0)
      schedule.add(Recv{rooted.rank(cycle.at(-skip)), {Space::out, unsigned_of(received)}});
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
  // Skip by skip, by distance from the root.
  std::vector<std::int8_t> received(n * unsigned_of(rounds.skips.rounds));
  schedule.reserve(2 * n * unsigned_of(rounds.count()));
  for (std::size_t distance = 1; distance < n; ++distance) {
    const PerSkip own = rounds.received(static_cast<int>(distance));
    for (std::size_t k = 0; k < unsigned_of(rounds.skips.rounds); ++k)
      received[k * n + distance] = own[k];
  }
  for (int round = 0; round < rounds.count(); ++round) {
    const int skip = rounds.skip(round);
    const Rank next = cycle.at(skip);
    const Rank last = cycle.at(-skip);
    const int first = rounds.first(round);
    const std::span own = std::span{received}.subspan(n * unsigned_of(rounds.turn(round)), n);
    for (int distance = 1; distance < shape.size; ++distance) {
      const int block = std::min(first + own[unsigned_of(distance)], rounds.blocks - 1);
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

}  // namespace tutti::v0::algorithms
