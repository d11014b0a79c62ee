#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "proof/verify_row.hpp"

namespace tutti::v0 {
namespace {

TEST(VerifyCatalog, EveryRowUpToFortyRanks) {
  ASSERT_FALSE(catalog().empty());
  for (const Algorithm& row : catalog()) {
    const RowReport report = verify_row(row, {.min_size = 1, .max_size = 40});
    EXPECT_GT(report.shapes, 0U);
    for (const Finding& finding : report.findings)
      ADD_FAILURE() << name_of(finding.kind) << ": " << finding.message;
  }
}

/// Whether a round reduces into all that it finishes.
bool folds_what_it_finishes(std::span<const Step> round) {
  std::set<std::uint32_t> folded;
  std::set<std::uint32_t> finished;
  for (const Step& step : round) {
    const bool folds = step.kind() == Step::Kind::recv_reduce || step.kind() == Step::Kind::reduce;
    const bool finishes = step.kind() == Step::Kind::finish;
    for (std::uint32_t i = 0; i < step.slots().count && step.slots().space == Space::out; ++i) {
      if (folds) folded.insert(step.slots().first + i);
      if (finishes) finished.insert(step.slots().first + i);
    }
  }
  return std::includes(folded.begin(), folded.end(), finished.begin(), finished.end());
}

// An average that is finished in a later round than its last fold is rounded twice.
TEST(VerifyCatalog, EveryResultIsFinishedInTheRoundOfItsLastFold) {
  using enum Collective;
  for (const Algorithm& row : catalog()) {
    if (row.collective != all_reduce && row.collective != reduce &&
        row.collective != reduce_scatter)
      continue;
    for (const int size : {2, 3, 4, 8, 9}) {
      if (!admits(row.traits.sizes, size)) continue;
      for (const Choice& choice : verified_choices(row, size, 1))
        for (Rank rank = 0; rank < size; ++rank) {
          const Schedule schedule = choice.build(size, 0, rank);
          for (std::size_t round = 0; round < schedule.rounds(); ++round)
            EXPECT_TRUE(folds_what_it_finishes(schedule.round(round)))
                << name_of(row.collective) << " " << choice.text() << " on " << size << " ranks";
        }
    }
  }
}

}  // namespace
}  // namespace tutti::v0
