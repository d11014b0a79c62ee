// The stand-in for the CUDA driver: whether it does what tests of the backend rely on.
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

TEST_F(CudaStandin, AnEventOrdersTwoStreams) {
  CUstream other = nullptr;
  std::array<CUevent, 2> events{};
  EXPECT_EQ(cuStreamCreate(&other, CU_STREAM_DEFAULT), CUDA_SUCCESS);
  for (CUevent& event : events) EXPECT_EQ(cuEventCreate(&event, CU_EVENT_DEFAULT), CUDA_SUCCESS);
  EXPECT_EQ(cuEventQuery(events[0]), CUDA_SUCCESS) << "it was never recorded";

  Gate gate;
  EXPECT_EQ(cuEventRecord(events[0], stream_), CUDA_SUCCESS);
  gate.close(stream_);
  EXPECT_EQ(cuMemsetD8Async(memory_, 0, kBytes, stream_), CUDA_SUCCESS);
  EXPECT_EQ(cuEventRecord(events[1], stream_), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamWaitEvent(other, events[1], CU_EVENT_WAIT_DEFAULT), CUDA_SUCCESS);
  std::fill_n(pinned_, kCount, 1.0F);
  EXPECT_EQ(cuMemcpyAsync(address_of(pinned_), memory_, kBytes, other), CUDA_SUCCESS);
  EXPECT_EQ(cuEventQuery(events[1]), CUDA_ERROR_NOT_READY);
  EXPECT_EQ(cuStreamQuery(other), CUDA_ERROR_NOT_READY);
  float milliseconds = -1;
  EXPECT_EQ(cuEventElapsedTime(&milliseconds, events[0], events[1]), CUDA_ERROR_NOT_READY);

  gate.open();
  EXPECT_EQ(cuEventSynchronize(events[1]), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(other), CUDA_SUCCESS);
  EXPECT_EQ(std::vector<float>(pinned_, pinned_ + kCount), std::vector<float>(kCount));
  EXPECT_EQ(cuEventElapsedTime(&milliseconds, events[0], events[1]), CUDA_SUCCESS);
  EXPECT_GE(milliseconds, 0);
  for (CUevent event : events) EXPECT_EQ(cuEventDestroy(event), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamDestroy(other), CUDA_SUCCESS);
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

TEST_F(CudaStandin, TheDefaultStreamIsAStreamLikeOthers) {
  Gate gate;
  gate.close(nullptr);
  EXPECT_EQ(cuStreamQuery(nullptr), CUDA_ERROR_NOT_READY);
  EXPECT_EQ(cuMemsetD8Async(memory_, 0, kBytes, stream_), CUDA_SUCCESS);
  EXPECT_EQ(read(memory_), std::vector<float>(kCount));
  gate.open();
  EXPECT_EQ(cuStreamSynchronize(CU_STREAM_LEGACY), CUDA_SUCCESS);
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

TEST_F(CudaStandin, MemoryEndsAndComesBack) {
  std::size_t most = 0;
  EXPECT_EQ(cuDeviceTotalMem(&most, 0), CUDA_SUCCESS);
  CUdeviceptr memory = 0;
  EXPECT_EQ(cuMemAlloc(&memory, most + 1), CUDA_ERROR_OUT_OF_MEMORY);
  for (int i = 0; i < 5; ++i) {
    ASSERT_EQ(cuMemAlloc(&memory, most / 4), CUDA_SUCCESS);
    ASSERT_EQ(cuMemFree(memory), CUDA_SUCCESS);
  }
}

TEST_F(CudaStandin, PointersAreKnown) {
  void* pinned = nullptr;
  EXPECT_EQ(cuMemHostAlloc(&pinned, kBytes, CU_MEMHOSTALLOC_PORTABLE), CUDA_SUCCESS);
  EXPECT_EQ(known_of(memory_ + kBytes - 1).type, CU_MEMORYTYPE_DEVICE);
  EXPECT_EQ(known_of(memory_).device, 0);
  EXPECT_EQ(known_of(address_of(pinned) + 1).type, CU_MEMORYTYPE_HOST);
  const int local = 0;
  EXPECT_EQ(known_of(address_of(&local)).type, 0U);
  EXPECT_EQ(cuMemFreeHost(pinned), CUDA_SUCCESS);
  EXPECT_EQ(known_of(address_of(pinned)).type, 0U);
  EXPECT_EQ(cuMemFreeHost(pinned), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(CudaStandinKernels, AKernelFolds) {
  EXPECT_EQ(launch(sum_into(memory_)), CUDA_SUCCESS);
  EXPECT_EQ(read(memory_), std::vector<float>(kCount, 3.0F));
}

TEST_F(CudaStandinKernels, AKernelCarriesValuesToTheNext) {
  const CUdeviceptr carried = filled(0);
  cuda::KernelWork first = sum_into(0);
  first.results = 0;
  first.carried_out = reinterpret_cast<void*>(carried);
  EXPECT_EQ(launch(first), CUDA_SUCCESS);
  cuda::KernelWork second = sum_into(memory_);
  second.carried_in = first.carried_out;
  EXPECT_EQ(launch(second), CUDA_SUCCESS);
  EXPECT_EQ(read(memory_), std::vector<float>(kCount, 6.0F));
  EXPECT_EQ(cuMemFree(carried), CUDA_SUCCESS);
  EXPECT_EQ(launch(second), CUDA_SUCCESS);
  expect_illegal_address();
}

TEST_F(CudaStandinKernels, SayHowManyBlocksRunAtOnce) {
  int blocks = 0;
  EXPECT_EQ(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel_, 256, 0), CUDA_SUCCESS);
  EXPECT_EQ(blocks, 5);
  EXPECT_EQ(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel_, 64, 0), CUDA_SUCCESS);
  EXPECT_EQ(blocks, 21);
  EXPECT_EQ(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel_, 2048, 0),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuOccupancyMaxActiveBlocksPerMultiprocessor(nullptr, kernel_, 256, 0),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, nullptr, 256, 0),
            CUDA_ERROR_INVALID_HANDLE);
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

TEST_F(CudaStandinKernels, WhatIsNoKernelIsRefused) {
  CUfunction function = nullptr;
  EXPECT_EQ(cuModuleGetFunction(&function, module_, "tutti_fold_f31"), CUDA_ERROR_NOT_FOUND);
  int threads = 0;
  constexpr auto kMost = CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK;
  EXPECT_EQ(cuFuncGetAttribute(&threads, kMost, kernel_), CUDA_SUCCESS);
  EXPECT_EQ(threads, 1024);
  EXPECT_EQ(cuModuleUnload(module_), CUDA_SUCCESS);
  EXPECT_EQ(cuModuleUnload(module_), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(launch(sum_into(memory_)), CUDA_ERROR_INVALID_HANDLE);
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
