/// @file
/// The groups of a hierarchy, and the position of each rank in them.
#pragma once

#include <memory>
#include <vector>

#include <tutti/spi/algorithm.hpp>

namespace tutti::v0::algorithms {

/// Ranks in groups.
struct Grouping {
  std::vector<std::vector<Rank>> groups{};  ///< As groups_of.
  std::vector<int> group_of{};              ///< The group of each rank.
  std::vector<int> index_of{};              ///< The index of each rank in its group.
  std::vector<int> kinds{};                 ///< One group of each size.
  int smallest = 0;                         ///< Ranks of the smallest group.
};

/// Each thread caches its last grouping, since a profile builds the schedules of all ranks with the
/// same groups. @param size number of ranks. @return the groups. Throws Error{invalid_argument} as
/// groups_of.
[[nodiscard]] std::shared_ptr<const Grouping> grouping_of(const Hierarchy& hierarchy, int size);

}  // namespace tutti::v0::algorithms
