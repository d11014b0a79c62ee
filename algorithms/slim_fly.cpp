// The all-reduce of Slim Fly networks MMS(q), by the lines of the affine plane: rank (s, a, b) is s
// q^2 + a q + b, a row has equal s and a, and the vector is cut into q^2 blocks. In each row every
// rank reduces q blocks, one per cross link. It then sends each block over its link, except that of
// its partner. Partners, which are linked too, then swap their reduced blocks, which are complete.
// The way back is the reversal. 5 rounds; bytes sent per rank 2 - 1/q^2 of the vector; every
// message between rows crosses one link. 2 q^2 ranks, commutative operators; for k ranks per
// router, hierarchical(.., slim_fly). Derived from the incidence y = m x + c. Partners keep each
// other's block until they swap, which saves two blocks and all scratch. Multitree has one round
// less and loads links less; this one wins if a rank's connection is the bottleneck, and needs no
// search for its peers.
#include "finite_field.hpp"
#include "patterns.hpp"

namespace tutti::v0::algorithms {
namespace {

/// The network seen from one rank. Blocks of a rank, and its cross links, are numbered 0 .. q-1.
class Router {
 public:
  Router(const FiniteField& field, Rank rank)
      : field_{field}, q_{field.order()}, side_{rank / (q_ * q_)}, row_{rank / q_ % q_}, place_{
                                                                                             rank %
                                                                                             q_} {}

  /// The one link that leads to the partner; its block becomes complete here.
  [[nodiscard]] int partner() const noexcept { return row_; }
  [[nodiscard]] Slots block(int link) const noexcept {
    const int step = field_.times(row_, link);
    const int second = side_ == 0
                           ? field_.minus(place_, step)
                           : field_.minus(field_.plus(step, place_), field_.times(link, link));
    return {Space::out, unsigned_of(link * q_ + second)};
  }
  [[nodiscard]] Rank across(int link) const noexcept {
    const int step = field_.times(row_, link);
    const int place = side_ == 0 ? field_.minus(place_, step) : field_.plus(step, place_);
    return ((1 - side_) * q_ + link) * q_ + place;
  }
  /// Calls visit(rank) for the others of the row.
  template <class Visit>
  void each_in_row(Visit visit) const {
    for (int place = 0; place < q_; ++place)
      if (place != place_) visit((side_ * q_ + row_) * q_ + place);
  }
  /// Calls visit(link) for all links but the partner's.
  template <class Visit>
  void each_link(Visit visit) const {
    for (int link = 0; link < q_; ++link)
      if (link != partner()) visit(link);
  }

 private:
  const FiniteField& field_;
  int q_;
  int side_;
  int row_;
  int place_;
};

}  // namespace

Schedule slim_fly_all_reduce(const Shape& shape, Rank self) {
  require(Sizes::slim_fly, shape.size);
  if (shape.size == 1) return Schedule{1}.finish({});
  int q = 3;
  while (2 * q * q < shape.size) ++q;
  const FiniteField field{q};
  const Router router{field, self};
  const Slots own = router.block(router.partner());
  Schedule schedule{unsigned_of(q * q)};

  router.each_in_row([&](Rank peer) {
    for (int link = 0; link < q; ++link)
      schedule.add(Send{peer, Router{field, peer}.block(link)})
          .add(RecvReduce{peer, router.block(link), side_of(peer, self)});
  });
  schedule.end_round();
  router.each_link([&](int link) {
    const Rank peer = router.across(link);
    schedule.add(Send{peer, router.block(link)}).add(RecvReduce{peer, own, side_of(peer, self)});
  });
  schedule.end_round();
  const Rank partner = router.across(router.partner());
  schedule.round(
      {Send{partner, own}, RecvReduce{partner, own, side_of(partner, self)}, Finish{own}});
  router.each_link([&](int link) {
    const Rank peer = router.across(link);
    schedule.add(Send{peer, own}).add(Recv{peer, router.block(link)});
  });
  schedule.end_round();
  router.each_in_row([&](Rank peer) {
    for (int link = 0; link < q; ++link)
      schedule.add(Send{peer, router.block(link)}).add(Recv{peer, Router{field, peer}.block(link)});
  });
  return schedule.end_round();
}

}  // namespace tutti::v0::algorithms
