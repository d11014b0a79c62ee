/// @file
/// What tests of graphs in the stand-in for the CUDA driver share.
#pragma once

#include "tests/cuda/standin_context.hpp"

namespace tutti::standin {

inline constexpr auto kGlobal = CU_STREAM_CAPTURE_MODE_GLOBAL;
inline constexpr auto kInvalidated = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;

class CudaStandinGraphs : public CudaStandinKernels {
 protected:
  void SetUp() override {
    CudaStandinKernels::SetUp();
    ASSERT_EQ(cuStreamCreate(&other_, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    for (CUevent& event : events_)
      ASSERT_EQ(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING), CUDA_SUCCESS);
  }
  void TearDown() override {
    if (executable_ != nullptr) {
      EXPECT_EQ(cuGraphExecDestroy(executable_), CUDA_SUCCESS);
    }
    for (CUevent event : events_) cuEventDestroy(event);
    cuStreamDestroy(other_);
    CudaStandinKernels::TearDown();
  }

  void begin(CUstreamCaptureMode mode = kGlobal) {
    EXPECT_EQ(cuStreamBeginCapture(stream_, mode), CUDA_SUCCESS);
  }
  /// Ends the recording and makes the graph executable.
  void end() {
    CUgraph graph = nullptr;
    EXPECT_EQ(cuStreamEndCapture(stream_, &graph), CUDA_SUCCESS);
    EXPECT_EQ(cuGraphInstantiate(&executable_, graph, 0), CUDA_SUCCESS);
    EXPECT_EQ(cuGraphDestroy(graph), CUDA_SUCCESS);
  }
  /// Expects that the recording ends with an error.
  void expect_end(CUresult error, CUstream stream) {
    auto* graph = reinterpret_cast<CUgraph>(this);
    EXPECT_EQ(cuStreamEndCapture(stream, &graph), error);
    EXPECT_EQ(graph, nullptr);
  }
  void expect_end(CUresult error) {
    expect_end(error, stream_);
    EXPECT_EQ(status(stream_), CU_STREAM_CAPTURE_STATUS_NONE);
  }
  static CUstreamCaptureStatus status(CUstream stream) {
    CUstreamCaptureStatus status{};
    EXPECT_EQ(cuStreamIsCapturing(stream, &status), CUDA_SUCCESS);
    return status;
  }
  void launch_graph() { EXPECT_EQ(cuGraphLaunch(executable_, stream_), CUDA_SUCCESS); }
  void wait() { EXPECT_EQ(cuStreamSynchronize(stream_), CUDA_SUCCESS); }
  /// The second stream takes part, or the first one waits for it.
  void order(CUstream first, CUstream second, std::size_t event) {
    EXPECT_EQ(cuEventRecord(events_.at(event), first), CUDA_SUCCESS);
    EXPECT_EQ(cuStreamWaitEvent(second, events_.at(event), 0), CUDA_SUCCESS);
  }
  CUresult fill(CUdeviceptr memory, CUstream stream) {
    return cuMemsetD8Async(memory, 0, kBytes, stream);
  }

  CUstream other_ = nullptr;
  std::array<CUevent, 2> events_{};
  CUgraphExec executable_ = nullptr;
};

}  // namespace tutti::standin
