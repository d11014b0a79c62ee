// Double binary tree: one half of the vector goes down one binary tree over all ranks but the root,
// the other half down another one, in which the inner ranks of the first are leaves. So every rank
// sends about as much as it gets: a broadcast at most one vector each way, an all-reduce (up to
// rank 0 and down again) two, with about 2 log2(n) messages one after the other per direction,
// pipelined in segments. Any n and root, commutative operators. Sanders, Speck and Traeff, Parallel
// Computing 35(12), 2009; NCCL has it as "tree". Broadcast and reduce win from a few MiB on if a
// chain is too long. The all-reduce loses to rabenseifner and circulant on one switch; it is kept
// because NCCL runs it, and because a rank has few partners.
#include "patterns.hpp"
#include "steps_by_round.hpp"

namespace tutti::v0::algorithms {
namespace {

/// One of the two trees, over places 1 .. size - 1. The root of both is place 0, above it.
struct Tree {
  int size;
  bool second;

  /// The place of a virtual rank. The second tree is mirrored, or shifted if a mirror would leave
  /// even places even, since even places are the inner ones.
  [[nodiscard]] int place_of(int v) const noexcept {
    if (!second || v == 0) return v;
    if (size % 2 == 1) return size - v;
    return v == 1 ? size - 1 : v - 1;
  }
  [[nodiscard]] int virtual_rank(int place) const noexcept {
    if (!second || place == 0) return place;
    if (size % 2 == 1) return size - place;
    return place == size - 1 ? 1 : place + 1;
  }
  [[nodiscard]] int parent(int place) const noexcept {
    const int low = place & -place;
    const int upper = (place ^ low) | 2 * low;
    return upper < size ? upper : place ^ low;
  }
  /// The children of a place; 0 for none.
  [[nodiscard]] std::array<int, 2> children(int place) const noexcept {
    if (place == 0) return {static_cast<int>(std::bit_floor(unsigned_of(size - 1))), 0};
    int half = (place & -place) / 2;
    const int below = place - half;
    while (place + half >= size) half /= 2;
    return half == 0 ? std::array{below == place ? 0 : below, 0} : std::array{below, place + half};
  }
  [[nodiscard]] TreePlace at(const Rooted& rooted, int place) const {
    const auto rank = [&](int other) { return rooted.rank(virtual_rank(other)); };
    TreePlace found{.parent = rank(parent(place))};
    for (const int child : children(place))
      if (child > 0) found.children.push_back(rank(child));
    for (; place != 0; place = parent(place)) ++found.depth;
    return found;
  }
};

}  // namespace

Schedule double_binary_tree_broadcast(const Shape& shape, Rank self) {
  const Rooted rooted{shape.size, shape.root};
  StepsByRound steps;
  for (const std::uint32_t half : {0U, 1U}) {
    const Tree tree{shape.size, half == 1};
    const int place = tree.place_of(rooted.virtual_rank(self));
    steps.along_tree(tree.at(rooted, place), {Space::out, half});
  }
  return steps.schedule(2);
}

Schedule double_binary_tree_reduce(const Shape& shape, Rank self) {
  Schedule schedule = reverse(double_binary_tree_broadcast(shape, self), Reversal::reduce);
  return self == shape.root ? schedule.finish({Space::out, 0, 2}) : schedule;
}

Schedule double_binary_tree_all_reduce(const Shape& shape, Rank self) {
  return then(double_binary_tree_reduce(shape, self), double_binary_tree_broadcast(shape, self));
}

}  // namespace tutti::v0::algorithms
