// Memory that peers see, over NCCL.
#include <gtest/gtest.h>
#include <tutti/cuda.hpp>
#include <tutti/spi/communicator.hpp>
#include <tutti/spi/stream_peers.hpp>

#include <string>
#include <utility>
#include <vector>

#include "tests/cuda/gpu_world.hpp"
#include "tests/support/patience.hpp"

namespace tutti::harness {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kFloats = 20'000;

/// Reduces ones of all ranks in memory of allocate. @return the first and the last result.
std::pair<float, float> reduced(Communicator& world, cuda::DeviceMemory& memory, Stream stream,
                                const Options& options) {
  auto buffer = cuda::allocate<float>(world, kFloats);
  const std::shared_ptr<StreamTransport> streams = streams_of(world);
  auto* const bytes = reinterpret_cast<std::byte*>(buffer.data());
  EXPECT_TRUE(streams->peers()->are_seen(bytes, kFloats * sizeof(float)));
  std::vector<float> values(kFloats, static_cast<float>(1 + world.rank()));
  memory.copy(bytes, reinterpret_cast<const std::byte*>(values.data()), kFloats * sizeof(float));
  world.all_reduce(std::span{buffer.data(), kFloats}, sum, options);
  cuda::wait(world, stream, test::kAmple);
  memory.copy(reinterpret_cast<std::byte*>(values.data()), bytes, kFloats * sizeof(float));
  return {values.front(), values.back()};
}

TEST(VisibleOverNccl, CallsOfAllKindsGiveTheRightResults) {
  if (const std::string why = lack_of(4); !why.empty()) GTEST_SKIP() << why;
  GpuWorld world{4};
  for (const std::string& error : world.run([&](Rank rank) {
         cuda::attach(world[rank], {.device = rank, .visible = true, .timeout = test::kAmple});
         const OwnStream own{world.device(rank)};
         const Stream stream = own.get();
         cuda::DeviceMemory& memory = *world.memory(rank);
         const std::pair all{10.0F, 10.0F};
         EXPECT_EQ(reduced(world[rank], memory, stream,
                           {.algorithm = "ring", .visible = true, .stream = stream}),
                   all);
         EXPECT_EQ(reduced(world[rank], memory, stream, {.algorithm = "ring", .stream = stream}),
                   all);
         EXPECT_EQ(reduced(world[rank], memory, stream, {.algorithm = "native", .stream = stream}),
                   all);
         EXPECT_EQ(reduced(world[rank], memory, stream, {.visible = true, .stream = stream}), all);
         Communicator half = world[rank].split(rank % 2);
         EXPECT_EQ(reduced(half, memory, stream,
                           {.algorithm = "ring", .visible = true, .stream = stream}),
                   (std::pair{3.0F, 3.0F}));
       }))
    EXPECT_EQ(error, "");
}

TEST(VisibleOverNccl, IsRefusedWhereRanksDiffer) {
  if (const std::string why = lack_of(2); !why.empty()) GTEST_SKIP() << why;
  GpuWorld world{2};
  const auto errors = world.run([&](Rank rank) {
    cuda::attach(world[rank], {.device = rank, .visible = rank == 1, .timeout = test::kAmple});
  });
  for (const std::string& error : errors)
    EXPECT_EQ(error,
              "rank 1 attaches its GPU by 'nccl' with visible memory, and rank 0 by 'nccl' without "
              "visible memory; all ranks must say the same");
}

TEST(VisibleOverNccl, EndsOnAllRanksWhereOneDoesNotCome) {
  if (const std::string why = lack_of(3); !why.empty()) GTEST_SKIP() << why;
  GpuWorld world{3};
  const auto errors = world.run([&](Rank rank) {
    cuda::attach(world[rank], {.device = rank, .visible = true, .timeout = 5s});
    const OwnStream own{world.device(rank)};
    auto buffer = cuda::allocate<float>(world[rank], kFloats);
    if (rank == 2) return;
    world[rank].all_reduce(std::span{buffer.data(), kFloats}, sum,
                           {.algorithm = "ring", .visible = true, .stream = own.get()});
    EXPECT_THROW(cuda::wait(world[rank], own.get(), 300ms), Error);
  });
  for (const std::string& error : errors) EXPECT_EQ(error, "");
}

}  // namespace
}  // namespace tutti::harness
