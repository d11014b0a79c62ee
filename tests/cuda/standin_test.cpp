// The stand-in for the CUDA driver: whether it finds faults that a GPU would hide or punish. Tests
// of the backend, which run on it, test its results.
#include <algorithm>
#include <cstring>

#include <sys/wait.h>
#include <unistd.h>

#include "tests/cuda/standin_context.hpp"

namespace tutti::standin {
namespace {

TEST_F(CudaStandin, FreshMemoryHoldsNoZeros) {
  std::array<unsigned char, sizeof(float)> expected{};
  expected.fill(0xA5);
  const std::vector<float> values = read(memory_);
  EXPECT_EQ(std::memcmp(values.data(), expected.data(), sizeof(float)), 0);
  EXPECT_EQ(std::memcmp(&values.back(), expected.data(), sizeof(float)), 0);
}

TEST_F(CudaStandin, AStreamKeepsItsOrderAndNobodyWaits) {
  Gate gate;
  gate.close(stream_);
  std::vector<float> sent(kCount, 1.0F);
  EXPECT_EQ(cuMemsetD8Async(memory_, 0xFF, kBytes, stream_), CUDA_SUCCESS);
  EXPECT_EQ(cuMemcpyAsync(memory_, address_of(sent.data()), kBytes, stream_), CUDA_SUCCESS);
  EXPECT_EQ(cuMemsetD8Async(memory_, 0, kBytes / 2, stream_), CUDA_SUCCESS);
  EXPECT_EQ(copy_out(memory_, kBytes), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamQuery(stream_), CUDA_ERROR_NOT_READY);
  gate.open();
  EXPECT_EQ(cuStreamSynchronize(stream_), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamQuery(stream_), CUDA_SUCCESS);
  std::vector<float> expected(kCount, 1.0F);
  std::fill_n(expected.begin(), kCount / 2, 0.0F);
  EXPECT_EQ(std::vector<float>(pinned_, pinned_ + kCount), expected);
}

TEST_F(CudaStandin, AStreamIsIdleOnceItsLastEventIsDone) {
  CUevent event = nullptr;
  EXPECT_EQ(cuEventCreate(&event, CU_EVENT_DEFAULT), CUDA_SUCCESS);
  for (int round = 0; round < 10'000; ++round) {
    EXPECT_EQ(cuEventRecord(event, stream_), CUDA_SUCCESS);
    while (cuEventQuery(event) == CUDA_ERROR_NOT_READY) {
    }
    ASSERT_EQ(cuStreamQuery(stream_), CUDA_SUCCESS) << "in round " << round;
  }
  EXPECT_EQ(cuEventDestroy(event), CUDA_SUCCESS);
}

TEST_F(CudaStandin, AHostFunctionMayNotCallTheDriver) {
  CUresult result = CUDA_SUCCESS;
  const auto query = [](void* to) { *static_cast<CUresult*>(to) = cuStreamQuery(nullptr); };
  EXPECT_EQ(cuLaunchHostFunc(stream_, query, &result), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(stream_), CUDA_SUCCESS);
  EXPECT_EQ(result, CUDA_ERROR_NOT_PERMITTED);
}

TEST_F(CudaStandin, TheHostCannotTouchDeviceMemory) {
  const auto* const memory = reinterpret_cast<const volatile char*>(memory_);
  EXPECT_DEATH(static_cast<void>(*memory), "");
}

TEST_F(CudaStandin, OneByteTooManyFailsTheContext) {
  EXPECT_EQ(copy_out(memory_, kBytes + 1), CUDA_SUCCESS);
  expect_illegal_address();
}

TEST_F(CudaStandin, FreedMemoryMayNotBeAccessed) {
  CUdeviceptr freed = 0;
  EXPECT_EQ(cuMemAlloc(&freed, kBytes), CUDA_SUCCESS);
  EXPECT_EQ(cuMemFree(freed), CUDA_SUCCESS);
  EXPECT_EQ(cuMemFree(freed), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(copy_out(freed, 1), CUDA_SUCCESS);
  expect_illegal_address();
}

TEST_F(CudaStandin, AFailedContextDoesNothingMore) {
  bool called = false;
  EXPECT_EQ(copy_out(memory_ + kBytes, 1), CUDA_SUCCESS);
  while (cuStreamQuery(stream_) == CUDA_ERROR_NOT_READY) {
  }
  const auto tell = [](void* to) { *static_cast<bool*>(to) = true; };
  EXPECT_EQ(cuLaunchHostFunc(stream_, tell, &called), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_FALSE(called);
}

TEST_F(CudaStandin, MemoryOfAStreamLivesInItsOrder) {
  Gate gate;
  CUdeviceptr memory = 0;
  gate.close(stream_);
  EXPECT_EQ(cuMemAllocAsync(&memory, kBytes, stream_), CUDA_SUCCESS);
  EXPECT_EQ(cuMemsetD8Async(memory, 0, kBytes, stream_), CUDA_SUCCESS);
  EXPECT_EQ(cuMemFreeAsync(memory, stream_), CUDA_SUCCESS);
  EXPECT_EQ(cuMemFreeAsync(memory, stream_), CUDA_ERROR_INVALID_VALUE);
  gate.open();
  EXPECT_EQ(cuStreamSynchronize(stream_), CUDA_SUCCESS);
  EXPECT_EQ(cuMemsetD8Async(memory, 0, kBytes, stream_), CUDA_SUCCESS);
  expect_illegal_address();
}

TEST_F(CudaStandinKernels, PinnedMemoryIsSeenAndOtherMemoryIsNot) {
  void* pinned = nullptr;
  EXPECT_EQ(cuMemHostAlloc(&pinned, kBytes, 0), CUDA_SUCCESS);
  EXPECT_EQ(launch(sum_into(address_of(pinned))), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(stream_), CUDA_SUCCESS);
  EXPECT_EQ(static_cast<float*>(pinned)[kCount - 1], 3.0F);
  EXPECT_EQ(cuMemFreeHost(pinned), CUDA_SUCCESS);
  std::vector<float> local(kCount);
  EXPECT_EQ(launch(sum_into(address_of(local.data()))), CUDA_SUCCESS);
  expect_illegal_address();
}

TEST_F(CudaStandinKernels, AnOperandThatIsTooShortFailsTheContext) {
  EXPECT_EQ(launch(sum_into(memory_ + sizeof(float))), CUDA_SUCCESS);
  expect_illegal_address();
}

TEST_F(CudaStandin, WhatIsNoHandleIsRefused) {
  CUevent event = nullptr;
  EXPECT_EQ(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamQuery(reinterpret_cast<CUstream>(event)), CUDA_ERROR_INVALID_HANDLE);
  float milliseconds = 0;
  EXPECT_EQ(cuEventElapsedTime(&milliseconds, event, event), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuEventDestroy(event), CUDA_SUCCESS);
  EXPECT_EQ(cuEventDestroy(event), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuEventRecord(event, stream_), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuStreamCreate(nullptr, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuStreamDestroy(nullptr), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuMemFree(0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemFree(memory_ + 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemcpyAsync(memory_, 0, 1, stream_), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuCtxSetCurrent(reinterpret_cast<CUcontext>(&event)), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(cuCtxSetCurrent(nullptr), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamQuery(stream_), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(cuCtxSetCurrent(context_), CUDA_SUCCESS);
}

TEST_F(CudaStandin, AForkedProcessHasNoDriver) {
  const pid_t child = fork();
  if (child == 0) _exit(cuInit(0) == CUDA_ERROR_NOT_INITIALIZED ? 0 : 1);
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace tutti::standin
