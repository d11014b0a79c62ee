// Messages of GPUs over the host's transport, on the stand-in for the driver: what they move, and
// in which order.
#include <algorithm>
#include <string>
#include <vector>

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <tutti/cuda.hpp>

#include "device_floats.hpp"
#include "graph.hpp"
#include "host_world.hpp"
#include "tests/support/patience.hpp"

namespace tutti::harness {
namespace {

using namespace std::chrono_literals;

/// Memory of peers is for programs that ask for it, twice: of what they did not, calls are
/// messages.
TEST(HostStreamsOfPeers, AreTakenWhereTheyAreAskedFor) {
  if (const std::string why = lack_of(1); !why.empty()) GTEST_SKIP() << why;
  for (const bool is_asked_for : {false, true}) {
    GpuWorld world{2};
    for (const std::string& error : world.run([&](Rank rank) {
           attach_by_host(world, rank, test::kAmple, is_asked_for);
           EXPECT_EQ(streams_of(world[rank])->peers() != nullptr, is_asked_for);
           Communicator half = world[rank].split(0);
           EXPECT_EQ(streams_of(half)->peers() != nullptr, is_asked_for);
           Buffer<float> data = cuda::allocate<float>(world[rank], 1000);
           const OwnStream stream{world.device(rank)};
           for (const bool visible : {true, false})
             world[rank].all_reduce(
                 data.span(), sum,
                 {.algorithm = "ring", .visible = visible, .stream = stream.get()});
           cuda::wait(world[rank], stream.get(), test::kAmple);
         }))
      EXPECT_EQ(error, "");
  }
}

/// Blocks of all lengths, also none, between more ranks than a lane has slots.
TEST(HostCalls, HaveManyPeers) {
  constexpr int kRanks = 8;
  if (const std::string why = lack_of(1); !why.empty()) GTEST_SKIP() << why;
  constexpr auto kSize = static_cast<std::size_t>(kRanks);
  std::vector<std::size_t> counts(kSize * kSize);
  for (std::size_t i = 0; i < kSize; ++i)
    for (std::size_t j = 0; j < kSize; ++j)
      counts[i * kSize + j] = (i * j) % 3 == 2 ? 0 : 40'000 * i + 7'001 * j;
  GpuWorld world{kRanks};
  on_host(world, [&](Rank rank) {
    const auto self = static_cast<std::size_t>(rank);
    std::vector<float> sent, wanted;
    for (std::size_t j = 0; j < kSize; ++j) {
      const std::vector<float> to =
          numbers_of(static_cast<Rank>(self * kSize + j), counts[self * kSize + j]);
      sent.insert(sent.end(), to.begin(), to.end());
      const std::vector<float> from =
          numbers_of(static_cast<Rank>(j * kSize + self), counts[j * kSize + self]);
      wanted.insert(wanted.end(), from.begin(), from.end());
    }
    const OwnStream stream{world.device(rank)};
    DeviceFloats out{world.memory(rank), sent.size()};
    DeviceFloats in{world.memory(rank), wanted.size()};
    out.store(sent);
    for (const char* const algorithm : {"direct", ""})
      world[rank].all_to_all(std::span<const float>{out.span()}, in.span(),
                             {.algorithm = algorithm, .stream = stream.get(), .counts = counts});
    cuda::wait(world[rank], stream.get(), test::kAmple);
    EXPECT_TRUE(in.load() == wanted);
  });
}

TEST(HostCalls, RunInGroupsAndSplits) {
  constexpr int kRanks = 4;
  if (const std::string why = lack_of(1); !why.empty()) GTEST_SKIP() << why;
  GpuWorld world{kRanks};
  on_host(world, [&](Rank rank) {
    Communicator part = world[rank].split(rank % 2);
    const OwnStream stream{world.device(rank)};
    const OwnStream other{world.device(rank)};
    DeviceFloats all{world.memory(rank), 1000};
    DeviceFloats some{world.memory(rank), 1000};
    all.store(std::vector<float>(1000, 1.0F));
    some.store(std::vector<float>(1000, 1.0F));
    for (int i = 0; i < 3; ++i) {
      world[rank].all_reduce(all.span(), sum, {.algorithm = "ring", .stream = stream.get()});
      part.all_reduce(some.span(), sum, {.stream = other.get()});
    }
    cuda::wait(part, other.get(), test::kAmple);
    cuda::wait(world[rank], stream.get(), test::kAmple);
    EXPECT_EQ(all.load(), std::vector<float>(1000, 64.0F));
    EXPECT_EQ(some.load(), std::vector<float>(1000, 8.0F));
  });
}

TEST(HostCalls, RunOnRanksThatShareAGpu) {
  if (const std::string why = lack_of(1); !why.empty()) GTEST_SKIP() << why;
  GpuWorld world{3, "shm", 1};
  on_host(world, [&](Rank rank) {
    ASSERT_EQ(world.device(rank).ordinal(), 0);
    DeviceFloats data{world.memory(rank), 100'000};
    data.store(std::vector<float>(100'000, 1.0F));
    const OwnStream stream{world.device(rank)};
    for (int i = 0; i < 3; ++i) world[rank].all_reduce(data.span(), sum, {.stream = stream.get()});
    cuda::wait(world[rank], stream.get(), test::kAmple);
    EXPECT_EQ(data.load(), std::vector<float>(100'000, 27.0F));
  });
}

/// Earlier work on a stream precedes the messages of a call, and the host waits for neither.
TEST(HostCalls, TakeTheirTurnInTheStream) {
  if (const std::string why = lack_of(1); !why.empty()) GTEST_SKIP() << why;
  GpuWorld world{2};
  on_host(world, [&](Rank rank) {
    const OwnStream stream{world.device(rank)};
    const Options how{.stream = stream.get()};
    DeviceFloats first{world.memory(rank), 1000};
    DeviceFloats data{world.memory(rank), 1000};
    first.store(std::vector<float>(1000, static_cast<float>(rank + 1)));
    data.store(std::vector<float>(1000, 77.0F));
    {
      Barrier closed{world.memory(rank), stream.get()};
      const cuda::Device::Current current{world.device(rank)};
      const auto& driver = world.device(rank).driver();
      driver.check(driver.calls().copy(cuda::address_of(data.span().data()),
                                       cuda::address_of(first.span().data()), 4000,
                                       static_cast<CUstream>(stream.get().handle())),
                   "copy");
      for (int i = 0; i < 20; ++i) world[rank].all_reduce(data.span(), max, how);
      Request handle = world[rank].async().all_reduce(data.span(), sum, how);
      std::this_thread::sleep_for(5ms);
      EXPECT_FALSE(handle.test());
      closed.open();
      handle.wait();
    }
    EXPECT_EQ(data.load(), std::vector<float>(1000, 4.0F));
  });
}

TEST(HostCalls, AreNotCapturedInGraphs) {
  if (const std::string why = lack_of(1); !why.empty()) GTEST_SKIP() << why;
  GpuWorld world{2};
  on_host(world, [&](Rank rank) {
    const OwnStream stream{world.device(rank)};
    DeviceFloats data{world.memory(rank), 100};
    data.store(std::vector<float>(100, 1.0F));
    {
      Graph graph{world.device(rank), stream.get()};
      try {
        world[rank].all_reduce(data.span(), sum, {.stream = stream.get()});
        ADD_FAILURE() << "no error";
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
        EXPECT_STREQ(error.what(),
                     "calls on this stream cannot be captured in a graph: 'host' hands messages to "
                     "a thread of the host; attach the GPU by \"nccl\"");
      }
      graph.end();
    }
    world[rank].all_reduce(data.span(), sum, {.stream = stream.get()});
    cuda::wait(world[rank], stream.get(), test::kAmple);
    EXPECT_EQ(data.load(), std::vector<float>(100, 2.0F));
  });
}

/// Calls on a stream of ours, handles, plans, and memory of cuda::allocate.
TEST(HostCalls, AreOfAllKinds) {
  if (const std::string why = lack_of(1); !why.empty()) GTEST_SKIP() << why;
  GpuWorld world{2};
  on_host(world, [&](Rank rank) {
    DeviceFloats data{world.memory(rank), 5000};
    data.store(std::vector<float>(5000, 1.0F));
    world[rank].all_reduce(data.span(), sum, {.stream = Stream::own()});
    EXPECT_EQ(data.load(), std::vector<float>(5000, 2.0F));
    Plan plan = world[rank].plan().all_reduce(data.span(), sum, {.stream = Stream::own()});
    for (int i = 0; i < 3; ++i) plan.start();
    plan.wait();
    EXPECT_EQ(data.load(), std::vector<float>(5000, 16.0F));
    Buffer<float> buffer = cuda::allocate<float>(world[rank], 5000);
    world[rank].reduce(std::span<const float>{data.span()}, buffer.span(), sum, 1,
                       {.stream = Stream::own()});
    if (rank == 1) {
      world[rank].send(std::span<const float>{buffer.span()}, 0, 0, {.stream = Stream::own()});
    } else {
      world[rank].recv(data.span(), 1, 0, {.stream = Stream::own()});
      EXPECT_EQ(data.load(), std::vector<float>(5000, 32.0F));
    }
    world[rank].barrier({.stream = Stream::own()});
    std::vector<int> host(10, 1);
    world[rank].all_reduce(host);
    EXPECT_EQ(host[9], 2);
  });
}

TEST(HostCalls, NeedNoNccl) {
  if (const std::string why = lack_of(1); !why.empty()) GTEST_SKIP() << why;
  GpuWorld world{1};
  on_host(world, [&](Rank rank) {
    DeviceFloats data{world.memory(rank), 10};
    data.store(std::vector<float>(10, 1.0F));
    world[rank].all_reduce(data.span(), sum, {.stream = Stream::own()});
    EXPECT_EQ(data.load(), std::vector<float>(10, 1.0F));
    const std::string why =
        world[rank].explain(call::all_reduce(std::span<const float>{data.span()}, data.span(), sum),
                            {.stream = Stream::own()});
    EXPECT_NE(why.find("assumed of copies through the host"), std::string::npos) << why;
  });
  EXPECT_EQ(dlopen("libnccl.so.2", RTLD_NOW | RTLD_NOLOAD), nullptr);
}

}  // namespace
}  // namespace tutti::harness
