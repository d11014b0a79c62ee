// Hierarchical scatter and gather: between groups, the blocks of all ranks of a group travel as
// one, from the root to the first rank of each other group, which scatters them within its group. A
// gather is the reversal. So a block crosses to another group once, and the root sends to one rank
// of each group only. Rounds are those of both stages. Any groups. Wins for small blocks if ranks
// of a group are nearer to each other than to others; for large ones the second hop costs more than
// the messages that it saves.
#include "levels.hpp"

namespace tutti::v0::algorithms {
namespace {

/// Blocks have the numbers of their ranks.
using GroupBlocks = std::vector<std::uint32_t>;

GroupBlocks blocks_of_group(const Levels& levels, int group) {
  GroupBlocks ranks;
  for (std::uint32_t index = 0; index < levels.size_of(group); ++index)
    ranks.push_back(unsigned_of(levels.rank(group, index)));
  return ranks;
}

/// The stage between groups over `n` blocks, in which one rank of each group takes part.
Schedule between_leaders(const Levels& levels, std::uint32_t n) {
  if (!levels.leads()) return Schedule{n};
  std::vector<GroupBlocks> groups;
  for (int group = 0; group < levels.groups(); ++group)
    groups.push_back(blocks_of_group(levels, group));
  return on_blocks(levels.between(1), {unsigned_of(levels.groups()), n, [&](std::uint32_t group) {
                                         return std::span<const std::uint32_t>{groups[group]};
                                       }});
}

Schedule around_leader(const Levels& levels, std::uint32_t n) {
  const GroupBlocks own = blocks_of_group(levels, levels.group());
  return on_blocks(levels.inside(), {levels.size_of(levels.group()), n, [&](std::uint32_t index) {
                                       return std::span{own}.subspan(index, 1);
                                     }});
}

}  // namespace

Schedule hierarchical_scatter(const Shape& shape, Rank self) {
  const Levels levels{shape, self};
  const std::uint32_t n = unsigned_of(shape.size);
  return refine(then(between_leaders(levels, n), around_leader(levels, n)), n * levels.parts());
}

Schedule hierarchical_gather(const Shape& shape, Rank self) {
  const Levels levels{shape, self};
  const std::uint32_t n = unsigned_of(shape.size);
  return refine(then(around_leader(levels, n), between_leaders(levels, n)), n * levels.parts());
}

}  // namespace tutti::v0::algorithms
