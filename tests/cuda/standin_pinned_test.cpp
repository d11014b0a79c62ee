// Pinned memory, and copies from and to it, in the stand-in for the CUDA driver.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <numeric>
#include <thread>

#include "tests/cuda/standin_context.hpp"

namespace tutti::standin {
namespace {

std::vector<float> counted() {
  std::vector<float> values(kCount);
  std::iota(values.begin(), values.end(), 1.0F);
  return values;
}

class CudaStandinPinned : public CudaStandin {
 protected:
  CUresult copy(const void* to, const void* from) {
    return cuMemcpyAsync(address_of(to), address_of(from), kBytes, stream_);
  }
  const void* device() const { return reinterpret_cast<const void*>(memory_); }

  /// Expects that a copy does not return before the gate opens, which it needs another thread for.
  void expect_waits(const void* to, const void* from) {
    Gate gate;
    gate.close(stream_);
    std::atomic<bool> opened{false};
    std::thread opener{[&] {
      std::this_thread::sleep_for(std::chrono::milliseconds{20});
      opened = true;
      gate.open();
    }};
    EXPECT_EQ(copy(to, from), CUDA_SUCCESS);
    EXPECT_TRUE(opened);
    opener.join();
  }
};

TEST_F(CudaStandinPinned, CopiesGoBothWaysAndNobodyWaits) {
  const std::vector<float> values = counted();
  float* const second = pinned_ + kCount;
  Gate gate;
  gate.close(stream_);
  EXPECT_EQ(copy(device(), pinned_), CUDA_SUCCESS);
  EXPECT_EQ(copy(second, device()), CUDA_SUCCESS);
  std::ranges::copy(values, pinned_);  // it is read when the stream gets there
  gate.open();
  EXPECT_EQ(cuStreamSynchronize(stream_), CUDA_SUCCESS);
  EXPECT_EQ(std::vector<float>(second, second + kCount), values);
}

TEST_F(CudaStandinPinned, OtherMemoryIsReadBeforeTheCallReturns) {
  std::vector<float> values = counted();
  Gate gate;
  gate.close(stream_);
  EXPECT_EQ(copy(device(), values.data()), CUDA_SUCCESS);
  std::ranges::fill(values, 0.0F);
  gate.open();
  EXPECT_EQ(read(memory_), counted());
}

TEST_F(CudaStandinPinned, TheHostWaitsForOtherMemoryToBeWritten) {
  std::vector<float> values(kCount);
  EXPECT_EQ(copy(device(), counted().data()), CUDA_SUCCESS);
  expect_waits(values.data(), device());
  EXPECT_EQ(values, counted());
}

}  // namespace
}  // namespace tutti::standin
