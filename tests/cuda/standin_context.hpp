/// @file
/// What tests of the stand-in for the CUDA driver share: a context with a stream and memory.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <latch>
#include <vector>

#include <cuda.h>
#include <gtest/gtest.h>

#include <tutti/types.hpp>
#include "backends/cuda/kernel_work.hpp"

namespace tutti::standin {

inline constexpr std::size_t kCount = 1000;
inline constexpr std::size_t kBytes = kCount * sizeof(float);

inline CUdeviceptr address_of(const void* pointer) {
  return reinterpret_cast<CUdeviceptr>(pointer);
}

/// Holds a stream back until it is opened.
class Gate {
 public:
  void close(CUstream stream) { EXPECT_EQ(cuLaunchHostFunc(stream, &wait, this), CUDA_SUCCESS); }
  void open() { opened_.count_down(); }

 private:
  static void wait(void* gate) { static_cast<Gate*>(gate)->opened_.wait(); }

  std::latch opened_{1};
};

class CudaStandin : public ::testing::Test {
 protected:
  void SetUp() override {
    ::testing::GTEST_FLAG(death_test_style) = "threadsafe";
    ASSERT_EQ(cuInit(0), CUDA_SUCCESS);
    ASSERT_EQ(cuDevicePrimaryCtxRetain(&context_, 0), CUDA_SUCCESS);
    ASSERT_EQ(cuCtxSetCurrent(context_), CUDA_SUCCESS);
    ASSERT_EQ(cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    ASSERT_EQ(cuMemAlloc(&memory_, kBytes), CUDA_SUCCESS);
    void* pinned = nullptr;
    ASSERT_EQ(cuMemHostAlloc(&pinned, 2 * kBytes, 0), CUDA_SUCCESS);
    pinned_ = static_cast<float*>(pinned);
    std::fill_n(pinned_, 2 * kCount, 0.0F);
  }
  void TearDown() override {
    cuMemFreeHost(pinned_);
    cuMemFree(memory_);
    cuStreamDestroy(stream_);
    EXPECT_EQ(cuDevicePrimaryCtxRelease(0), CUDA_SUCCESS);
  }

  /// What the device's memory holds.
  std::vector<float> read(CUdeviceptr from) {
    std::vector<float> values(kCount);
    EXPECT_EQ(cuMemcpyAsync(address_of(values.data()), from, kBytes, stream_), CUDA_SUCCESS);
    EXPECT_EQ(cuStreamSynchronize(stream_), CUDA_SUCCESS);
    return values;
  }

  /// Device memory full of a value.
  CUdeviceptr filled(float value) {
    CUdeviceptr memory = 0;
    const std::vector<float> values(kCount, value);
    EXPECT_EQ(cuMemAlloc(&memory, kBytes), CUDA_SUCCESS);
    EXPECT_EQ(cuMemcpyAsync(memory, address_of(values.data()), kBytes, stream_), CUDA_SUCCESS);
    EXPECT_EQ(cuStreamSynchronize(stream_), CUDA_SUCCESS);
    return memory;
  }

  /// Expects that the context has failed, and that no call hides it.
  void expect_illegal_address() {
    CUdeviceptr memory = 0;
    EXPECT_EQ(cuStreamSynchronize(stream_), CUDA_ERROR_ILLEGAL_ADDRESS);
    EXPECT_EQ(cuStreamQuery(stream_), CUDA_ERROR_ILLEGAL_ADDRESS);
    EXPECT_EQ(cuMemAlloc(&memory, kBytes), CUDA_ERROR_ILLEGAL_ADDRESS);
    EXPECT_EQ(cuMemsetD8Async(memory_, 0, 1, nullptr), CUDA_ERROR_ILLEGAL_ADDRESS);
  }

  CUresult copy_out(CUdeviceptr from, std::size_t bytes) {
    return cuMemcpyAsync(address_of(pinned_), from, bytes, stream_);
  }

  CUcontext context_ = nullptr;
  CUstream stream_ = nullptr;
  CUdeviceptr memory_ = 0;
  float* pinned_ = nullptr;  ///< 2 * kCount, full of zeros.
};

/// The same with a kernel and what it folds.
class CudaStandinKernels : public CudaStandin {
 protected:
  void SetUp() override {
    CudaStandin::SetUp();
    ASSERT_EQ(cuModuleLoadData(&module_, "image"), CUDA_SUCCESS);
    ASSERT_EQ(cuModuleGetFunction(&kernel_, module_, "tutti_fold_f32"), CUDA_SUCCESS);
    for (int i = 0; i < 2; ++i) operands_.push_back(filled(static_cast<float>(i + 1)));
  }
  void TearDown() override {
    for (const CUdeviceptr memory : operands_) cuMemFree(memory);
    cuModuleUnload(module_);
    CudaStandin::TearDown();
  }

  /// The sum of both operands.
  cuda::KernelWork sum_into(CUdeviceptr result) const {
    cuda::KernelWork work{.op = static_cast<std::uint32_t>(OperatorKind::sum),
                          .operands = 2,
                          .results = 1,
                          .count = kCount};
    const std::array places{operands_[0], operands_[1], result};
    for (std::size_t i = 0; i < places.size(); ++i)
      work.addresses[i] = reinterpret_cast<void*>(places[i]);
    return work;
  }

  CUresult launch(cuda::KernelWork work) {
    std::array<void*, 1> parameters{&work};
    return cuLaunchKernel(kernel_, 2, 1, 1, 64, 1, 1, 0, stream_, parameters.data(), nullptr);
  }

  CUmodule module_ = nullptr;
  CUfunction kernel_ = nullptr;
  std::vector<CUdeviceptr> operands_;
};

}  // namespace tutti::standin
