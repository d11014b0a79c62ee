// Graphs that streams record, and their launches, in the stand-in for the CUDA driver.
#include <algorithm>

#include "tests/cuda/standin_graphs.hpp"

namespace tutti::standin {
namespace {

TEST_F(CudaStandinGraphs, MemoryHasTheSameAddressEachTime) {
  CUdeviceptr memory = 0;
  begin();
  EXPECT_EQ(cuMemAllocAsync(&memory, kBytes, stream_), CUDA_SUCCESS);
  EXPECT_EQ(fill(memory, stream_), CUDA_SUCCESS);
  EXPECT_EQ(cuMemcpyAsync(address_of(pinned_), memory, kBytes, stream_), CUDA_SUCCESS);
  EXPECT_EQ(cuMemFreeAsync(memory_, stream_), CUDA_ERROR_INVALID_VALUE) << "not the graph's";
  EXPECT_EQ(cuMemFreeAsync(memory, stream_), CUDA_SUCCESS);
  EXPECT_EQ(cuMemFreeAsync(memory, stream_), CUDA_ERROR_INVALID_VALUE);
  end();
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
