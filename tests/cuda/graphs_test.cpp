// Calls on streams that are captured in graphs, and run as often as these are launched, on the
// stand-ins for the driver and NCCL.
#include <cstring>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <tutti/batch.hpp>
#include <tutti/cuda.hpp>

#include "backends/cuda/event.hpp"
#include "device_floats.hpp"
#include "gpu_world.hpp"
#include "graph.hpp"
#include "host_world.hpp"
#include "tests/support/patience.hpp"

namespace tutti::harness {
namespace {

using namespace std::chrono_literals;

constexpr int kRanks = 3;
constexpr std::size_t kCount = 999;

/// A rank's values, which differ in their last bits.
std::vector<float> values_of(Rank rank, int round) {
  std::vector<float> values(kCount);
  for (std::size_t i = 0; i < kCount; ++i)
    values[i] = 1.0F / static_cast<float>(i + 1 + 7 * static_cast<std::size_t>(rank + round));
  return values;
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

class GpuGraphs : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (const std::string why = lack_of(kRanks); !why.empty()) GTEST_SKIP() << why;
  }
};

/// Three calls, which read what the one before has written, are one graph; each launch gives the
/// bits that the same calls give by themselves.
TEST_P(GpuGraphs, GiveTheSameBitsAsCalls) {
  GpuWorld world{kRanks};
  for (const std::string& error : world.run([&](Rank rank) {
         cuda::attach(world[rank], {.device = rank, .timeout = test::kAmple});
         const OwnStream stream{world.device(rank)};
         const Options how{.algorithm = GetParam(), .stream = stream.get()};
         DeviceFloats data{world.memory(rank), kCount};
         DeviceFloats all{world.memory(rank), kCount * kRanks};
         const auto call = [&] {
           world[rank].all_reduce(data.span(), sum, how);
           world[rank].all_reduce(data.span(), average, {.stream = stream.get()});
           world[rank].all_gather(std::span<const float>{data.span()}, all.span(),
                                  {.stream = stream.get()});
           world[rank].barrier({.stream = stream.get()});
         };
         std::vector<std::vector<float>> wanted;
         for (int round = 0; round < 3; ++round) {
           data.store(values_of(rank, round));
           call();
           cuda::wait(world[rank], stream.get(), test::kAmple);
           wanted.push_back(all.load());
         }
         data.store(values_of(rank, 0));
         Graph graph{world.device(rank), stream.get()};
         call();
         graph.end();
         EXPECT_TRUE(same_bits(data.load(), values_of(rank, 0)));  // nothing has run
         for (int round = 0; round < 3; ++round) {
           data.store(values_of(rank, round));
           all.store(std::vector<float>(kCount * kRanks, -1.0F));
           graph.launch();
           cuda::wait(world[rank], stream.get(), test::kAmple);
           EXPECT_TRUE(same_bits(all.load(), wanted[static_cast<std::size_t>(round)])) << round;
         }
       }))
    EXPECT_EQ(error, "");
}

INSTANTIATE_TEST_SUITE_P(Algorithms, GpuGraphs,
                         ::testing::Values("", "native", "ring", "recursive_doubling", "direct"));

TEST(GpuCaptures, RefuseWhatWaitsForThem) {
  if (const std::string why = lack_of(1); !why.empty()) GTEST_SKIP() << why;
  GpuWorld world{1};
  for (const std::string& error : world.run([&](Rank rank) {
         cuda::attach(world[rank], {.device = rank, .timeout = test::kAmple});
         const OwnStream stream{world.device(rank)};
         DeviceFloats data{world.memory(rank), kCount};
         data.store(values_of(rank, 0));
         const auto refusal = [](const auto& body) -> std::string {
           try {
             body();
           } catch (const Error& caught) {
             EXPECT_EQ(caught.code(), ErrorCode::invalid_argument);
             return caught.what();
           }
           return "no error";
         };
         const std::string expected =
             "a stream that is captured in a graph does nothing now; a call that waits for it, "
             "such as one with a handle, cannot be captured";
         Graph graph{world.device(rank), stream.get()};
         EXPECT_EQ(refusal([&] {
                     static_cast<void>(world[rank].async().all_reduce(data.span(), sum,
                                                                      {.stream = stream.get()}));
                   }),
                   expected);
         EXPECT_EQ(refusal([&] { cuda::wait(world[rank], stream.get(), 1s); }), expected);
         world[rank].all_reduce(data.span(), sum, {.stream = stream.get()});
         graph.end();
         graph.launch();
         cuda::wait(world[rank], stream.get(), test::kAmple);
       }))
    EXPECT_EQ(error, "");
}

/// The driver has no attributes of memory that a graph allocates, and none of the host's.
TEST(GpuCaptures, AcceptMemoryOfTheirGraph) {
  if (const std::string why = lack_of(1); !why.empty()) GTEST_SKIP() << why;
  GpuWorld world{1};
  for (const std::string& error : world.run([&](Rank rank) {
         cuda::attach(world[rank], {.device = rank, .timeout = test::kAmple});
         const cuda::Device& device = world.device(rank);
         const OwnStream stream{device};
         DeviceFloats data{world.memory(rank), kCount};
         data.store(values_of(rank, 0));
         std::vector<float> host(kCount);
         const Options how{.algorithm = "ring", .stream = stream.get()};
         Graph graph{device, stream.get()};
         const CUdeviceptr own = device.allocate(kCount * sizeof(float), cuda::of(stream.get()));
         world[rank].all_reduce(std::span<const float>{data.span()},
                                std::span{reinterpret_cast<float*>(own), kCount}, sum, how);
         device.call("copy", &cuda::DriverCalls::copy, cuda::address_of(data.span().data()), own,
                     kCount * sizeof(float), cuda::of(stream.get()));
         device.free(own, cuda::of(stream.get()));
         EXPECT_THROW(world[rank].all_reduce(std::span{host}, sum, how), Error);
         graph.end();
         graph.launch();
         cuda::wait(world[rank], stream.get(), test::kAmple);
         EXPECT_EQ(data.load(), values_of(rank, 0));
       }))
    EXPECT_EQ(error, "");
}

/// NCCL does not end a communicator that graphs use; its owner does not hang.
TEST(GpuCaptures, DoNotHoldUpTheEndOfTheirCommunicator) {
  if (const std::string why = lack_of(2); !why.empty()) GTEST_SKIP() << why;
  GpuWorld world{2};
  for (const std::string& error : world.run([&](Rank rank) {
         cuda::attach(world[rank], {.device = rank, .timeout = 1s});
         const OwnStream stream{world.device(rank)};
         DeviceFloats data{world.memory(rank), kCount};
         Graph graph{world.device(rank), stream.get()};
         world[rank].all_reduce(data.span(), sum, {.stream = stream.get()});
         graph.end();
         const auto start = std::chrono::steady_clock::now();
         world.end(rank);
         const auto took = std::chrono::steady_clock::now() - start;
         EXPECT_GE(took, 1s);
         EXPECT_LE(took, test::kLongBefore);
       }))
    EXPECT_EQ(error, "");
}

TEST(GpuCaptures, DoNotHoldUpAnAbort) {
  if (const std::string why = lack_of(2); !why.empty()) GTEST_SKIP() << why;
  GpuWorld world{2};
  for (const std::string& error : world.run([&](Rank rank) {
         cuda::attach(world[rank], {.device = rank, .timeout = test::kAmple});
         const OwnStream stream{world.device(rank)};
         DeviceFloats data{world.memory(rank), kCount};
         Graph graph{world.device(rank), stream.get()};
         world[rank].all_reduce(data.span(), sum, {.stream = stream.get()});
         graph.end();
         if (rank == 1) return;
         world[rank].all_reduce(data.span(), sum, {.stream = stream.get()});
         const auto start = std::chrono::steady_clock::now();
         EXPECT_THROW(cuda::wait(world[rank], stream.get(), 100ms), Error);
         EXPECT_LE(std::chrono::steady_clock::now() - start, test::kLongBefore);
         EXPECT_TRUE(comes_to_an_end(world.device(rank), stream.get()));
       }))
    EXPECT_EQ(error, "");
}

}  // namespace
}  // namespace tutti::harness
