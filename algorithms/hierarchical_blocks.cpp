// Hierarchical collectives over a block of each rank, and the barrier. A lane is the ranks of one
// index in their groups. An all-gather joins the blocks of each lane between groups, and then the
// blocks of all lanes within each group; a reduce-scatter is its reversal. So every block, or sum
// of a group, goes to each other group once, which is the least possible, and no rank gets one
// twice. If groups differ in size, there are as many lanes as the smallest group has ranks; other
// ranks pass their blocks to ranks on lanes beforehand, or get them afterwards. A barrier is one
// within each group, then one on each lane; a rank without a lane is released by a rank on one.
// Rounds are those of both stages, and one more if a rank is on no lane. Any groups, commutative
// operators. Wins if ranks of a group are nearer to each other than to others.
#include "levels.hpp"

namespace tutti::v0::algorithms {
namespace {

/// The stage between groups over `n` blocks. Ranks without a lane do nothing in it.
Schedule between(const Levels& levels, std::uint32_t n) {
  if (levels.index() >= levels.block_lanes()) return Schedule{n};
  std::vector<std::uint32_t> blocks;
  return on_blocks(
      levels.between(1),
      {.own = unsigned_of(levels.groups()), .count = n, .meant = [&](std::uint32_t group) {
         blocks.clear();
         levels.served(static_cast<int>(group), levels.index(),
                       [&](std::uint32_t rank) { blocks.push_back(rank); });
         return std::span<const std::uint32_t>{blocks};
       }});
}

/// The stage within this rank's group, over the `n` blocks of its lanes.
Schedule within(const Levels& levels, std::uint32_t n) {
  std::vector<std::vector<std::uint32_t>> blocks(levels.size_of(levels.group()));
  for (std::uint32_t index = 0; index < levels.block_lanes(); ++index)
    for (int group = 0; group < levels.groups(); ++group)
      levels.served(group, index, [&](std::uint32_t rank) { blocks[index].push_back(rank); });
  return on_blocks(
      levels.inside(),
      {.own = levels.size_of(levels.group()), .count = n, .meant = [&](std::uint32_t index) {
         return std::span<const std::uint32_t>{blocks[index]};
       }});
}

/// The direction in which blocks are passed.
enum class Direction : std::uint8_t { to_lanes, from_lanes };

/// A round in which ranks without a lane pass their blocks, or get them. All ranks have the same
/// block if there is only one.
Schedule pass(const Levels& levels, std::uint32_t n, Direction way) {
  const std::uint32_t lanes = levels.block_lanes();
  const auto block = [n](Rank rank) { return Slots{Space::out, n == 1 ? 0 : unsigned_of(rank)}; };
  const auto rank = [&](std::uint32_t index) { return levels.rank(levels.group(), index); };
  const std::uint32_t own = levels.index();
  Schedule schedule{n};
  if (own >= lanes) {
    const Rank peer = rank(own % lanes);
    if (way == Direction::to_lanes) schedule.add(Send{peer, block(rank(own))});
    else schedule.add(Recv{peer, block(rank(own))});
    return schedule.end_round();
  }
  for (std::uint32_t index = own + lanes; index < levels.size_of(levels.group()); index += lanes) {
    if (way == Direction::to_lanes) schedule.add(Recv{rank(index), block(rank(index))});
    else schedule.add(Send{rank(index), block(rank(index))});
  }
  return schedule.end_round();
}

}  // namespace

Schedule hierarchical_all_gather(const Shape& shape, Rank self) {
  const Levels levels{shape, self};
  const std::uint32_t n = unsigned_of(shape.size);
  Schedule before = then(pass(levels, n, Direction::to_lanes), between(levels, n));
  return refine(then(std::move(before), within(levels, n)), n * levels.parts());
}

Schedule hierarchical_reduce_scatter(const Shape& shape, Rank self) {
  const Levels levels{shape, self};
  const std::uint32_t n = unsigned_of(shape.size);
  // With one group, results are finished in its stage.
  if (levels.groups() == 1) return refine(within(levels, n), n * levels.parts());
  Schedule after = then(between(levels, n), pass(levels, n, Direction::from_lanes));
  return refine(then(unfinished(within(levels, n)), std::move(after)), n * levels.parts());
}

Schedule hierarchical_barrier(const Shape& shape, Rank self) {
  const Levels levels{shape, self};
  Schedule schedule = levels.inside();
  if (levels.index() < levels.block_lanes())
    schedule = then(std::move(schedule), levels.between(1));
  return refine(then(std::move(schedule), pass(levels, 1, Direction::from_lanes)), levels.parts());
}

}  // namespace tutti::v0::algorithms
