// As proved_test.cpp, with many more schedules; in portions, because of the watchdog.
#include <gtest/gtest.h>

#include "tests/collectives/execution/proved_runs.hpp"
#include "tests/collectives/execution/random_schedules.hpp"

namespace tutti::harness {
namespace {

constexpr std::uint64_t kPortion = 4000;

class ProvedLong : public ::testing::TestWithParam<std::uint64_t> {
 protected:
  static Survey portion(Generator make) { return survey(make, GetParam() * kPortion, kPortion); }
};

TEST_P(ProvedLong, RandomReductionsRunAsProved) {
  const Survey numbers = portion(samples::random_reduction);
  EXPECT_EQ(numbers.proved, numbers.seen);
}

TEST_P(ProvedLong, MutantsOfRandomReductionsRunAsProved) {
  EXPECT_GT(portion(mutant_of_random_reduction).proved, 0);
}

TEST_P(ProvedLong, MutantsOfTheCatalogRunAsProved) {
  EXPECT_GT(portion(mutant_of_catalog).proved, 0);
}

INSTANTIATE_TEST_SUITE_P(Portions, ProvedLong, ::testing::Range<std::uint64_t>(1, 26));

}  // namespace
}  // namespace tutti::harness
