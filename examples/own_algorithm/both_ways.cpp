// An algorithm of your own: an all_gather that uses both directions of the ring at once. If ranks
// can send to two neighbours at a time, it takes half as many rounds as `ring`.
#include <tutti/spi/catalog.hpp>

namespace {

using tutti::Rank;

/// The schedule of one rank. At the start rank r has block r; at the end every rank has all blocks.
tutti::Schedule both_ways(const tutti::Shape& shape, Rank self) {
  const int n = shape.size;
  const auto rank_at = [&](int distance) { return (self + distance + n) % n; };
  const auto block_of = [](Rank rank) {
    return tutti::Slots{.first = static_cast<std::uint32_t>(rank)};
  };
  tutti::Schedule schedule{static_cast<std::uint32_t>(n)};
  for (int round = 1; round <= n / 2; ++round) {
    schedule.add(tutti::Send{rank_at(1), block_of(rank_at(1 - round))});
    schedule.add(tutti::Recv{rank_at(-1), block_of(rank_at(-round))});
    if (round < n - round) {  // else the opposite block would arrive twice
      schedule.add(tutti::Send{rank_at(-1), block_of(rank_at(round - 1))});
      schedule.add(tutti::Recv{rank_at(1), block_of(rank_at(round))});
    }
    schedule.end_round();
  }
  return schedule;
}

}  // namespace

/// `tutti --load` calls this, and so may any program. The traits are claims, which are proved too.
extern "C" void tutti_add_algorithms(tutti::Catalog& catalog) {
  catalog.add({.collective = tutti::Collective::all_gather,
               .name = "both_ways",
               .build = both_ways,
               .traits = {.rotational = true},
               .summary = "a ring both ways at once, half the rounds"});
}
