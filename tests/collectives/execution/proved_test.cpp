// Every schedule that the verifier proves, not only the catalog's, runs as proved.
#include <gtest/gtest.h>

#include "tests/collectives/execution/proved_runs.hpp"
#include "tests/collectives/execution/random_schedules.hpp"

namespace tutti::harness {
namespace {

// Few proofs would make these tests pass as well, so there is a least number of each.
constexpr std::uint64_t kSome = 800;

TEST(Proved, RandomReductionsRunAsProved) {
  const Survey numbers = survey(samples::random_reduction, 0, kSome);
  EXPECT_EQ(numbers.proved, numbers.seen);
  EXPECT_GE(numbers.ordered, numbers.seen / 2);
  EXPECT_GE(numbers.rank_identical, numbers.seen / 8);
  EXPECT_GE(numbers.size_invariant, numbers.seen / 4);
}

TEST(Proved, MutantsOfRandomReductionsRunAsProved) {
  const Survey numbers = survey(mutant_of_random_reduction, 0, kSome);
  EXPECT_GE(numbers.proved, numbers.seen / 4);
}

TEST(Proved, MutantsOfTheCatalogRunAsProved) {
  const Survey numbers = survey(mutant_of_catalog, 0, kSome);
  EXPECT_GE(numbers.proved, numbers.seen / 4);
  EXPECT_GE(numbers.ordered, numbers.seen / 32);
}

}  // namespace
}  // namespace tutti::harness
