/// @file
/// The groups of a hierarchy and where each rank is in them, found once for all ranks.
#pragma once

#include <memory>
#include <vector>

#include <tutti/spi/algorithm.hpp>

namespace tutti::v0::algorithms {

/// Ranks in groups.
struct Grouping {
  std::vector<std::vector<Rank>> groups{};  ///< As groups_of.
  std::vector<int> group_of{};              ///< Of each rank.
  std::vector<int> index_of{};              ///< Of each rank in its group.
  std::vector<int> kinds{};                 ///< One group of each size.
  int smallest = 0;                         ///< Ranks of the smallest group.
};

/// A profile builds the schedules of all ranks, and each asks for the same groups: the last ones
/// are remembered, by thread. @param hierarchy any. @param size number of ranks.
/// @return them. Throws Error{invalid_argument} as groups_of.
[[nodiscard]] std::shared_ptr<const Grouping> grouping_of(const Hierarchy& hierarchy, int size);

}  // namespace tutti::v0::algorithms
