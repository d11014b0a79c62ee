// What proved_test.cpp does, with many more schedules.
#include <gtest/gtest.h>

#include "proved_runs.hpp"
#include "random_schedules.hpp"

namespace tutti::harness {
namespace {

constexpr std::uint64_t kMany = 100'000;

TEST(ProvedLong, RandomReductionsRunAsProved) {
  const Survey numbers = survey(samples::random_reduction, kMany);
  EXPECT_EQ(numbers.proved, numbers.seen);
}

TEST(ProvedLong, MutantsOfRandomReductionsRunAsProved) {
  EXPECT_GT(survey(mutant_of_random_reduction, kMany).proved, 0);
}

TEST(ProvedLong, MutantsOfTheCatalogRunAsProved) {
  EXPECT_GT(survey(mutant_of_catalog, kMany).proved, 0);
}

}  // namespace
}  // namespace tutti::harness
