// The yardstick measures an all_reduce that is right.
#include "perf/sweep/probe.hpp"

#include <gtest/gtest.h>

#include <tutti/init.hpp>
#include <tutti/spi/init.hpp>

#include "tests/runtime/ranks.hpp"

namespace tutti::perf {
namespace {

using tutti::test::local_channels;

void expect_sums(Communicator& world, std::size_t count) {
  const Workload workload{
      .collective = Collective::all_reduce, .count = count, .size = world.size()};
  ASSERT_EQ(Probe::refusal(workload, world), "");
  Probe probe{workload, world};
  for (int round = 0; round < 3; ++round) {
    probe.refresh();
    world.barrier();
    probe.run();
  }
  if (count * sizeof(float) <= 64) return;  // a cache line goes there and back
  float ranks = 0;
  for (Rank rank = 0; rank < world.size(); ++rank) ranks += static_cast<float>(rank);
  for (std::size_t i = 0; i < count; ++i)
    ASSERT_EQ(probe.output()[i],
              ranks + static_cast<float>(static_cast<std::size_t>(world.size()) * (i % 1000)))
        << "element " << i << " of " << count;
}

TEST(Probe, SumsAllInputsIntoAllOutputs) {
  for (const int n : {2, 3, 4}) {
    const auto channels = local_channels(n, true);
    test::expect_no_error(test::run_ranks(n, [&](Rank rank) {
      Communicator world = init(*channels[static_cast<std::size_t>(rank)]);
      for (const std::size_t count : {std::size_t{1}, std::size_t{17}, std::size_t{1000},
                                      std::size_t{100'003}, std::size_t{1'100'001}})
        expect_sums(world, count);
    }));
  }
}

TEST(Probe, SaysWhatItIsNot) {
  const auto channels = local_channels(1, true);
  Communicator alone = init(*channels.front());
  EXPECT_EQ(Probe::refusal({.collective = Collective::all_reduce, .count = 8, .size = 1}, alone),
            "the probe needs two ranks or more");
  EXPECT_EQ(Probe::refusal({.collective = Collective::broadcast, .count = 8, .size = 1}, alone),
            "the probe is an all_reduce of f32 sums, out of place");
}

}  // namespace
}  // namespace tutti::perf
