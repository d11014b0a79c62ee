// Memory of tutti::cuda::allocate, registered with NCCL, in calls of all kinds.
#include <gtest/gtest.h>
#include <tutti/cuda.hpp>

#include <cstdlib>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "device_floats.hpp"
#include "gpu_world.hpp"
#include "graph.hpp"
#include "tests/support/patience.hpp"

namespace tutti::harness {
namespace {

using namespace std::chrono_literals;

/// Whether NCCL's communicators block.
class RegisteredMemory : public ::testing::TestWithParam<bool> {
 protected:
  static constexpr int kRanks = 3;
  static constexpr std::size_t kMany = 30'000;

  void SetUp() override {
    if (const std::string why = lack_of(kRanks); !why.empty()) GTEST_SKIP() << why;
  }
  void run(const std::function<void(Rank, Communicator&, Stream)>& body) {
    GpuWorld world{kRanks};
    for (const std::string& error : world.run([&](Rank rank) {
           cuda::attach(world[rank],
                        {.device = rank, .timeout = test::kAmple, .nonblocking = GetParam()});
           const OwnStream stream{world.device(rank)};
           memories_[static_cast<std::size_t>(rank)] = world.memory(rank);
           devices_[static_cast<std::size_t>(rank)] = &world.device(rank);
           body(rank, world[rank], stream.get());
         }))
      EXPECT_EQ(error, "");
  }
  void store(Rank rank, const Buffer<float>& to, float value) {
    const std::vector<float> values(to.size(), value);
    memory(rank).copy(bytes_of(to), reinterpret_cast<const std::byte*>(values.data()),
                      values.size() * sizeof(float));
  }
  std::vector<float> load(Rank rank, const Buffer<float>& from) {
    std::vector<float> values(from.size());
    memory(rank).copy(reinterpret_cast<std::byte*>(values.data()), bytes_of(from),
                      values.size() * sizeof(float));
    return values;
  }
  std::shared_ptr<cuda::DeviceMemory> device_memory(Rank rank) {
    return memories_[static_cast<std::size_t>(rank)];
  }
  const cuda::Device& device(Rank rank) { return *devices_[static_cast<std::size_t>(rank)]; }

 private:
  cuda::DeviceMemory& memory(Rank rank) { return *device_memory(rank); }
  static std::byte* bytes_of(const Buffer<float>& buffer) {
    return reinterpret_cast<std::byte*>(const_cast<float*>(buffer.data()));
  }

  std::vector<std::shared_ptr<cuda::DeviceMemory>> memories_{kRanks};
  std::vector<const cuda::Device*> devices_{kRanks};
};

const std::vector<const char*> kAlgorithms{"native", "ring", "direct", "recursive_doubling"};

TEST_P(RegisteredMemory, GoesThroughSchedulesAndNcclsOwnCalls) {
  run([&](Rank rank, Communicator& world, Stream stream) {
    const Buffer<float> in = cuda::allocate<float>(world, kMany);
    Buffer<float> out = cuda::allocate<float>(world, kMany);
    store(rank, in, 1.0F);
    for (const char* const algorithm : kAlgorithms) {
      store(rank, out, 0.0F);
      world.all_reduce(std::span<const float>{in.data(), kMany}, out.span(), sum,
                       {.algorithm = algorithm, .stream = stream});
      cuda::wait(world, stream, test::kAmple);
      EXPECT_EQ(load(rank, out), std::vector<float>(kMany, kRanks)) << algorithm;
    }
    world.all_to_all(std::span<const float>{out.data(), kMany}, out.span(), {.stream = stream});
    cuda::wait(world, stream, test::kAmple);
    EXPECT_EQ(load(rank, out), std::vector<float>(kMany, kRanks));
    // Only the input, or the output, is registered.
    DeviceFloats other{device_memory(rank), kMany};
    world.all_reduce(std::span<const float>{in.data(), kMany}, other.span(), sum,
                     {.algorithm = "native", .stream = stream});
    world.all_reduce(std::span<const float>{other.span()}, out.span(), sum,
                     {.algorithm = "native", .stream = stream});
    cuda::wait(world, stream, test::kAmple);
    EXPECT_EQ(load(rank, out), std::vector<float>(kMany, kRanks * kRanks));
  });
}

/// In a graph NCCL registers memory by itself, but not scratch.
TEST_P(RegisteredMemory, GoesThroughGraphs) {
  run([&](Rank rank, Communicator& world, Stream stream) {
    Buffer<float> data = cuda::allocate<float>(world, kMany);
    const auto call = [&](const char* algorithm) {
      world.all_reduce(data.span(), sum, {.algorithm = algorithm, .stream = stream});
    };
    for (const char* const algorithm : kAlgorithms) call(algorithm);
    cuda::wait(world, stream, test::kAmple);
    Graph graph{device(rank), stream};
    for (const char* const algorithm : kAlgorithms) call(algorithm);
    world.all_to_all(std::span<const float>{data.data(), kMany}, data.span(), {.stream = stream});
    graph.end();
    for (int launch = 0; launch < 2; ++launch) {
      store(rank, data, 1.0F);
      graph.launch();
      cuda::wait(world, stream, test::kAmple);
      EXPECT_EQ(load(rank, data), std::vector<float>(kMany, kRanks * kRanks * kRanks * kRanks));
    }
  });
}

TEST_P(RegisteredMemory, MayBeDroppedByAnyThread) {
  setenv("CUDA_STANDIN_CONNECT", "at_call", 1);
  run([&](Rank rank, Communicator& world, Stream stream) {
    std::optional dropped{cuda::allocate<float>(world, kMany)};
    Buffer<float> kept = cuda::allocate<float>(world, kMany);
    store(rank, kept, 1.0F);
    std::thread other;
    if (rank == 0)
      other = std::thread{[&] {
        std::this_thread::sleep_for(50ms);
        dropped.reset();
      }};
    else std::this_thread::sleep_for(200ms);  // in which the first rank waits
    for (int round = 0; round < 2; ++round)
      world.all_reduce(kept.span(), sum, {.algorithm = "native", .stream = stream});
    cuda::wait(world, stream, test::kAmple);
    EXPECT_EQ(load(rank, kept), std::vector<float>(kMany, kRanks * kRanks));
    if (other.joinable()) other.join();
  });
  unsetenv("CUDA_STANDIN_CONNECT");
}

TEST_P(RegisteredMemory, EndsWithTheCallAfterItIsDropped) {
  run([&](Rank, Communicator& world, Stream stream) {
    std::optional dropped{cuda::allocate<float>(world, kMany)};
    Buffer<float> kept = cuda::allocate<float>(world, kMany);
    const float* const data = dropped->data();
    dropped.reset();
    EXPECT_TRUE(streams_of(world)->is_on_device(data));
    world.all_reduce(kept.span(), sum, {.algorithm = "native", .stream = stream});
    EXPECT_FALSE(streams_of(world)->is_on_device(data));
    cuda::wait(world, stream, test::kAmple);
  });
}

INSTANTIATE_TEST_SUITE_P(Modes, RegisteredMemory, ::testing::Bool(), [](const auto& one) {
  return std::string{one.param ? "nonblocking" : "blocking"};
});

}  // namespace
}  // namespace tutti::harness
