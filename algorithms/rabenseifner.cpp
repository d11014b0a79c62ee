// Rabenseifner's butterfly: reduce-scatter by halving the vector while distances double, then
// all-gather along the same exchanges in reverse. 2 log2(n) rounds, 2(n-1)/n of the vector (and the
// whole vector twice more on the folded ranks if n is not a power of two). Keeps operand order, and
// every element has the expression tree of recursive doubling. Rabenseifner, ICCS 2004. Wins for
// middle sizes.
#include <vector>

#include "butterflies.hpp"

namespace tutti::v0::algorithms {

Schedule halve_and_double(std::span<const Halving> halvings, const Shape& shape, Rank self) {
  Schedule schedule{unsigned_of(shape.size)};
  Slots window{Space::out, 0, unsigned_of(shape.size)};
  struct Exchange {
    Rank peer;
    Slots kept, sent;
  };
  std::vector<Exchange> exchanges;
  for (const auto [peer, keeps_lower] : halvings) {
    const std::uint32_t half = window.count / 2;
    const Slots lower{Space::out, window.first, half};
    const Slots upper{Space::out, window.first + half, half};
    const Exchange e = keeps_lower ? Exchange{peer, lower, upper} : Exchange{peer, upper, lower};
    schedule.round({Send{peer, e.sent}, RecvReduce{peer, e.kept, side_of(peer, self)}});
    exchanges.push_back(e);
    window = e.kept;
  }
  schedule.finish(window);
  for (std::size_t k = exchanges.size(); k-- > 0;) {
    const Exchange& e = exchanges[k];
    schedule.round({Send{e.peer, e.kept}, Recv{e.peer, e.sent}});
  }
  return schedule;
}

static Schedule double_distances(const Shape& shape, Rank self) {
  std::vector<Halving> halvings;
  for (int mask = 1; mask < shape.size; mask *= 2) {
    const Rank peer = self ^ mask;
    halvings.push_back({.peer = peer, .keeps_lower = self < peer});
  }
  return halve_and_double(halvings, shape, self);
}

Schedule rabenseifner_all_reduce(const Shape& shape, Rank self) {
  return fold_to_power({shape.size, 2}, double_distances, shape, self);
}

}  // namespace tutti::v0::algorithms
