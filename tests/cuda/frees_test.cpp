// Memory that is freed while calls over the host are pending: the driver's frees wait for all
// streams, and meanwhile hold up every thread that enqueues something.
#include <chrono>
#include <functional>
#include <latch>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <tutti/cuda.hpp>
#include <tutti/cuda_array.hpp>

#include "device_floats.hpp"
#include "host_world.hpp"
#include "tests/support/patience.hpp"

namespace tutti::harness {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kLength = 1'000'000;

/// Rank 0 does something while its call waits for rank 1.
void while_pending(GpuWorld& world, const std::function<void()>& prepare,
                   const std::function<void()>& act) {
  std::latch is_pending{2};
  for (const std::string& error : world.run([&](Rank rank) {
         attach_by_host(world, rank);
         const OwnStream stream{world.device(rank)};
         DeviceFloats data{world.memory(rank), kLength};
         data.store(numbers_of(rank, kLength));
         if (rank == 0) prepare();
         if (rank == 1) is_pending.arrive_and_wait();
         if (rank == 1) std::this_thread::sleep_for(50ms);  // rank 0 acts
         world[rank].all_reduce(data.span(), sum, {.algorithm = "ring", .stream = stream.get()});
         if (rank == 0) is_pending.arrive_and_wait();
         if (rank == 0) act();
         cuda::wait(world[rank], stream.get(), test::kAmple);
         std::vector<float> sums = numbers_of(0, kLength);
         const std::vector<float> others = numbers_of(1, kLength);
         for (std::size_t i = 0; i < kLength; ++i) sums[i] += others[i];
         EXPECT_EQ(data.load(), sums);
       }))
    EXPECT_EQ(error, "");
}

TEST(FreesWhileCallsArePending, OfBuffersDoNotHoldThemUp) {
  if (const std::string why = lack_of(1); !why.empty()) GTEST_SKIP() << why;
  GpuWorld world{2};
  std::optional<Buffer<float>> buffer;
  while_pending(
      world, [&] { buffer.emplace(cuda::allocate<float>(world[0], kLength)); },
      [&] { buffer.reset(); });
}

TEST(FreesWhileCallsArePending, OfArraysDoNotHoldThemUp) {
  if (const std::string why = lack_of(1); !why.empty()) GTEST_SKIP() << why;
  GpuWorld world{2};
  std::optional<cuda::Array<float>> array;
  while_pending(
      world,
      [&] {
        const cuda::Device::Current current{world.device(0)};
        array.emplace(kLength);
      },
      [&] { array.reset(); });
}

TEST(FreesWhileCallsArePending, OfCommunicatorsDoNotHoldThemUp) {
  if (const std::string why = lack_of(1); !why.empty()) GTEST_SKIP() << why;
  GpuWorld world{2};
  GpuWorld other{1};
  while_pending(
      world,
      [&] { cuda::attach(other[0], {.device = world.device(0).ordinal(), .transport = "host"}); },
      [&] { other.end(0); });
}

/// The program's own cudaFree is an error at the deadline, and does not hang. @param call a number
/// of calls on the stream, of which rank 1 takes part in only after rank 0 has begun to free.
void end_by_the_deadline(const std::function<void(Communicator&, std::span<float>, Stream)>& call) {
  GpuWorld world{2};
  std::latch is_pending{2};
  const auto errors = world.run([&](Rank rank) {
    attach_by_host(world, rank, 1s);
    const OwnStream stream{world.device(rank)};
    DeviceFloats data{world.memory(rank), kLength};
    const cuda::Device::Current current{world.device(rank)};
    const cuda::DriverCalls& calls = world.device(rank).driver().calls();
    CUdeviceptr own = 0;
    world.device(rank).driver().check(calls.allocate_now(&own, 100), "allocate");
    if (rank == 1) is_pending.arrive_and_wait();
    if (rank == 1) std::this_thread::sleep_for(100ms);  // rank 0 is in cuMemFree
    call(world[rank], data.span(), stream.get());
    if (rank == 0) is_pending.arrive_and_wait();
    EXPECT_EQ(calls.free_now(own), CUDA_SUCCESS);
    cuda::wait(world[rank], stream.get(), test::kAmple);
  });
  EXPECT_NE(errors[0].find("the driver holds up the thread of tutti"), std::string::npos)
      << errors[0];
  EXPECT_NE(errors[1], "");
}

TEST(FreesWhileCallsArePending, OfTheProgramEndByTheDeadline) {
  if (const std::string why = lack_of(2); !why.empty()) GTEST_SKIP() << why;
  end_by_the_deadline([](Communicator& world, std::span<float> data, Stream stream) {
    world.all_reduce(data, sum, {.algorithm = "ring", .stream = stream});
  });
}

/// Rank 0 has copied its first message, and has only to destroy an event before the next call.
TEST(FreesWhileCallsArePending, OfTheProgramEndByTheDeadlineBetweenCalls) {
  if (const std::string why = lack_of(2); !why.empty()) GTEST_SKIP() << why;
  end_by_the_deadline([](Communicator& world, std::span<float> data, Stream stream) {
    const std::span<float> few = data.first(50'000);
    world.broadcast(few, 0, {.stream = stream});
    std::this_thread::sleep_for(100ms);
    world.broadcast(few, 1, {.stream = stream});
  });
}

}  // namespace
}  // namespace tutti::harness
