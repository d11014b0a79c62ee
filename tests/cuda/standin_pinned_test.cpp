// Pinned memory, and copies from and to it, in the stand-in for the CUDA driver.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <numeric>
#include <thread>

#include <sys/mman.h>

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

TEST_F(CudaStandinPinned, TheHostWaitsForCopiesWithinItsMemory) {
  std::ranges::copy(counted(), pinned_);
  expect_waits(pinned_ + kCount, pinned_);
  EXPECT_EQ(pinned_[kCount], 1.0F);
}

TEST_F(CudaStandinPinned, ACopyThatFailsIsWaitedForAsWell) {
  std::vector<float> values(kCount);
  EXPECT_EQ(cuMemcpyAsync(address_of(values.data()), memory_ + 1, kBytes, stream_),
            CUDA_ERROR_ILLEGAL_ADDRESS);
  expect_illegal_address();
}

TEST_F(CudaStandinPinned, IsKnown) {
  const CUdeviceptr inside = address_of(pinned_ + 1);
  const Known known = known_of(inside);
  EXPECT_EQ(known.type, CU_MEMORYTYPE_HOST);
  EXPECT_EQ(known.on_device, inside);
  EXPECT_EQ(known.on_host, pinned_ + 1);
  EXPECT_EQ(known.start, pinned_);
  EXPECT_EQ(known.bytes, 2 * kBytes);
  unsigned type = 0;
  const int local = 0;
  EXPECT_EQ(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, inside), CUDA_SUCCESS);
  EXPECT_EQ(type, CU_MEMORYTYPE_HOST);
  EXPECT_EQ(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address_of(&local)),
            CUDA_ERROR_INVALID_VALUE);
  CUdeviceptr address = 0;
  EXPECT_EQ(cuMemHostGetDevicePointer(&address, pinned_ + 1, 0), CUDA_SUCCESS);
  EXPECT_EQ(address, inside);
  EXPECT_EQ(cuMemHostGetDevicePointer(&address, pinned_, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemHostGetDevicePointer(&address, &type, 0), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(CudaStandinKernels, MemoryMayBePinnedAfterwards) {
  std::vector<float> values(kCount);
  EXPECT_EQ(cuMemHostRegister(values.data(), kBytes, CU_MEMHOSTREGISTER_PORTABLE), CUDA_SUCCESS);
  EXPECT_EQ(known_of(address_of(values.data())).type, CU_MEMORYTYPE_HOST);
  EXPECT_EQ(launch(sum_into(address_of(values.data()))), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(stream_), CUDA_SUCCESS);
  EXPECT_EQ(values, std::vector<float>(kCount, 3.0F));
  EXPECT_EQ(cuMemHostUnregister(values.data()), CUDA_SUCCESS);
  EXPECT_EQ(known_of(address_of(values.data())).type, 0U);
  EXPECT_EQ(launch(sum_into(address_of(values.data()))), CUDA_SUCCESS);
  expect_illegal_address();
}

TEST_F(CudaStandinPinned, WhatCannotBePinnedIsRefused) {
  std::vector<float> values(kCount);
  const auto pin = [](const void* start, std::size_t bytes, unsigned flags = 0) {
    return cuMemHostRegister(const_cast<void*>(start), bytes, flags);
  };
  EXPECT_EQ(pin(values.data() + 10, 40), CUDA_SUCCESS);
  constexpr CUresult kAlready = CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
  EXPECT_EQ(pin(values.data(), kBytes), kAlready);
  EXPECT_EQ(pin(values.data() + 19, 8), kAlready);
  EXPECT_EQ(pin(pinned_, 8), kAlready);
  EXPECT_EQ(pin(values.data() + 20, 8), CUDA_SUCCESS);
  EXPECT_EQ(pin(values.data(), 40), CUDA_SUCCESS);
  EXPECT_EQ(pin(nullptr, 8), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(pin(values.data() + 30, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(pin(values.data() + 30, 8, 0x10), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(pin(values.data() + 30, 8, CU_MEMHOSTREGISTER_IOMEMORY), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(pin(device(), 8), CUDA_ERROR_INVALID_VALUE);
  constexpr std::size_t kPages = 8192;
  void* const gone = mmap(nullptr, kPages, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  munmap(gone, kPages);
  EXPECT_EQ(pin(gone, kPages), CUDA_ERROR_INVALID_VALUE);
  constexpr CUresult kNot = CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
  EXPECT_EQ(cuMemHostUnregister(pinned_), kNot);
  EXPECT_EQ(cuMemHostUnregister(values.data() + 11), kNot);
  EXPECT_EQ(cuMemFreeHost(values.data()), CUDA_ERROR_INVALID_VALUE);
  for (const int at : {0, 10, 20}) EXPECT_EQ(cuMemHostUnregister(values.data() + at), CUDA_SUCCESS);
  EXPECT_EQ(cuMemHostUnregister(values.data()), kNot);
}

}  // namespace
}  // namespace tutti::standin
