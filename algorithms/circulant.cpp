// Circulant graphs: in round k, rank r sends to rank r + s_k and receives from rank r - s_k (modulo
// n), for skips n = s_0 > s_1 > ... > 1 with s_k at least half of its predecessor, rounded up.
// Rounds: as many as skips, ceil(log2 n) for halving; bytes sent per rank (n-1)/n of the vector per
// phase, the least possible, for any n without a fold. Commutative operators. Traeff,
// arXiv:2410.14234, 2024. The best building block on one flat level; hostile to hierarchy.
#include <string>

#include <tutti/error.hpp>

#include "patterns.hpp"

namespace tutti::v0::algorithms {

/// The skips of the choice, or halving; n first. A skip below half its predecessor would leave
/// gaps.
static std::vector<int> skips_of(const Shape& shape) {
  std::vector<int> skips{shape.size};
  if (shape.skips.empty())
    while (skips.back() > 1) skips.push_back((skips.back() + 1) / 2);
  for (const int skip : shape.skips) {
    const int last = skips.back();
    if (skip >= last || skip < (last + 1) / 2)
      throw Error{ErrorCode::invalid_argument,
                  "circulant: skip " + std::to_string(skip) + " after " + std::to_string(last) +
                      " (the number of ranks comes first) must be in " +
                      std::to_string((last + 1) / 2) + " .. " + std::to_string(last - 1)};
    skips.push_back(skip);
  }
  if (skips.back() != 1)
    throw Error{ErrorCode::invalid_argument, "circulant: the last skip must be 1"};
  return skips;
}

Schedule circulant_reduce_scatter(const Shape& shape, Rank self) {
  const Cycle cycle{shape.size, self};
  Schedule schedule{unsigned_of(shape.size)};
  const std::vector<int> skips = skips_of(shape);
  for (std::size_t k = 1; k < skips.size(); ++k) {
    const int skip = skips[k];
    const int end = skips[k - 1];
    cycle.runs(skip, end, [&](Slots s) { schedule.add(Send{cycle.at(skip), s}); });
    cycle.runs(0, end - skip, [&](Slots s) { schedule.add(RecvReduce{cycle.at(-skip), s}); });
    schedule.end_round();
  }
  return schedule.finish(cycle.unit(0));
}

Schedule circulant_all_gather(const Shape& shape, Rank self) {
  const Cycle cycle{shape.size, self};
  Schedule schedule{unsigned_of(shape.size)};
  const std::vector<int> skips = skips_of(shape);
  for (std::size_t k = skips.size(); k-- > 1;) {
    const int skip = skips[k];
    const int end = skips[k - 1];
    cycle.runs(0, end - skip, [&](Slots s) { schedule.add(Send{cycle.at(-skip), s}); });
    cycle.runs(skip, end, [&](Slots s) { schedule.add(Recv{cycle.at(skip), s}); });
    schedule.end_round();
  }
  return schedule;
}

Schedule circulant_all_reduce(const Shape& shape, Rank self) {
  return then(circulant_reduce_scatter(shape, self), circulant_all_gather(shape, self));
}

}  // namespace tutti::v0::algorithms
