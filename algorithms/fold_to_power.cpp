#include <vector>

#include "butterflies.hpp"

namespace tutti::v0::algorithms {

Schedule fold_to_power(const Power& power, Builder* inner, const Shape& shape, Rank self) {
  if (power.extra == 0) return inner(shape, self);
  const Slots whole{};
  std::vector<Rank> members;
  for (int v = 0; v < power.core; ++v) members.push_back(power.rank(v));
  Shape core = shape;
  core.size = power.core;
  const int v = power.virtual_rank(self);
  const Schedule middle = on(members, inner(core, v));
  const Rank carrier = power.rank(v);
  if (self != carrier) {
    const Schedule idle = Schedule{1}.round({Send{carrier, whole}}).round({Recv{carrier, whole}});
    return refine(idle, middle.units());
  }
  Schedule before{1};
  Schedule after{1};
  for (Rank ward = power.first_of(v); ward < self; ++ward) {
    before.add(RecvReduce{ward, whole, Side::left});
    after.add(Send{ward, whole});
  }
  return then(before.end_round(), then(middle, after.end_round()));
}

}  // namespace tutti::v0::algorithms
