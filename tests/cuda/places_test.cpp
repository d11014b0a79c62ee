// Places of GPUs, and the choices by them. NVLink of the stand-in joins 0 with 1 and 2 with 3,
// nothing joins 0 with 2, and PCIe all others.
#include <memory>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <tutti/cuda.hpp>
#include <tutti/spi/communicator.hpp>

#include "backends/cuda/placement.hpp"
#include "backends/cuda/survey.hpp"
#include "gpu_world.hpp"
#include "tests/runtime/worlds.hpp"
#include "tests/support/patience.hpp"

namespace tutti::harness {
namespace {

using namespace std::chrono_literals;
using cuda::GpuLocation;
using cuda::GpuPlacement;

/// Rank r has device r, and is on host r % hosts.
void on_hosts(int size, int hosts, std::string_view transport,
              const std::function<void(Communicator&)>& body) {
  test::expect_no_error(
      test::in_world({size, hosts == 1 ? "shm" : "auto", hosts}, [&](Communicator& world) {
        cuda::attach(world,
                     {.device = world.rank(), .transport = transport, .timeout = test::kAmple});
        body(world);
        world.barrier();
      }));
}

std::vector<int> islands_of(Communicator& world) {
  std::vector<int> islands;
  for (const Locality& at : streams_of(world)->localities()) islands.push_back(at.island);
  return islands;
}

std::vector<int> rails_of(Communicator& world) {
  std::vector<int> rails;
  for (const Locality& at : streams_of(world)->localities()) rails.push_back(at.rail);
  return rails;
}

/// @return the choice for a long all_reduce that must be equal in every run.
std::string explanation(Communicator& world) {
  static std::vector<float> values(std::size_t{1} << 22U);
  return world.explain(call::all_reduce(std::span<const float>{values}, std::span{values}, sum),
                       {.determinism = Determinism::run_to_run, .stream = Stream::own()});
}

class GpuPlaces : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (const std::string why = lack_of(4); !why.empty()) GTEST_SKIP() << why;
  }
};

TEST_P(GpuPlaces, AreIslandsOfOneHost) {
  on_hosts(4, 1, GetParam(), [](Communicator& world) {
    EXPECT_EQ(islands_of(world), (std::vector<int>{0, 0, 1, 1}));
    EXPECT_EQ(rails_of(world), (std::vector<int>{0, 1, 2, 3}));
  });
}

// Ranks 0 and 2 are on one host, and nothing joins their GPUs; ranks 1 and 3 on the other one.
TEST_P(GpuPlaces, AreNumberedOnEachHost) {
  on_hosts(4, 2, GetParam(), [](Communicator& world) {
    EXPECT_EQ(hosts_of(world), (std::vector<int>{0, 1, 0, 1}));
    EXPECT_EQ(islands_of(world), (std::vector<int>{0, 0, 1, 1}));
    EXPECT_EQ(rails_of(world), (std::vector<int>{0, 0, 1, 1}));
  });
}

TEST_P(GpuPlaces, AreKnownToGroups) {
  on_hosts(4, 1, GetParam(), [](Communicator& world) {
    if (world.rank() == 1) return;
    Communicator group = world.group(std::vector<Rank>{3, 0, 2});
    EXPECT_EQ(islands_of(group), (std::vector<int>{1, 0, 1}));
    EXPECT_EQ(rails_of(group), (std::vector<int>{3, 0, 2})) << "as in the whole";
  });
}

/// A hierarchy that says no groups has the hosts, and gives the right result.
TEST_P(GpuPlaces, AreGroupsOfHierarchies) {
  on_hosts(4, 2, GetParam(), [](Communicator& world) {
    const Options options{.algorithm = "hierarchical(binomial, recursive_doubling)",
                          .stream = Stream::own()};
    const auto driver = std::make_shared<const cuda::Driver>();
    cuda::DeviceMemory memory{std::make_shared<const cuda::Device>(driver, world.rank())};
    constexpr std::size_t kCount = 1000;
    std::vector<std::int32_t> host(kCount, world.rank() + 1);
    const std::span raw = std::as_writable_bytes(std::span{host});
    Buffer<std::int32_t> device = cuda::allocate<std::int32_t>(world, kCount);
    const std::span data{device.data(), kCount};
    const auto bytes = reinterpret_cast<std::byte*>(data.data());
    memory.copy(bytes, raw.data(), raw.size());
    const std::string text =
        world.explain(call::all_reduce(std::span<const std::int32_t>{data}, data, sum), options);
    EXPECT_NE(text.find(":ranks=0+1+0+1"), std::string::npos) << text;
    world.all_reduce(data, sum, options);
    memory.copy(raw.data(), bytes, raw.size());
    EXPECT_EQ(host, std::vector<std::int32_t>(kCount, 10));
  });
}

