// The positions of ranks in the groups of a hierarchy.
#include "grouping.hpp"

#include <algorithm>
#include <set>

#include <tutti/spi/per_thread.hpp>

namespace tutti::v0::algorithms {
namespace {

Grouping make_grouping(const Hierarchy& hierarchy, int size) {
  Grouping grouping{.groups = groups_of(hierarchy, size), .smallest = size};
  grouping.group_of.resize(static_cast<std::size_t>(size));
  grouping.index_of.resize(static_cast<std::size_t>(size));
  std::set<std::size_t> sizes;
  for (std::size_t group = 0; group < grouping.groups.size(); ++group) {
    const std::vector<Rank>& ranks = grouping.groups[group];
    for (std::size_t index = 0; index < ranks.size(); ++index) {
      const auto rank = static_cast<std::size_t>(ranks[index]);
      grouping.group_of[rank] = static_cast<int>(group);
      grouping.index_of[rank] = static_cast<int>(index);
    }
    grouping.smallest = std::min(grouping.smallest, static_cast<int>(ranks.size()));
    if (sizes.insert(ranks.size()).second) grouping.kinds.push_back(static_cast<int>(group));
  }
  return grouping;
}

/// The last inputs, and the grouping made from them.
struct Remembered {
  std::vector<int> groups{}, group_of{};
  int size = 0;
  std::shared_ptr<const Grouping> grouping{};
};

}  // namespace

std::shared_ptr<const Grouping> grouping_of(const Hierarchy& hierarchy, int size) {
  Remembered& last = detail::PerThread<Remembered>::get();
  if (last.grouping == nullptr || last.size != size || last.groups != hierarchy.groups ||
      last.group_of != hierarchy.group_of) {
    auto made = std::make_shared<const Grouping>(make_grouping(hierarchy, size));
    last = {hierarchy.groups, hierarchy.group_of, size, std::move(made)};
  }
  return last.grouping;
}

}  // namespace tutti::v0::algorithms
