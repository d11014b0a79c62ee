// How streams record, and what ends that, in the stand-in for the CUDA driver.
#include <thread>

#include "tests/cuda/standin_graphs.hpp"

namespace tutti::standin {
namespace {

class CudaStandinCaptures : public CudaStandinGraphs {};

TEST_F(CudaStandinCaptures, AskingForARecordingStreamEndsTheRecording) {
  for (const auto ask : {cuStreamSynchronize, cuStreamQuery}) {
    begin();
    EXPECT_EQ(ask(stream_), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    EXPECT_EQ(status(stream_), CU_STREAM_CAPTURE_STATUS_INVALIDATED);
    EXPECT_EQ(ask(stream_), kInvalidated);
    EXPECT_EQ(fill(memory_, stream_), kInvalidated);
    EXPECT_EQ(cuEventRecord(events_[0], stream_), kInvalidated);
    expect_end(kInvalidated);
    EXPECT_EQ(ask(stream_), CUDA_SUCCESS);
  }
}

TEST_F(CudaStandinCaptures, AskingForARecordedEventEndsTheRecording) {
  constexpr auto kRelaxed = CU_STREAM_CAPTURE_MODE_RELAXED;
  for (const auto ask : {cuEventSynchronize, cuEventQuery}) {
    begin(kRelaxed);
    EXPECT_EQ(cuEventRecord(events_[0], stream_), CUDA_SUCCESS);
    CUstreamCaptureMode mode = kRelaxed;
    EXPECT_EQ(cuThreadExchangeStreamCaptureMode(&mode), CUDA_SUCCESS);
    EXPECT_EQ(mode, kGlobal);
    EXPECT_EQ(ask(events_[0]), CUDA_ERROR_CAPTURED_EVENT);
    EXPECT_EQ(cuThreadExchangeStreamCaptureMode(&mode), CUDA_SUCCESS);
    expect_end(kInvalidated);
    EXPECT_EQ(cuStreamWaitEvent(other_, events_[0], 0), CUDA_ERROR_CAPTURED_EVENT);
    EXPECT_EQ(cuEventRecord(events_[0], stream_), CUDA_SUCCESS);
    wait();
    EXPECT_EQ(ask(events_[0]), CUDA_SUCCESS);
  }
}

/// Allocates in another thread.
CUresult allocate_elsewhere(CUcontext context) {
  CUresult result = CUDA_SUCCESS;
  std::thread{[&] {
    CUdeviceptr memory = 0;
    cuCtxSetCurrent(context);
    result = cuMemAlloc(&memory, 1);
    if (result == CUDA_SUCCESS) cuMemFree(memory);
  }}.join();
  return result;
}

TEST_F(CudaStandinCaptures, UnsafeCallsEndWhatTheModeProtects) {
  constexpr auto kUnsupported = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  struct Case {
    CUstreamCaptureMode mode;
    CUresult here;
    CUresult elsewhere;
  };
  for (const auto& [mode, here, elsewhere] :
       {Case{kGlobal, kUnsupported, kUnsupported},
        Case{CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, kUnsupported, CUDA_SUCCESS},
        Case{CU_STREAM_CAPTURE_MODE_RELAXED, CUDA_SUCCESS, CUDA_SUCCESS}}) {
    CUdeviceptr memory = 0;
    begin(mode);
    EXPECT_EQ(cuMemAlloc(&memory, 1), here);
    if (here == CUDA_SUCCESS) {
      EXPECT_EQ(cuMemFree(memory), CUDA_SUCCESS);
    }
    CUgraph graph = nullptr;
    EXPECT_EQ(cuStreamEndCapture(stream_, &graph), here == CUDA_SUCCESS ? here : kInvalidated);
    begin(mode);
    EXPECT_EQ(allocate_elsewhere(context_), elsewhere);
    if (graph != nullptr) {
      EXPECT_EQ(cuGraphDestroy(graph), CUDA_SUCCESS);
    }
    EXPECT_EQ(cuStreamEndCapture(stream_, &graph),
              elsewhere == CUDA_SUCCESS ? elsewhere : kInvalidated);
    if (graph != nullptr) {
      EXPECT_EQ(cuGraphDestroy(graph), CUDA_SUCCESS);
    }
  }
}

TEST_F(CudaStandinCaptures, WhatWasForkedHasToBeJoined) {
  begin();
  order(stream_, other_, 0);
  EXPECT_EQ(fill(memory_, other_), CUDA_SUCCESS);
  EXPECT_EQ(fill(operands_[0], stream_), CUDA_SUCCESS);
  expect_end(CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
  EXPECT_EQ(status(other_), CU_STREAM_CAPTURE_STATUS_NONE);
}

TEST_F(CudaStandinCaptures, RecordingsStayApart) {
  // Nothing that is being done can be waited for.
  EXPECT_EQ(cuEventRecord(events_[0], other_), CUDA_SUCCESS);
  begin();
  EXPECT_EQ(cuStreamWaitEvent(stream_, events_[0], 0), CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
  expect_end(kInvalidated);
  begin();
  EXPECT_EQ(cuStreamWaitEvent(stream_, events_[1], 0), CUDA_SUCCESS) << "never recorded";
  EXPECT_EQ(cuStreamBeginCapture(stream_, kGlobal), CUDA_ERROR_ILLEGAL_STATE);
  EXPECT_EQ(cuStreamBeginCapture(other_, kGlobal), CUDA_SUCCESS);
  EXPECT_EQ(cuEventRecord(events_[0], stream_), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamWaitEvent(other_, events_[0], 0), CUDA_ERROR_STREAM_CAPTURE_MERGE);
  expect_end(kInvalidated);
  expect_end(kInvalidated, other_);
}

}  // namespace
}  // namespace tutti::standin
