// Graphs that streams record, and their launches, in the stand-in for the CUDA driver.
#include <algorithm>
#include <atomic>

#include "tests/cuda/standin_graphs.hpp"

namespace tutti::standin {
namespace {

TEST_F(CudaStandinGraphs, WhatIsRecordedIsDoneByEachLaunch) {
  std::atomic<int> calls{0};
  const auto count = [](void* to) { ++*static_cast<std::atomic<int>*>(to); };
  std::fill_n(pinned_, kCount, 5.0F);
  begin();
  EXPECT_EQ(status(stream_), CU_STREAM_CAPTURE_STATUS_ACTIVE);
  EXPECT_EQ(cuMemcpyAsync(operands_[0], address_of(pinned_), kBytes, stream_), CUDA_SUCCESS);
  EXPECT_EQ(fill(operands_[1], stream_), CUDA_SUCCESS);
  EXPECT_EQ(launch(sum_into(memory_)), CUDA_SUCCESS);
  EXPECT_EQ(cuLaunchHostFunc(stream_, count, &calls), CUDA_SUCCESS);
  EXPECT_EQ(cuMemcpyAsync(address_of(pinned_ + kCount), memory_, kBytes, stream_), CUDA_SUCCESS);
  EXPECT_EQ(end(), 5U);
  wait();
  EXPECT_EQ(calls, 0);
  for (const float value : {5.0F, 6.0F}) {
    std::fill_n(pinned_, kCount, value);
    launch_graph();
    wait();
    EXPECT_EQ(pinned_[kCount], value);
  }
  EXPECT_EQ(calls, 2);
}

TEST_F(CudaStandinGraphs, LaunchesKeepTheirOrderOnAllStreams) {
  Gate gate;
  begin();
  EXPECT_EQ(fill(memory_, stream_), CUDA_SUCCESS);
  end();
  gate.close(stream_);
  launch_graph();
  EXPECT_EQ(cuGraphLaunch(executable_, other_), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamQuery(other_), CUDA_ERROR_NOT_READY);
  // It lives on until it is done.
  EXPECT_EQ(cuGraphExecDestroy(executable_), CUDA_SUCCESS);
  executable_ = nullptr;
  gate.open();
  EXPECT_EQ(cuStreamSynchronize(other_), CUDA_SUCCESS);
  EXPECT_EQ(read(memory_), std::vector<float>(kCount));
}

TEST_F(CudaStandinGraphs, OtherStreamsTakePartByEvents) {
  begin();
  EXPECT_EQ(fill(operands_[0], stream_), CUDA_SUCCESS);
  order(stream_, other_, 0);
  EXPECT_EQ(status(other_), CU_STREAM_CAPTURE_STATUS_ACTIVE);
  EXPECT_EQ(fill(operands_[1], other_), CUDA_SUCCESS);
  order(other_, stream_, 1);
  EXPECT_EQ(launch(sum_into(memory_)), CUDA_SUCCESS);
  EXPECT_EQ(end(), 3U);
  EXPECT_EQ(status(other_), CU_STREAM_CAPTURE_STATUS_NONE);
  launch_graph();
  EXPECT_EQ(read(memory_), std::vector<float>(kCount));
}

// Each waits for a value that the other writes later than it is recorded.
TEST_F(CudaStandinGraphs, StreamsThatTakePartRunAtTheSameTime) {
  const CUdeviceptr words = address_of(pinned_);
  const auto write = [&](CUstream stream, std::size_t word) {
    EXPECT_EQ(cuStreamWriteValue32(stream, words + 4 * word, 1, 0), CUDA_SUCCESS);
  };
  const auto wait_for = [&](CUstream stream, std::size_t word) {
    EXPECT_EQ(cuStreamWaitValue32(stream, words + 4 * word, 1, CU_STREAM_WAIT_VALUE_EQ),
              CUDA_SUCCESS);
  };
  begin();
  EXPECT_EQ(cuMemsetD8Async(words, 0, 8, stream_), CUDA_SUCCESS);
  order(stream_, other_, 0);
  wait_for(other_, 0);
  write(other_, 1);
  write(stream_, 0);
  wait_for(stream_, 1);
  order(other_, stream_, 1);
  EXPECT_EQ(end(), 5U);
  for (int i = 0; i < 3; ++i) launch_graph();
  EXPECT_EQ(cuGraphExecDestroy(executable_), CUDA_SUCCESS);
  executable_ = nullptr;
  wait();
}

TEST_F(CudaStandinGraphs, ValuesAreWaitedForAndWritten) {
  auto* const words = reinterpret_cast<cuuint32_t*>(pinned_);
  begin();
  EXPECT_EQ(cuStreamWaitValue32(stream_, address_of(words), 1, CU_STREAM_WAIT_VALUE_EQ),
            CUDA_SUCCESS);
  EXPECT_EQ(cuStreamWriteValue32(stream_, address_of(words), 0, 0), CUDA_SUCCESS);
  EXPECT_EQ(end(), 2U);
  for (int i = 0; i < 2; ++i) {
    launch_graph();
    EXPECT_EQ(cuStreamQuery(stream_), CUDA_ERROR_NOT_READY);
    std::atomic_ref{*words}.store(1);
    wait();
    EXPECT_EQ(*words, 0U);
  }
}

TEST_F(CudaStandinGraphs, MemoryHasTheSameAddressEachTime) {
  CUdeviceptr memory = 0;
  begin();
  EXPECT_EQ(cuMemAllocAsync(&memory, kBytes, stream_), CUDA_SUCCESS);
  EXPECT_EQ(fill(memory, stream_), CUDA_SUCCESS);
  EXPECT_EQ(cuMemcpyAsync(address_of(pinned_), memory, kBytes, stream_), CUDA_SUCCESS);
  EXPECT_EQ(cuMemFreeAsync(memory_, stream_), CUDA_ERROR_INVALID_VALUE) << "not the graph's";
  EXPECT_EQ(cuMemFreeAsync(memory, stream_), CUDA_SUCCESS);
  EXPECT_EQ(cuMemFreeAsync(memory, stream_), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(end(), 4U);
  for (int i = 0; i < 2; ++i) {
    std::fill_n(pinned_, kCount, 1.0F);
    launch_graph();
    wait();
    EXPECT_EQ(pinned_[kCount - 1], 0.0F);
  }
  EXPECT_EQ(cuMemFreeAsync(memory, stream_), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(copy_out(memory, 1), CUDA_SUCCESS);
  expect_illegal_address();
}

TEST_F(CudaStandinGraphs, MemoryMayBeLeftAndFreedLater) {
  CUdeviceptr memory = 0;
  begin();
  EXPECT_EQ(cuMemAllocAsync(&memory, kBytes, stream_), CUDA_SUCCESS);
  EXPECT_EQ(fill(memory, stream_), CUDA_SUCCESS);
  end();
  for (int i = 0; i < 2; ++i) {
    launch_graph();
    EXPECT_EQ(read(memory), std::vector<float>(kCount));
    EXPECT_EQ(cuGraphLaunch(executable_, stream_), CUDA_ERROR_INVALID_VALUE) << "it is left";
    EXPECT_EQ(cuMemFreeAsync(memory, stream_), CUDA_SUCCESS);
  }
  // It outlives the graph.
  launch_graph();
  EXPECT_EQ(cuGraphExecDestroy(executable_), CUDA_SUCCESS);
  executable_ = nullptr;
  EXPECT_EQ(read(memory), std::vector<float>(kCount));
  EXPECT_EQ(cuMemFree(memory), CUDA_SUCCESS);
  EXPECT_EQ(cuMemFree(memory), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(CudaStandinGraphs, ALaunchMayFreeWhatTheLastOneLeft) {
  CUdeviceptr memory = 0;
  begin();
  EXPECT_EQ(cuMemAllocAsync(&memory, kBytes, stream_), CUDA_SUCCESS);
  end(CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH);
  launch_graph();
  EXPECT_EQ(fill(memory, stream_), CUDA_SUCCESS);
  launch_graph();
  EXPECT_NE(read(memory), std::vector<float>(kCount)) << "it is fresh";
  EXPECT_EQ(cuMemFree(memory), CUDA_SUCCESS);
}

TEST_F(CudaStandinGraphs, EventsMayBeOutside) {
  begin();
  EXPECT_EQ(cuStreamWaitEvent(stream_, events_[0], CU_EVENT_WAIT_EXTERNAL), CUDA_SUCCESS);
  EXPECT_EQ(fill(memory_, stream_), CUDA_SUCCESS);
  EXPECT_EQ(cuEventRecordWithFlags(events_[1], stream_, CU_EVENT_RECORD_EXTERNAL), CUDA_SUCCESS);
  EXPECT_EQ(end(), 3U);
  Gate gate;
  gate.close(other_);
  EXPECT_EQ(cuEventRecord(events_[0], other_), CUDA_SUCCESS);
  launch_graph();
  EXPECT_EQ(cuEventQuery(events_[1]), CUDA_ERROR_NOT_READY);
  gate.open();
  EXPECT_EQ(cuEventSynchronize(events_[1]), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamWaitEvent(stream_, events_[0], CU_EVENT_WAIT_EXTERNAL),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuEventRecordWithFlags(events_[1], stream_, CU_EVENT_RECORD_EXTERNAL),
            CUDA_ERROR_INVALID_VALUE);
}

TEST_F(CudaStandinGraphs, AGraphMayBePartOfAnother) {
  begin();
  EXPECT_EQ(fill(memory_, stream_), CUDA_SUCCESS);
  end();
  const CUgraphExec inner = executable_;
  begin();
  EXPECT_EQ(cuGraphLaunch(inner, stream_), CUDA_SUCCESS);
  EXPECT_EQ(end(), 1U);
  EXPECT_EQ(cuGraphExecDestroy(inner), CUDA_SUCCESS);
  launch_graph();
  EXPECT_EQ(read(memory_), std::vector<float>(kCount));
}

TEST_F(CudaStandinGraphs, ALaunchFailsItsContext) {
  begin();
  EXPECT_EQ(cuMemsetD8Async(memory_ + 1, 0, kBytes, stream_), CUDA_SUCCESS);
  end();
  launch_graph();
  expect_illegal_address();
  EXPECT_EQ(cuGraphLaunch(executable_, stream_), CUDA_ERROR_ILLEGAL_ADDRESS);
}

TEST_F(CudaStandinGraphs, AGraphWithMemoryIsInstantiatedOnceAtATime) {
  CUgraph graph = nullptr;
  CUdeviceptr memory = 0;
  CUDA_GRAPH_INSTANTIATE_PARAMS parameters{};
  CUgraphExec second = nullptr;
  begin();
  EXPECT_EQ(cuMemAllocAsync(&memory, 1, stream_), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamEndCapture(stream_, &graph), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphInstantiateWithParams(&executable_, graph, &parameters), CUDA_SUCCESS);
  EXPECT_EQ(parameters.result_out, CUDA_GRAPH_INSTANTIATE_SUCCESS);
  EXPECT_EQ(cuGraphInstantiate(&second, graph, 0), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(cuGraphExecDestroy(executable_), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphInstantiate(&executable_, graph, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphDestroy(graph), CUDA_SUCCESS);
}

}  // namespace
}  // namespace tutti::standin
