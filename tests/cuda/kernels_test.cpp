// How kernels are loaded and launched, on the stand-in for the driver; others say nothing of it.
#include <array>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "backends/cuda/enqueue.hpp"
#include "device_memory.hpp"
#include "tests/cuda/standin/hooks.hpp"

namespace tutti::cuda {
namespace {

class KernelsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    threads_ = library_.optional("tutti_standin_threads");
    calls_ = library_.optional("tutti_standin_calls");
    if (threads_ == nullptr || calls_ == nullptr)
      GTEST_SKIP() << "only the stand-in says how kernels are launched";
  }
  /// @return threads of a fold's launch.
  std::size_t threads_of(std::size_t count) {
    DeviceMemory memory{device_};
    const std::size_t bytes = count * sizeof(float);
    std::byte* const data = memory.allocate(2 * bytes);
    const std::array<const void*, 2> operands{data, data + bytes};
    memory.fold({.type = Datatype::f32,
                 .op = &sum,
                 .destination = data,
                 .operands = operands,
                 .count = count});
    memory.deallocate(data, 2 * bytes);
    return threads_();
  }

  Library library_{"libcuda.so.1"};
  decltype(&tutti_standin_threads) threads_ = nullptr;
  decltype(&tutti_standin_calls) calls_ = nullptr;
  std::shared_ptr<const Driver> driver_ = std::make_shared<const Driver>();
  std::shared_ptr<const Device> device_ = std::make_shared<const Device>(driver_, 0);
};

// The stand-in has two processors, of which each runs five blocks of 256 threads at once.
TEST_F(KernelsTest, RunAsManyBlocksAsFitAtOnce) {
  EXPECT_EQ(threads_of(4), 256U);
  EXPECT_EQ(threads_of(4 * 257), 512U);
  EXPECT_EQ(threads_of(std::size_t{1} << 20U), 2U * 5 * 256);
}

TEST_F(KernelsTest, InspectWithTheSameThreadsOnEveryGpu) {
  DeviceMemory memory{device_};
  const std::size_t bytes = kInspectors * sizeof(Inspected);
  std::byte* const sums = memory.allocate(bytes);
  const Device::Current current{*device_};
  const OwnedStream stream = device_->make_stream();
  device_->launch(Inspection{.type = Datatype::f32,
                             .count = 1,
                             .data = sums,
                             .sums = reinterpret_cast<Inspected*>(sums)},
                  stream.get());
  EXPECT_EQ(threads_(), kInspectors);
  EXPECT_EQ(driver_->calls().synchronize(stream.get()), CUDA_SUCCESS);
  memory.deallocate(sums, bytes);
}

TEST_F(KernelsTest, AreLoadedOnceForAllUsersOfADevice) {
  const std::size_t loaded = calls_("cuModuleLoadData");
  const std::size_t asked = calls_("cuOccupancyMaxActiveBlocksPerMultiprocessor");
  EXPECT_EQ(asked, loaded * static_cast<std::size_t>(kDatatypes - 1 + 2));
  std::vector<std::thread> users;
  for (int user = 0; user < 4; ++user)
    users.emplace_back([&] {
      const Device again{std::make_shared<const Driver>(), 0};
      EXPECT_EQ(again.ordinal(), 0);
    });
  for (std::thread& user : users) user.join();
  EXPECT_EQ(calls_("cuModuleLoadData"), loaded);
  EXPECT_GT(threads_of(10), 0U);
  device_.reset();
  EXPECT_EQ(calls_("cuModuleUnload"), loaded);
  const Device later{driver_, 0};
  EXPECT_EQ(calls_("cuModuleLoadData"), loaded + 1);
}

TEST_F(KernelsTest, OfAnotherDeviceAreOthers) {
  if (driver_->devices() < 2) GTEST_SKIP() << "one GPU";
  const std::size_t loaded = calls_("cuModuleLoadData");
  const Device other{driver_, 1};
  EXPECT_EQ(calls_("cuModuleLoadData"), loaded + 1);
}

}  // namespace
}  // namespace tutti::cuda
