// The division of ranks into the groups of a hierarchy.
#include <algorithm>
#include <numeric>

#include <tutti/spi/algorithm.hpp>
#include <tutti/spi/contract.hpp>

#include "refuse.hpp"

namespace tutti::v0 {
namespace {

std::vector<int> sizes_of(const std::vector<int>& groups, int size) {
  const auto ranks = static_cast<std::size_t>(size);
  if (groups.size() > 1) {
    const std::int64_t sum = std::accumulate(groups.begin(), groups.end(), std::int64_t{0});
    if (sum != size)
      reject("its groups have " + count_of(sum, "rank") + " together" + there_are(size));
    return groups;
  }
  if (groups.front() > size)
    reject("it would have " + std::to_string(groups.front()) + " groups" + there_are(size));
  const Partition partition{ranks, static_cast<std::size_t>(groups.front())};
  std::vector<int> sizes;
  for (std::size_t group = 0; group < partition.parts; ++group)
    sizes.push_back(static_cast<int>(partition.size(group)));
  return sizes;
}

}  // namespace

std::vector<std::vector<Rank>> groups_of(const Hierarchy& hierarchy, int size) {
  std::vector<int> group_of = hierarchy.group_of;
  if (group_of.empty()) {
    if (hierarchy.groups.empty())
      reject(
          "it has no groups, and the hosts of its ranks are unknown: append for example "
          ":groups=4");
    for (const int ranks : sizes_of(hierarchy.groups, size))
      group_of.insert(group_of.end(), static_cast<std::size_t>(ranks),
                      group_of.empty() ? 0 : group_of.back() + 1);
  }
  if (static_cast<int>(group_of.size()) != size)
    reject("it has the groups of " + count_of(static_cast<std::int64_t>(group_of.size()), "rank") +
           there_are(size));
  const int last = std::ranges::max(group_of);
  if (last >= size)
    reject("its groups are numbered up to " + std::to_string(last) + there_are(size));
  std::vector<std::vector<Rank>> groups(static_cast<std::size_t>(last) + 1);
  for (Rank rank = 0; rank < size; ++rank)
    groups[static_cast<std::size_t>(group_of[static_cast<std::size_t>(rank)])].push_back(rank);
  for (std::size_t group = 0; group < groups.size(); ++group)
    if (groups[group].empty()) reject("its group " + std::to_string(group) + " has no rank");
  return groups;
}

Choice on_hosts(Choice choice, std::span<const int> hosts) {
  if (hosts.empty() || choice.hierarchy == nullptr || choice.hierarchy->has_groups()) return choice;
  Hierarchy hierarchy = *choice.hierarchy;
  std::vector<int> known;  // in the order of their first ranks
  for (const int host : hosts) {
    const auto found = std::ranges::find(known, host);
    hierarchy.group_of.push_back(static_cast<int>(found - known.begin()));
    if (found == known.end()) known.push_back(host);
  }
  // The ranks of a host are usually consecutive, and a shorter text describes them.
  if (std::ranges::is_sorted(hierarchy.group_of)) {
    hierarchy.groups.assign(known.size(), 0);
    for (const int group : hierarchy.group_of) ++hierarchy.groups[static_cast<std::size_t>(group)];
    if (known.size() == 1) hierarchy.groups = {1};
    hierarchy.group_of.clear();
  }
  choice.hierarchy = std::make_shared<const Hierarchy>(std::move(hierarchy));
  return choice;
}

}  // namespace tutti::v0
