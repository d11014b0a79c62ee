// Classes of networks.
#include "topology/network_speed.hpp"

#include <tutti/spi/costs.hpp>

#include "selector/cost_models.hpp"

#include <gtest/gtest.h>

namespace tutti::test {
namespace {

using namespace std::chrono_literals;
using namespace tutti::detail;

constexpr std::size_t kGigabit = 125'000'000;

TEST(NetworkSpeed, IsWhatTheLinkIsSoldAs) {
  EXPECT_EQ(speed_of(kGigabit / 1000, 95ms), NetworkSpeed::megabits_100);
  EXPECT_EQ(speed_of(kGigabit, 12s), NetworkSpeed::megabits_100);
  EXPECT_EQ(speed_of(kGigabit, -1ns), NetworkSpeed::gigabits_10) << "too fast for the clock";
  // Half as fast or twice as fast is still the same link.
  for (const Duration time : {500ms, 1000ms, 2000ms, 3000ms})
    EXPECT_EQ(speed_of(kGigabit, time), NetworkSpeed::gigabit_1);
  for (const Duration time : {1ms, 50ms, 100ms, 200ms, 300ms})
    EXPECT_EQ(speed_of(kGigabit, time), NetworkSpeed::gigabits_10);
}

TEST(NetworkSpeed, IsSeenInWhatALongProbeTakesLonger) {
  EXPECT_EQ(speed_between(22ms, 106ms), NetworkSpeed::megabits_100);
  EXPECT_EQ(speed_between(2200us, 10600us), NetworkSpeed::gigabit_1);
  EXPECT_EQ(speed_between(300us, 1100us), NetworkSpeed::gigabits_10);
  EXPECT_EQ(speed_between(32ms, 41ms), NetworkSpeed::gigabit_1) << "it is far away";
  // Two probes of a gigabit that waited for a core.
  EXPECT_EQ(speed_between(10ms, 11ms), NetworkSpeed::gigabit_1);
  EXPECT_EQ(speed_between(12ms, 11ms), NetworkSpeed::gigabit_1);
}

TEST(NetworkSpeed, ClassesCostWhatTheySay) {
  EXPECT_EQ(network_costs(NetworkSpeed::megabits_100).costs.beta, 80'000'000);
  EXPECT_EQ(network_costs(NetworkSpeed::gigabit_1).costs.beta, 8'000'000);
  EXPECT_EQ(network_costs(NetworkSpeed::gigabits_10).costs.beta, 800'000);
  EXPECT_EQ(network_costs(10000).costs, network_costs(NetworkSpeed::gigabits_10).costs);
  EXPECT_EQ(network_costs(NetworkSpeed::unknown).costs,
            network_costs(NetworkSpeed::gigabit_1).costs);
  EXPECT_NE(network_costs(NetworkSpeed::unknown).origin.find("assumed"), std::string::npos);
  EXPECT_NE(network_costs(NetworkSpeed::gigabit_1).origin.find("measured"), std::string::npos);
  // A choice that must be equal in every run ignores measurements and counts.
  for (const NetworkSpeed speed : {NetworkSpeed::megabits_100, NetworkSpeed::gigabits_10})
    EXPECT_EQ(network_costs(speed).lasting, network_costs(NetworkSpeed::unknown).costs);
  EXPECT_EQ(memory_costs(2, 1000).lasting, memory_costs(0, 1000).lasting);
  for (const CostModel& cost_model :
       {memory_costs(0, 1000), memory_costs(2, 1000), loopback_costs(0), loopback_costs(2)})
    EXPECT_FALSE(cost_model.costs.overlaps) << cost_model.origin;
  EXPECT_EQ(memory_costs(2, 1000).costs.buffered_bytes, 1000);
  EXPECT_EQ(memory_costs(0, 1000).costs.buffered_bytes, 0) << "nobody waits for a turn";
}

}  // namespace
}  // namespace tutti::test
