// Only rows that claim equal expression trees have them.
#include <map>

#include <gtest/gtest.h>
#include <tutti/spi/algorithm.hpp>

#include "proof/verify.hpp"

namespace tutti::test {
namespace {

/// Trees of a row with its default parameter by number of ranks and root, where it has one.
std::map<std::pair<int, Rank>, std::uint64_t> trees_of(const Algorithm& row) {
  std::map<std::pair<int, Rank>, std::uint64_t> trees;
  const Choice choice{.algorithm = &row, .number = row.default_number};
  Verifier verifier;
  for (int size = 3; size <= 17; ++size)  // below, all trees are equal
    for (Rank root = 0; root < (is_rooted(row.collective) ? size : 1); ++root) {
      if (!admits(row.traits.sizes, size) || !holds(row.traits.size_invariant, size, root))
        continue;
      std::vector<Schedule> schedules;
      for (Rank rank = 0; rank < size; ++rank) schedules.push_back(choice.build(size, root, rank));
      trees[{size, root}] =
          verifier.verify({.contract = {row.collective, size, root}, .schedules = schedules})
              .facts.tree;
    }
  return trees;
}

/// Whether two rows give equal bits wherever both have one tree.
bool agree(const std::map<std::pair<int, Rank>, std::uint64_t>& a,
           const std::map<std::pair<int, Rank>, std::uint64_t>& b) {
  int met = 0;
  for (const auto& [where, tree] : a) {
    const auto other = b.find(where);
    if (other == b.end()) continue;
    if (other->second != tree) return false;
    ++met;
  }
  return met > 0;
}

std::string_view tree_name(const Algorithm& row) {
  return row.traits.same_tree_as.empty() ? row.name : row.traits.same_tree_as;
}

TEST(Trees, AreSharedByTheRowsThatSaySo) {
  std::map<const Algorithm*, std::map<std::pair<int, Rank>, std::uint64_t>> all;
  for (const Algorithm& row : catalog())
    if (is_reduction(row.collective) && has_default(row.parameter) &&
        row.traits.size_invariant != When::never)
      all[&row] = trees_of(row);
  int shared = 0;
  for (const auto& [row, trees] : all)
    for (const auto& [other, others] : all) {
      if (row >= other || row->collective != other->collective) continue;
      EXPECT_EQ(agree(trees, others), tree_name(*row) == tree_name(*other))
          << name_of(row->collective) << " " << row->name << " and " << other->name;
      shared += tree_name(*row) == tree_name(*other) ? 1 : 0;
    }
  EXPECT_GE(shared, 2);
}

}  // namespace
}  // namespace tutti::test
