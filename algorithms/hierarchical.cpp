// Hierarchical: one algorithm within groups of ranks, such as those of a host, another one between
// them. An all-reduce reduce-scatters within each group onto as many lanes as the smallest group
// has ranks; each lane, the ranks of one index, all-reduces its part between the groups; an
// all-gather within each group ends it. With one lane it may be a reduce to the first rank of each
// group and a broadcast from there. A broadcast scatters within the root's group, broadcasts on
// each lane, and gathers within each group. With one lane it may go through one rank of each group,
// the root or the first, as a reduce does. Rounds and bytes are those of its stages; between N
// groups 2(N-1) vectors travel in all, N-1 for a broadcast or reduce, the least possible, if the
// second algorithm has the least volume. Any groups, commutative operators. Open MPI's HAN, UCC's
// rab and split_rail, and the lanes of Traeff, arXiv:1910.13373, are choices of it. Wins if ranks
// of a group are nearer to each other than to others; lanes win for large vectors, if one rank does
// not fill the links out of its group.
#include "levels.hpp"

namespace tutti::v0::algorithms {
namespace {

Schedule broadcast_on_lanes(const Levels& levels) {
  const std::uint32_t lanes = levels.lanes();
  Schedule scatter = levels.within(2, lanes);
  if (!levels.has_root()) scatter = Schedule{scatter.units()};
  Schedule between{levels.units_between(1) * lanes};
  if (levels.index() < lanes) between = on_piece(levels.between(1), levels.index(), lanes);
  return then(scatter, then(between, levels.within(0, lanes)));
}

}  // namespace

Schedule hierarchical_all_reduce(const Shape& shape, Rank self) {
  const Levels levels{shape, self};
  const std::uint32_t lanes = levels.lanes();
  Schedule between{levels.units_between(1) * lanes};
  const Schedule within = levels.within(0, lanes);
  // With one group, the result is finished in the round of its last fold.
  if (levels.groups() == 1) return then(within, levels.within(2, lanes));
  if (levels.index() < lanes) between = on_piece(levels.between(1), levels.index(), lanes);
  return then(unfinished(within), then(between, levels.within(2, lanes)));
}

Schedule hierarchical_broadcast(const Shape& shape, Rank self) {
  const Levels levels{shape, self};
  if (levels.scatters()) return broadcast_on_lanes(levels);
  Schedule between{levels.units_between(1)};
  if (levels.leads()) between = levels.between(1);
  return then(between, levels.within(0, levels.lanes()));
}

Schedule hierarchical_reduce(const Shape& shape, Rank self) {
  const Levels levels{shape, self};
  Schedule between{levels.units_between(1)};
  const Schedule within = levels.within(0, levels.lanes());
  if (levels.groups() == 1) return within;
  if (levels.leads()) between = levels.between(1);
  return then(unfinished(within), between);
}

}  // namespace tutti::v0::algorithms
