// The ideal step and its shares, against cases that were worked out by hand.
#include "perf/gradients/metrics.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace tutti::perf {
namespace {

double ideal(double computing, const std::vector<BucketCost>& buckets) {
  return ideal_step(computing, buckets);
}

TEST(GradientsMetrics, IsComputingWhereAllCommunicationHides) {
  EXPECT_DOUBLE_EQ(ideal(100, {}), 100);
  EXPECT_DOUBLE_EQ(ideal(100, {{.ready = 40, .alone = 10}, {.ready = 60, .alone = 30}}), 100);
}

TEST(GradientsMetrics, AddsTheTailOfTheLastBucket) {
  EXPECT_DOUBLE_EQ(ideal(100, {{.ready = 100, .alone = 7}}), 107);
  EXPECT_DOUBLE_EQ(ideal(100, {{.ready = 50, .alone = 10}, {.ready = 100, .alone = 5}}), 105);
}

TEST(GradientsMetrics, ReducesBucketsOneAfterTheOther) {
  // The first ends at 90, so the second takes from 90 to 120 and the last one from 120 to 125.
  EXPECT_DOUBLE_EQ(
      ideal(100,
            {{.ready = 50, .alone = 40}, {.ready = 60, .alone = 30}, {.ready = 100, .alone = 5}}),
      125);
  // A bucket waits for those before it, even if it was ready earlier.
  EXPECT_DOUBLE_EQ(ideal(100, {{.ready = 95, .alone = 10}, {.ready = 10, .alone = 10}}), 115);
}

TEST(GradientsMetrics, TellsSharesOfWhatCouldBeHidden) {
  const StepTimes times{.computing = 100, .serial = 150, .overlapped = 110, .ideal = 105};
  EXPECT_DOUBLE_EQ(exposed(times), 10);
  EXPECT_DOUBLE_EQ(hidden_share(times).value(), 0.8);
  EXPECT_DOUBLE_EQ(overlap_efficiency(times).value(), 40.0 / 45);
}

TEST(GradientsMetrics, TellsNoShareOfNothing) {
  const StepTimes alone{.computing = 100, .serial = 100, .overlapped = 101, .ideal = 100};
  EXPECT_FALSE(hidden_share(alone).has_value());
  EXPECT_FALSE(overlap_efficiency(alone).has_value());
}

TEST(GradientsMetrics, PutsQuartilesBetweenNeighbours) {
  const Quartiles one = quartiles_of(std::vector<double>{7});
  EXPECT_DOUBLE_EQ(one.low, 7);
  EXPECT_DOUBLE_EQ(one.high, 7);
  const Quartiles four = quartiles_of(std::vector<double>{4, 1, 3, 2});
  EXPECT_DOUBLE_EQ(four.low, 1.75);
  EXPECT_DOUBLE_EQ(four.median, 2.5);
  EXPECT_DOUBLE_EQ(four.high, 3.25);
}

}  // namespace
}  // namespace tutti::perf
