/// @file
/// Steps that are not generated in the order of their rounds, such as those of several trees.
#pragma once

#include <cstddef>
#include <vector>

#include <tutti/spi/schedule.hpp>

namespace tutti::v0::algorithms {

/// A rank's place in a tree.
struct TreePlace {
  Rank parent = -1;  // -1 for the root
  std::vector<Rank> children{};
  int depth = 0;  // messages on the path from the root
};

/// Steps by the numbers of their rounds, in any order.
class StepsByRound {
 public:
  void add(int round, const Step& step) {
    const auto index = static_cast<std::size_t>(round);
    if (index >= rounds_.size()) rounds_.resize(index + 1);
    rounds_[index].push_back(step);
  }
  /// Adds the steps of a broadcast down a tree: a message to depth d is in round d of its sender
  /// and of its receiver. The reversal is a reduce up the tree.
  void along_tree(const TreePlace& place, const Slots& slots) {
    if (place.depth > 0) add(place.depth, Recv{place.parent, slots});
    for (const Rank child : place.children) add(place.depth + 1, Send{child, slots});
  }
  [[nodiscard]] Schedule schedule(std::uint32_t units) const {
    Schedule schedule{units};
    for (const std::vector<Step>& round : rounds_) {
      for (const Step& step : round) schedule.add(step);
      schedule.end_round();
    }
    return schedule;
  }

 private:
  std::vector<std::vector<Step>> rounds_{};
};

}  // namespace tutti::v0::algorithms
