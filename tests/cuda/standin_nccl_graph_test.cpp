// Calls of the stand-in for NCCL that streams record, and launches of them.
#include <future>
#include <utility>

#include "standin_nccl_rank.hpp"

namespace tutti::nccl_standin {
namespace {

constexpr std::size_t kGraphCount = 100;

/// What a stream records while this is there; then it can be launched.
class Recording {
 public:
  explicit Recording(CUstream stream) : stream_{stream} {
    EXPECT_EQ(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL), CUDA_SUCCESS);
  }
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;
  ~Recording() { EXPECT_EQ(cuGraphExecDestroy(executable_), CUDA_SUCCESS); }

  void end() {
    CUgraph graph = nullptr;
    EXPECT_EQ(cuStreamEndCapture(stream_, &graph), CUDA_SUCCESS);
    EXPECT_EQ(cuGraphInstantiate(&executable_, graph, 0), CUDA_SUCCESS);
    EXPECT_EQ(cuGraphDestroy(graph), CUDA_SUCCESS);
  }
  void launch() const { EXPECT_EQ(cuGraphLaunch(executable_, stream_), CUDA_SUCCESS); }

 private:
  CUstream stream_;
  CUgraphExec executable_ = nullptr;
};

void sum(const Rank& rank, float* values) {
  const ncclResult_t result = ncclAllReduce(values, values, kGraphCount, ncclFloat, ncclSum,
                                            rank.communicator, rank.stream());
  EXPECT_TRUE(result == ncclSuccess || result == ncclInProgress) << result;
  EXPECT_EQ(rank.state(), ncclSuccess);
}

/// How a communicator ends.
using End = ncclResult_t (*)(ncclComm_t);
class CudaNcclStandinEnds : public ::testing::TestWithParam<End> {};
INSTANTIATE_TEST_SUITE_P(TransportSet, CudaNcclStandinEnds,
                         ::testing::Values(ncclCommDestroy, ncclCommAbort));

TEST_P(CudaNcclStandinEnds, WaitForTheEndOfGraphs) {
  with_ranks(1, [](Rank& rank) {
    float* const values = rank.put(std::vector<float>(kGraphCount, 1.0F));
    std::future<ncclResult_t> ended;
    {
      Recording recording{rank.stream()};
      sum(rank, values);
      recording.end();
      ended = std::async(std::launch::async,
                         [&, communicator = std::exchange(rank.communicator, nullptr)] {
                           rank.use();
                           return GetParam()(communicator);
                         });
      EXPECT_EQ(ended.wait_for(std::chrono::milliseconds{100}), std::future_status::timeout);
      if (GetParam() == ncclCommAbort) recording.launch();
      EXPECT_EQ(rank.wait(), CUDA_SUCCESS) << "it does nothing";
    }
    EXPECT_EQ(ended.get(), ncclSuccess);
  });
}

TEST(CudaNcclStandinGraph, IsNotMadeOfASpoiltRecording) {
  with_ranks(1, [](Rank& rank) {
    float* const values = rank.put(std::vector<float>(kGraphCount, 1.0F));
    CUgraph graph = nullptr;
    EXPECT_EQ(cuStreamBeginCapture(rank.stream(), CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
    sum(rank, values);
    EXPECT_EQ(rank.wait(), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    EXPECT_EQ(ncclAllReduce(values, values, kGraphCount, ncclFloat, ncclSum, rank.communicator,
                            rank.stream()),
              ncclUnhandledCudaError);
    EXPECT_EQ(cuStreamEndCapture(rank.stream(), &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    sum(rank, values);
    EXPECT_EQ(rank.get(values, kGraphCount), std::vector<float>(kGraphCount, 1.0F));
  });
}

}  // namespace
}  // namespace tutti::nccl_standin
