/// @file
/// Steps that are found out of the order of their rounds, as those of several trees.
#pragma once

#include <cstddef>
#include <vector>

#include <tutti/spi/schedule.hpp>

namespace tutti::v0::algorithms {

/// A rank's place in a tree.
struct TreePlace {
  Rank parent = -1;  // of what is not the root
  std::vector<Rank> children{};
  int depth = 0;  // messages on the way from the root
};

/// Steps by the numbers of their rounds, in any order.
class StepsByRound {
 public:
  void add(int round, const Step& step) {
    const auto index = static_cast<std::size_t>(round);
    if (index >= rounds_.size()) rounds_.resize(index + 1);
    rounds_[index].push_back(step);
  }
  /// What goes down a tree: a message that ends at depth d belongs to round d of its sender and of
  /// its receiver. Backwards it is what goes up.
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
