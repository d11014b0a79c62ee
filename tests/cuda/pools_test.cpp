// The pool in which calls on streams have their scratch, on the stand-ins for the driver and NCCL.
#include <array>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <tutti/cuda.hpp>
#include <tutti/spi/communicator.hpp>

#include "device_floats.hpp"
#include "gpu_world.hpp"
#include "tests/support/patience.hpp"

namespace tutti::harness {
namespace {

using namespace std::chrono_literals;

class GpuPools : public ::testing::TestWithParam<const char*> {
 protected:
  static cuda::AttachOptions options(Rank rank) {
    return {.device = rank, .transport = GetParam(), .timeout = test::kAmple};
  }
};

/// Two communicators of one GPU, on two streams, which the ranks call in opposite orders: no
/// scratch of one may wait for that of the other.
TEST_P(GpuPools, LetCommunicatorsRunInOppositeOrders) {
  if (const std::string why = lack_of(2); !why.empty()) GTEST_SKIP() << why;
  GpuWorld world{2};
  for (const std::string& error : world.run([&](Rank rank) {
         constexpr std::size_t kCount = 10'000;
         cuda::attach(world[rank], options(rank));
         Communicator second = world[rank].split(0);
         const std::array<Communicator*, 2> both{&world[rank], &second};
         const std::array<OwnStream, 2> streams{OwnStream{world.device(rank)},
                                                OwnStream{world.device(rank)}};
         std::array<DeviceFloats, 2> data{DeviceFloats{world.memory(rank), kCount},
                                          DeviceFloats{world.memory(rank), kCount}};
         for (DeviceFloats& each : data) each.store(std::vector<float>(kCount, 1.0F));
         const auto call = [&](std::size_t which) {
           both[which]->all_reduce(
               data[which].span(), sum,
               {.algorithm = "recursive_doubling", .stream = streams[which].get()});
         };
         for (const std::size_t which : {0U, 1U}) {
           call(which);
           cuda::wait(*both[which], streams[which].get(), test::kAmple);
         }
         world[rank].barrier();
         for (const std::size_t which : {0U, 1U}) call(rank == 0 ? which : 1 - which);
         for (const std::size_t which : {0U, 1U})
           cuda::wait(*both[which], streams[which].get(), 5s);
         for (const DeviceFloats& each : data)
           EXPECT_EQ(each.load(), std::vector<float>(kCount, 4.0F));
       }))
    EXPECT_EQ(error, "");
}

/// NCCL reads scratch of another GPU of the process where it lies.
TEST_P(GpuPools, AreOpenToGpusOfTheirProcess) {
  if (GetParam() != std::string{"nccl"}) GTEST_SKIP() << "over the host no GPU reads another one's";
  if (const std::string why = lack_of(2); !why.empty()) GTEST_SKIP() << why;
  GpuWorld world{2};
  std::array<std::byte*, 2> scratch{};
  for (const std::string& error : world.run([&](Rank rank) {
         constexpr std::size_t kCount = 1000;
         constexpr std::size_t kBytes = kCount * sizeof(float);
         cuda::attach(world[rank], options(rank));
         const OwnStream stream{world.device(rank)};
         scratch[static_cast<std::size_t>(rank)] =
             streams_of(world[rank])->allocate(kBytes, stream.get());
         DeviceFloats own{world.memory(rank), kCount};
         own.store(std::vector<float>(kCount, static_cast<float>(rank + 1)));
         world.memory(rank)->wait(stream.get().handle());
         world.memory(rank)->copy(scratch[static_cast<std::size_t>(rank)],
                                  reinterpret_cast<const std::byte*>(own.span().data()), kBytes);
         world[rank].barrier();
         const std::array<const void*, 2> operands{scratch[0], scratch[1]};
         world.memory(rank)->fold({.type = Datatype::f32,
                                   .element_bytes = sizeof(float),
                                   .op = &sum,
                                   .destination = own.span().data(),
                                   .operands = operands,
                                   .count = kCount});
         EXPECT_EQ(own.load(), std::vector<float>(kCount, 3.0F));
         world[rank].barrier();
         streams_of(world[rank])->deallocate(scratch[static_cast<std::size_t>(rank)], stream.get());
       }))
    EXPECT_EQ(error, "");
}

/// The stand-in for NCCL accepts scratch until its stream has freed it, and no longer.
TEST_P(GpuPools, AreNotUsedAfterTheFree) {
  if (GetParam() != std::string{"nccl"}) GTEST_SKIP() << "the stand-in for NCCL checks it";
  if (const std::string why = lack_of(2); !why.empty()) GTEST_SKIP() << why;
  GpuWorld world{2};
  const auto errors = world.run([&](Rank rank) {
    constexpr std::size_t kBytes = 1000;
    cuda::attach(world[rank], options(rank));
    const OwnStream stream{world.device(rank)};
    StreamTransport& streams = *streams_of(world[rank]);
    std::byte* const scratch = streams.allocate(2 * kBytes, stream.get());
    const std::array<StreamMessage, 2> messages{
        StreamMessage{Transfer::Kind::send, 1 - rank, scratch, kBytes},
        StreamMessage{Transfer::Kind::recv, 1 - rank, scratch + kBytes, kBytes}};
    const auto exchange = [&] {
      streams.exchange(messages, stream.get());
      cuda::wait(world[rank], stream.get(), test::kAmple);
    };
    EXPECT_NO_THROW(exchange());
    // The other rank's failure must not end this rank's first exchange; it may end the barrier.
    const Result<void> barrier = world[rank].try_().barrier();
    streams.deallocate(scratch, stream.get());
    if (!barrier) throw Error{barrier.error()};
    exchange();
  });
  const auto is_found = [](const std::string& error) {
    return error.find("a buffer does not lie in memory that was allocated") != std::string::npos;
  };
  EXPECT_TRUE(is_found(errors[0]) || is_found(errors[1])) << errors[0] << "\n" << errors[1];
}

INSTANTIATE_TEST_SUITE_P(Transports, GpuPools, ::testing::Values("nccl", "host"),
                         [](const auto& one) { return std::string{one.param}; });

/// A pool gives back the memory that it keeps, where another allocation needs it.
TEST(GpuPool, GivesBackWhatItHoldsWhereMemoryIsShort) {
  if (const std::string why = lack_of(1); !why.empty()) GTEST_SKIP() << why;
  const auto device =
      std::make_shared<const cuda::Device>(std::make_shared<const cuda::Driver>(), 0);
  std::size_t bytes = 0;
  device->driver().check(device->driver().calls().device_memory(&bytes, 0), "ask for its memory");
  bytes = bytes / 2 + (std::size_t{1} << 20U);
  const OwnStream stream{*device};
  const cuda::Device::Current current{*device};
  auto* const handle = static_cast<CUstream>(stream.get().handle());
  device->free(device->allocate(bytes, handle), handle);
  cuda::DeviceMemory memory{device};
  memory.wait(handle);
  std::byte* const other = memory.allocate(bytes);
  EXPECT_THROW(static_cast<void>(memory.allocate(bytes)), std::bad_alloc);
  memory.deallocate(other, bytes);
}

}  // namespace
}  // namespace tutti::harness
