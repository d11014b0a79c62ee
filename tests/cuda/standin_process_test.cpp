// The stand-in for the CUDA driver, over whole processes: shared queues, which call fails, and the
// report when a process ends.
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <thread>
#include <vector>

#include <cuda.h>
#include <gtest/gtest.h>

#include "standin_environment.hpp"

namespace tutti::standin {
namespace {

using test::Report;
using test::Variable;

/// Ends the process, and says whether something is as it should be.
[[noreturn]] void leave(bool right) {
  std::exit(right ? 0 : 1);
}

// The driver is loaded once per process, so each of these tests looks at a child process of its
// own.
class CudaStandinProcess : public ::testing::Test {
 protected:
  void SetUp() override { ::testing::GTEST_FLAG(death_test_style) = "threadsafe"; }
};

/// A stream in the context of the first device.
CUstream start() {
  CUcontext context = nullptr;
  CUstream stream = nullptr;
  cuInit(0);
  cuDevicePrimaryCtxRetain(&context, 0);
  cuCtxSetCurrent(context);
  cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
  return stream;
}

// Streams of one priority are held up by the one that waits, others are not.
void one_queue() {
  const CUstream waiting = start();
  CUstream usual = nullptr;
  CUstream urgent = nullptr;
  CUdeviceptr memory = 0;
  int least = -1;
  int greatest = 0;
  cuCtxGetStreamPriorityRange(&least, &greatest);
  cuStreamCreateWithPriority(&usual, CU_STREAM_NON_BLOCKING, least);
  cuStreamCreateWithPriority(&urgent, CU_STREAM_NON_BLOCKING, greatest);
  cuMemAlloc(&memory, sizeof(std::uint64_t));
  cuMemsetD8Async(memory, 0, sizeof(std::uint64_t), waiting);
  cuStreamSynchronize(waiting);
  cuStreamWaitValue64(waiting, memory, 1, CU_STREAM_WAIT_VALUE_EQ);
  cuStreamWriteValue64(usual, memory, 1, CU_STREAM_WRITE_VALUE_DEFAULT);
  std::this_thread::sleep_for(std::chrono::milliseconds{20});
  bool right = greatest < least && cuStreamQuery(usual) == CUDA_ERROR_NOT_READY;
  cuStreamWriteValue64(urgent, memory, 1, CU_STREAM_WRITE_VALUE_DEFAULT);
  right = right && cuStreamSynchronize(urgent) == CUDA_SUCCESS;
  right = right && cuStreamSynchronize(waiting) == CUDA_SUCCESS;
  leave(right && cuStreamSynchronize(usual) == CUDA_SUCCESS);
}

TEST_F(CudaStandinProcess, StreamsMayShareAQueue) {
  const Variable queues{"CUDA_STANDIN_QUEUES", "1"};
  EXPECT_EXIT(one_queue(), ::testing::ExitedWithCode(0), "");
}

void allocate_four_times() {
  static_cast<void>(start());
  CUdeviceptr memory = 0;
  std::vector<CUresult> results(4);
  for (CUresult& result : results) result = cuMemAlloc(&memory, 16);
  const CUresult fine = CUDA_SUCCESS;
  leave(results == std::vector<CUresult>{fine, fine, CUDA_ERROR_UNKNOWN, fine});
}

TEST_F(CudaStandinProcess, OneCallFails) {
  const Variable fault{"CUDA_STANDIN_FAULT", "cuMemAlloc_v2:3"};
  EXPECT_EXIT(allocate_four_times(), ::testing::ExitedWithCode(0), "");
}

void leave_all_behind() {
  static_cast<void>(start());
  CUdeviceptr memory = 0;
  void* pinned = nullptr;
  CUevent event = nullptr;
  CUmodule module = nullptr;
  cuMemAlloc(&memory, 4096);
  cuMemAllocAsync(&memory, 32, nullptr);
  cuMemHostAlloc(&pinned, 64, 0);
  cuEventCreate(&event, 0);
  cuModuleLoadData(&module, "image");
  leave(true);
}

TEST_F(CudaStandinProcess, LeaksAreTold) {
  const Report leaks{"CUDA_STANDIN_LEAKS"};
  EXPECT_EXIT(leave_all_behind(), ::testing::ExitedWithCode(0), "");
  EXPECT_EQ(leaks.text(),
            "cuMemAlloc 4096 bytes\ncuMemAllocAsync 32 bytes\ncuMemHostAlloc 64 bytes\n"
            "cuStreamCreate\ncuEventCreate\ncuModuleLoadData\n");
}

void leave_graphs_behind() {
  const CUstream stream = start();
  CUdeviceptr memory = 0;
  CUgraph graph = nullptr;
  CUgraphExec executable = nullptr;
  cuMemAlloc(&memory, 64);
  cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED);
  cuMemsetD8Async(memory, 0, 1, stream);
  cuStreamEndCapture(stream, &graph);
  cuGraphInstantiate(&executable, graph, 0);
  leave(true);
}

TEST_F(CudaStandinProcess, LeaksOfGraphsAreTold) {
  const Report leaks{"CUDA_STANDIN_LEAKS"};
  EXPECT_EXIT(leave_graphs_behind(), ::testing::ExitedWithCode(0), "");
  EXPECT_EQ(leaks.text(),
            "cuMemAlloc 64 bytes\ncuStreamCreate\ncuStreamEndCapture\n"
            "cuGraphInstantiate\n");
}

void leave_nothing_behind() {
  const CUstream stream = start();
  CUdeviceptr memory = 0;
  cuMemAllocAsync(&memory, 32, stream);
  cuMemFreeAsync(memory, stream);
  cuMemAlloc(&memory, 32);
  cuMemFree(memory);
  cuStreamDestroy(stream);
  leave(true);
}

TEST_F(CudaStandinProcess, WithoutLeaksAndWithAllCalls) {
  const Report leaks{"CUDA_STANDIN_LEAKS"};
  const Report calls{"CUDA_STANDIN_CALLS"};
  EXPECT_EXIT(leave_nothing_behind(), ::testing::ExitedWithCode(0), "");
  EXPECT_EQ(leaks.text(), "");
  EXPECT_EQ(calls.text(),
            "cuCtxSetCurrent 1\ncuDevicePrimaryCtxRetain 1\ncuInit 1\ncuMemAllocAsync 1\n"
            "cuMemAlloc_v2 1\ncuMemFreeAsync 1\ncuMemFree_v2 1\ncuStreamCreate 1\n"
            "cuStreamDestroy_v2 1\n");
}

// What was enqueued when the process ends is not waited for, though threads end.
void leave_in_the_middle() {
  const CUstream stream = start();
  CUstream other = nullptr;
  CUevent event = nullptr;
  CUdeviceptr memory = 0;
  constexpr std::size_t kMany = std::size_t{1} << 20U;
  cuStreamCreate(&other, 0);
  cuEventCreate(&event, 0);
  cuMemAlloc(&memory, kMany);
  for (int i = 0; i < 10000; ++i) {
    cuMemsetD8Async(memory, 1, kMany, stream);
    cuEventRecord(event, stream);
    cuStreamWaitEvent(other, event, 0);
  }
  leave(true);
}

TEST_F(CudaStandinProcess, EndsWithWorkLeft) {
  EXPECT_EXIT(leave_in_the_middle(), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace tutti::standin
