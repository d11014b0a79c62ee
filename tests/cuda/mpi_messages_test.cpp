// Messages of GPUs over an MPI, on the stand-in for the driver: no MPI sees its memory, so one that
// is not copied to the host first ends the process.
#include <deque>
#include <memory>
#include <vector>

#include <gtest/gtest.h>
#include <mpi.h>

#include <tutti/batch.hpp>
#include <tutti/cuda.hpp>
#include <tutti/mpi.hpp>

#include "device_floats.hpp"
#include "devices.hpp"
#include "tests/support/patience.hpp"

namespace tutti::harness {
namespace {

class MpiMessages : public ::testing::Test {
 protected:
  void SetUp() override {
    int level = MPI_THREAD_SINGLE;
    MPI_Query_thread(&level);
    if (level < MPI_THREAD_MULTIPLE) GTEST_SKIP() << "the MPI has no MPI_THREAD_MULTIPLE";
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    device_ = device_of(rank_);
    memory_ = std::make_shared<cuda::DeviceMemory>(
        std::make_shared<const cuda::Device>(std::make_shared<const cuda::Driver>(), device_));
  }
  int rank_ = 0;
  int device_ = 0;
  std::shared_ptr<cuda::DeviceMemory> memory_{};
};

TEST_F(MpiMessages, GiveTheRightSums) {
  Communicator world = mpi::communicator(MPI_COMM_WORLD);
  cuda::attach(world, {.device = device_, .transport = "host", .timeout = test::kAmple});
  const auto ranks = static_cast<std::size_t>(world.size());
  for (const std::size_t count : {1UL, 1000UL, 1001UL, 5'000UL, 2'000'003UL}) {
    DeviceFloats data{memory_, count};
    std::vector<float> values(count);
    std::vector<float> wanted(count);
    for (std::size_t i = 0; i < count; ++i) {
      values[i] = static_cast<float>((static_cast<std::size_t>(rank_) + 1) * (i % 7));
      wanted[i] = static_cast<float>(ranks * (ranks + 1) / 2 * (i % 7));
    }
    for (const char* const algorithm : {"ring", "direct"}) {
      data.store(values);
      world.all_reduce(data.span(), sum, {.algorithm = algorithm, .stream = Stream::own()});
      EXPECT_TRUE(data.load() == wanted) << count << " by " << algorithm;
    }
  }
}

/// Messages of one chunk and of several keep their order between two ranks.
TEST_F(MpiMessages, KeepTheirOrder) {
  Communicator world = mpi::communicator(MPI_COMM_WORLD);
  cuda::attach(world, {.device = device_, .transport = "host", .timeout = test::kAmple});
  const std::vector<std::size_t> counts{10, 5000, 1000, 1001, 300'000, 1};
  std::deque<DeviceFloats> data;
  for (const std::size_t count : counts) {
    data.emplace_back(memory_, count);
    data.back().store(std::vector<float>(count, rank_ == 0 ? static_cast<float>(count) : 0.0F));
  }
  const Options how{.stream = Stream::own()};
  batch([&] {
    for (DeviceFloats& each : data) {
      if (rank_ == 0) world.send(std::span<const float>{each.span()}, 1, 0, how);
      if (rank_ == 1) world.recv(each.span(), 0, 0, how);
    }
  });
  for (std::size_t i = 0; rank_ <= 1 && i < counts.size(); ++i)
    EXPECT_EQ(data[i].load(), std::vector<float>(counts[i], static_cast<float>(counts[i]))) << i;
  world.barrier();
}

}  // namespace
}  // namespace tutti::harness