INSTANTIATE_TEST_SUITE_P(TransportSet, GpuPlaces, ::testing::Values("nccl", "host"));

TEST(GpuChoices, AreMadeByIslands) {
  if (const std::string why = lack_of(4); !why.empty()) GTEST_SKIP() << why;
  on_hosts(4, 1, "nccl", [](Communicator& world) {
    const std::string text = explanation(world);
    EXPECT_NE(text.find("levels: 2 islands of 2 ranks\n"), std::string::npos) << text;
    EXPECT_NE(text.find("assumed of GPUs of one host that PCIe joins"), std::string::npos) << text;
    EXPECT_NE(text.find("; hierarchical("), std::string::npos) << "is what would run: " << text;
  });
}

TEST(GpuChoices, AreMadeByHosts) {
  if (const std::string why = lack_of(4); !why.empty()) GTEST_SKIP() << why;
  on_hosts(4, 2, "nccl", [](Communicator& world) {
    const std::string text = explanation(world);
    EXPECT_NE(text.find("levels: 2 hosts of 2 ranks\n"), std::string::npos) << text;
    EXPECT_NE(text.find("assumed of GPUs of several hosts; between islands of a host"),
              std::string::npos)
        << text;
  });
}

TEST(GpuChoices, AreWithoutLevelsOnOneIsland) {
  if (const std::string why = lack_of(2); !why.empty()) GTEST_SKIP() << why;
  on_hosts(2, 1, "nccl", [](Communicator& world) {
    const std::string text = explanation(world);
    EXPECT_EQ(text.find("levels:"), std::string::npos) << text;
    EXPECT_NE(text.find("assumed of GPUs of one host\n"), std::string::npos) << text;
  });
}

GpuLocation gpu_at(std::uint8_t gpu, std::uint8_t island, std::uint64_t address,
                   std::int32_t seen) {
  return {.uuid = {gpu}, .island = {island}, .address = address, .seen = seen};
}

TEST(GpuPlacement, AreRailsByTheirAddresses) {
  // Two hosts, whose ranks have their GPUs in other orders; two ranks share one.
  const std::vector<GpuLocation> gpus{gpu_at(1, 1, 30, 3), gpu_at(2, 2, 10, 3),
                                      gpu_at(3, 1, 20, 3), gpu_at(8, 8, 20, 2),
                                      gpu_at(9, 8, 10, 2), gpu_at(9, 8, 10, 2)};
  const GpuPlacement placement = cuda::placement_of(gpus, {5, 5, 5, 2, 2, 2});
  const std::vector<Locality> expected{{.island = 0, .rail = 2}, {.island = 1, .rail = 0},
                                       {.island = 0, .rail = 1}, {.island = 0, .rail = 1},
                                       {.island = 0, .rail = 0}, {.island = 0, .rail = 0}};
  EXPECT_EQ(placement.localities, expected);
}

// CUDA_VISIBLE_DEVICES gives each process its own device.
TEST(GpuPlacement, AreOfNoKnownIslandWhereProcessesDoNotSeeAll) {
  const std::vector<GpuLocation> gpus{gpu_at(1, 1, 10, 1), gpu_at(2, 2, 20, 2),
                                      gpu_at(3, 3, 10, 1)};
  const GpuPlacement placement = cuda::placement_of(gpus, {0, 0, 1});
  const std::vector<Locality> expected{
      {.island = -1, .rail = 0}, {.island = -1, .rail = 1}, {.island = 0, .rail = 0}};
  EXPECT_EQ(placement.localities, expected);
}

TEST(GpuPlacement, AreNotKnownWithoutHosts) {
  const std::vector<GpuLocation> gpus{gpu_at(1, 1, 10, 1), gpu_at(2, 2, 20, 2)};
  EXPECT_TRUE(cuda::placement_of(gpus, {}).localities.empty());
}

TEST(GpuSurvey, SaysWhatJoinsGpus) {
  if (const std::string why = lack_of(4); !why.empty()) GTEST_SKIP() << why;
  const cuda::Survey found = cuda::survey();
  ASSERT_GE(found.links.size(), 4U);
  EXPECT_EQ(found.links[0][0], "-");
  EXPECT_EQ(found.links[0][1], "NVLink");
  EXPECT_EQ(found.links[0][2], "none");
  EXPECT_EQ(found.links[0][3], "P2P");
  EXPECT_EQ(found.links[3][2], "NVLink");
}

}  // namespace
}  // namespace tutti::harness
