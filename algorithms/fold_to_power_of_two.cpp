#include <vector>

#include "patterns.hpp"

namespace tutti::algorithms {

Schedule fold_to_power_of_two(Builder* inner, const Shape& shape, Rank self) {
  const PowerOfTwo power{shape.size};
  if (power.extra == 0) return inner(shape, self);
  const Slots whole{};
  std::vector<Rank> members;
  for (int v = 0; v < power.core; ++v) members.push_back(power.rank(v));
  Shape core = shape;
  core.size = power.core;
  const Schedule middle = on(members, inner(core, power.virtual_rank(self)));
  if (power.idles(self)) {
    const Schedule idle = Schedule{1}.round({Send{self + 1, whole}}).round({Recv{self + 1, whole}});
    return refine(idle, middle.units());
  }
  if (!power.carries(self)) return middle;
  const Schedule before = Schedule{1}.round({RecvReduce{self - 1, whole, Side::left}});
  const Schedule after = Schedule{1}.round({Send{self - 1, whole}});
  return then(before, then(middle, after));
}

}  // namespace tutti::algorithms
