// PAT ("parallel aggregated trees"): one binomial tree per rank, all at once, far distances first.
// Up to a blocks of different trees travel in one message: log2(a) rounds spread each rank's block
// over a parts of the cycle, then N/a - 1 rounds fill the parts, N being n rounded up to a power of
// two and a at most N/2. (n-1)/n of the vector, any n, commutative operators; backwards the
// all-gather is the reduce-scatter. Jeaugey, arXiv:2506.20252, 2025; in NCCL since 2.23. a = N/2 is
// a butterfly of log2(N) rounds, a = 1 takes n-1 small steps. On one switch it loses to circulant
// and bruck. It is kept because NCCL runs it, and because it needs buffers of only a blocks.
#include <string>

#include <tutti/error.hpp>

#include "patterns.hpp"

namespace tutti::v0::algorithms {
namespace {

/// Builds the all-gather. A block's number is the distance of its owner; it arrives from the rank
/// at the distance of its lowest bit.
class Trees {
 public:
  Trees(int size, Rank self, int aggregation)
      : cycle_{size, self}, most_{static_cast<int>(std::bit_ceil(unsigned_of(size)))},
        part_{most_ / std::clamp(aggregation, 1, std::max(1, most_ / 2))}, schedule_{
                                                                               unsigned_of(size)} {}

  Schedule build() {
    for (int distance = most_ / 2; distance >= part_; distance /= 2)
      exchange(distance, 2 * distance, distance);
    walk(0, part_);
    return std::move(schedule_);
  }

 private:
  /// Fills the places behind `place` of all parts, as far as `width`.
  void walk(int place, int width) {
    for (int distance = width / 2; distance > 0; distance /= 2) {
      exchange(place + distance, part_, distance);
      walk(place + distance, distance);
    }
  }
  /// One round: the blocks at first, first + stride, .. come from one rank.
  void exchange(int first, int stride, int distance) {
    for (int block = first; block < cycle_.size; block += stride) {
      schedule_.add(Recv{cycle_.at(distance), cycle_.unit(block)});
      schedule_.add(Send{cycle_.at(-distance), cycle_.unit(block - distance)});
    }
    schedule_.end_round();
  }

  Cycle cycle_;
  int most_;
  int part_;
  Schedule schedule_;
};

}  // namespace

Schedule pat_all_gather(const Shape& shape, Rank self) {
  if (!std::has_single_bit(unsigned_of(shape.number)))
    throw Error{
        ErrorCode::invalid_argument,
        "pat: a message aggregates a power of two blocks, not " + std::to_string(shape.number)};
  return Trees{shape.size, self, shape.number}.build();
}

Schedule pat_reduce_scatter(const Shape& shape, Rank self) {
  return reduce_scatter_from(pat_all_gather(shape, self), self);
}

}  // namespace tutti::v0::algorithms
