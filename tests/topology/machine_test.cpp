// The own host, as hwloc sees it, on machines that are made up by HWLOC_SYNTHETIC.
#include "topology/machine.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>

#include <tutti/error.hpp>

#include <gtest/gtest.h>

namespace tutti::test {
namespace {

/// Makes a machine up while it lives.
class MadeUp {
 public:
  explicit MadeUp(const char* machine) { ::setenv("HWLOC_SYNTHETIC", machine, 1); }
  MadeUp(const MadeUp&) = delete;
  MadeUp& operator=(const MadeUp&) = delete;
  ~MadeUp() { ::unsetenv("HWLOC_SYNTHETIC"); }
};

using Words = std::array<std::uint64_t, 1>;

TEST(Machine, SaysWhatProcessorsShare) {
  if (!has_hwloc()) {
    EXPECT_EQ(locality_of(Words{1}), Locality{});
    EXPECT_THROW(static_cast<void>(machine_topology()), Error);
    return;
  }
  const MadeUp machine{"pack:2 l3:2 core:2 pu:2"};  // 16 processors, 4 of a cache
  EXPECT_EQ(locality_of(Words{0b1}), (Locality{0, 0}));
  EXPECT_EQ(locality_of(Words{0b1111}), (Locality{0, 0}));
  EXPECT_EQ(locality_of(Words{0b10000}), (Locality{0, 1}));
  EXPECT_EQ(locality_of(Words{0b111111}), (Locality{0, -1})) << "two caches";
  EXPECT_EQ(locality_of(Words{0xff00}), (Locality{1, -1}));
  EXPECT_EQ(locality_of(Words{0x100}), (Locality{1, 2}));
  EXPECT_EQ(locality_of(Words{0xffff}), Locality{}) << "all of it";
  EXPECT_EQ(locality_of(Words{0}), Locality{});
  EXPECT_EQ(locality_of(Words{1ULL << 40}), Locality{}) << "a processor that is not there";
}

TEST(Machine, IsANetworkOfLevels) {
  if (!has_hwloc()) return;
  {
    const MadeUp machine{"pack:2 l3:2 core:3 pu:2"};
    const NamedTopology network = machine_topology();
    EXPECT_EQ(network.topology.hosts(), 12);
    EXPECT_EQ(network.topology.switches(), 4 + 2 + 1);
    EXPECT_EQ(network.names.front(), "core 0");
    EXPECT_EQ(network.names.back(), "machine");
    EXPECT_EQ(network.topology.distances(0)[1], 2) << "by their cache";
    EXPECT_EQ(network.topology.distances(0)[3], 4) << "by their package";
    EXPECT_EQ(network.topology.distances(0)[6], 6) << "by what joins packages";
  }
  {
    const MadeUp machine{"pack:1 l3:1 core:4 pu:1"};
    const NamedTopology network = machine_topology();
    EXPECT_EQ(network.topology.switches(), 1) << "one cache joins all of it";
    EXPECT_EQ(network.names.back(), "cache");
  }
  {
    const MadeUp machine{"core:1 pu:2"};
    EXPECT_EQ(machine_topology().topology.hosts(), 1);
  }
}

TEST(Machine, OfThisHostHasCores) {
  if (!has_hwloc()) return;
  EXPECT_GE(machine_topology().topology.hosts(), 1);
}

TEST(Machine, FartherLevelsTakeLonger) {
  for (const int level : {1, 2})
    EXPECT_GT(speed_of_level(level).latency, speed_of_level(level - 1).latency);
}

}  // namespace
}  // namespace tutti::test
