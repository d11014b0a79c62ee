// Hierarchical all-to-all: the ranks of one index in their groups are a lane. Within each group, a
// rank sends to every other one the blocks for it, and for all ranks of its lane in other groups.
// Then the ranks of each lane exchange the blocks that their groups have for each other. So a rank
// sends to the ranks of its group and of its lane only, and every block crosses to another group
// once. If groups differ in size, there are as many lanes as the smallest group has ranks; other
// ranks get their blocks of other groups from a rank on a lane, in one more round. Rounds are those
// of both stages; bytes nearly twice the vector. Any groups. The node-aware transpose of Traeff,
// arXiv:1910.13373. Wins for small blocks and many groups, if messages between groups cost more
// than bytes.
#include "levels.hpp"

namespace tutti::v0::algorithms {
namespace {

/// Lists of blocks, by sender and receiver.
class PairBlocks {
 public:
  PairBlocks(const Levels& levels, std::uint32_t n) : levels_{levels}, n_{n} {}

  /// The blocks of a rank of this group for another one, and for the ranks that it serves in other
  /// groups.
  std::span<const std::uint32_t> inside(std::uint32_t from, std::uint32_t to) {
    blocks_.clear();
    const int own = levels_.group();
    blocks_.push_back(block(rank(own, from), rank(own, to)));
    for (int group = 0; group < levels_.groups() && to < levels_.block_lanes(); ++group)
      if (group != own)
        levels_.served(group, to, [&](std::uint32_t other) {
          blocks_.push_back(block(rank(own, from), other));
        });
    return blocks_;
  }
  /// The blocks of a group for the ranks that this lane serves in another group.
  std::span<const std::uint32_t> between(int from, int to, std::uint32_t lane) {
    blocks_.clear();
    for (std::uint32_t index = 0; from != to && index < levels_.size_of(from); ++index)
      levels_.served(to, lane, [&](std::uint32_t other) {
        blocks_.push_back(block(rank(from, index), other));
      });
    return blocks_;
  }
  /// The blocks of all other groups for one rank of this group.
  std::span<const std::uint32_t> abroad(std::uint32_t to) {
    blocks_.clear();
    for (int group = 0; group < levels_.groups(); ++group)
      for (std::uint32_t index = 0; group != levels_.group() && index < levels_.size_of(group);
           ++index)
        blocks_.push_back(block(rank(group, index), rank(levels_.group(), to)));
    return blocks_;
  }

 private:
  [[nodiscard]] std::uint32_t rank(int group, std::uint32_t index) const {
    return unsigned_of(levels_.rank(group, index));
  }
  [[nodiscard]] std::uint32_t block(std::uint32_t from, std::uint32_t to) const {
    return from * n_ + to;
  }
  const Levels& levels_;
  std::uint32_t n_;
  std::vector<std::uint32_t> blocks_{};
};

std::size_t slots_in(const Schedule& schedule) {
  std::size_t slots = 0;
  for (const Step& step : schedule.steps()) slots += step.slots().count;
  return slots;
}

/// A round in which ranks without a lane get their blocks of other groups.
Schedule pass_on(const Levels& levels, PairBlocks& blocks, std::uint32_t units) {
  const std::uint32_t lanes = levels.block_lanes();
  const std::uint32_t own = levels.index();
  const auto rank = [&](std::uint32_t index) { return levels.rank(levels.group(), index); };
  Schedule schedule{units};
  for (const std::uint32_t block :
       own < lanes ? std::span<const std::uint32_t>{} : blocks.abroad(own))
    schedule.add(Recv{rank(own % lanes), {Space::out, block}});
  for (std::uint32_t to = own + lanes; own < lanes && to < levels.size_of(levels.group());
       to += lanes)
    for (const std::uint32_t block : blocks.abroad(to))
      schedule.add(Send{rank(to), {Space::out, block}});
  return schedule.end_round();
}

}  // namespace

Schedule hierarchical_all_to_all(const Shape& shape, Rank self) {
  const Levels levels{shape, self};
  const std::uint32_t n = unsigned_of(shape.size);
  const std::uint32_t size = levels.size_of(levels.group());
  const std::uint32_t groups = unsigned_of(levels.groups());
  PairBlocks blocks{levels, n};
  const Schedule within = levels.inside();
  const Schedule between =
      levels.index() < levels.block_lanes() ? levels.between(1) : Schedule{groups * groups};
  const auto blocks_within = [&](std::uint32_t block) {
    return blocks.inside(block / size, block % size);
  };
  const auto blocks_between = [&](std::uint32_t block) {
    return blocks.between(static_cast<int>(block / groups), static_cast<int>(block % groups),
                          levels.index());
  };
  Schedule schedule{n * n};
  schedule.reserve(slots_in(within) * groups + slots_in(between) * size);  // of equal groups
  schedule = then(std::move(schedule), within, {size * size, n * n, blocks_within});
  schedule = then(std::move(schedule), between, {groups * groups, n * n, blocks_between});
  schedule = then(std::move(schedule), pass_on(levels, blocks, n * n));
  return refine(std::move(schedule), n * n * levels.parts());
}

}  // namespace tutti::v0::algorithms
