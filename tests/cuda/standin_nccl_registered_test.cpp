// The stand-in for NCCL with registered memory, and with calls of several threads.
#include <future>
#include <string>

#include "standin_nccl_rank.hpp"

namespace tutti::nccl_standin {
namespace {

constexpr std::size_t kWords = 16384;  // of which a window has some pages

/// Memory of NCCL's own in a window, which ends with the communicator.
class Windowed {
 public:
  explicit Windowed(const Rank& rank) {
    void* memory = nullptr;
    EXPECT_EQ(ncclMemAlloc(&memory, 2 * kWords * sizeof(float)), ncclSuccess);
    data_ = static_cast<float*>(memory);
    ncclWindow_t window = nullptr;
    EXPECT_EQ(ncclCommWindowRegister(rank.communicator, memory, 2 * kWords * sizeof(float), &window,
                                     NCCL_WIN_COLL_SYMMETRIC),
              ncclSuccess);
    EXPECT_EQ(rank.state(), ncclSuccess);
  }
  Windowed(const Windowed&) = delete;
  Windowed& operator=(const Windowed&) = delete;
  ~Windowed() { EXPECT_EQ(ncclMemFree(data_), ncclSuccess); }
  float* at(std::size_t word) const { return data_ + word; }

 private:
  float* data_ = nullptr;
};

/// @return what NCCL says has failed, or nothing.
std::string reason(const Rank& rank) {
  EXPECT_EQ(rank.wait(), CUDA_SUCCESS);
  if (rank.state() == ncclSuccess) return {};
  const char* const text = ncclGetLastError(rank.communicator);
  return text == nullptr ? "none" : text;
}

TEST(CudaNcclStandinRegistered, MemoryIsNotMixedInAMessage) {
  with_ranks(2, [](Rank& rank) {
    const Windowed window{rank};
    float* const other = rank.put(std::vector<float>(10));
    if (rank.rank == 0) ncclSend(window.at(0), 10, ncclFloat, 1, rank.communicator, rank.stream());
    else ncclRecv(other, 10, ncclFloat, 0, rank.communicator, rank.stream());
    const std::string why = reason(rank);
    if (rank.rank == 1) {
      EXPECT_NE(why.find("the sender's is registered, the receiver's not"), std::string::npos);
    } else {
      EXPECT_NE(why, "");
    }
    rank.abort();
  });
}

TEST(CudaNcclStandinRegistered, MemoryOfARankIsNotMixed) {
  with_ranks(1, [](Rank& rank) {
    const Windowed window{rank};
    float* const other = rank.put(std::vector<float>(10));
    EXPECT_EQ(ncclAllReduce(window.at(0), other, 10, ncclFloat, ncclSum, rank.communicator,
                            rank.stream()),
              ncclInvalidUsage);
    rank.abort();
  });
}

TEST(CudaNcclStandinRegistered, BuffersHaveEqualOffsets) {
  for (const bool equal : {true, false})
    with_ranks(2, [equal](Rank& rank) {
      const Windowed window{rank};
      float* const data = window.at(equal || rank.rank == 0 ? 0 : 64);
      ncclAllReduce(data, data, 10, ncclFloat, ncclSum, rank.communicator, rank.stream());
      EXPECT_EQ(reason(rank).empty(), equal);
      // An input that the rank alone reads may lie anywhere.
      if (equal)
        ncclAllGather(window.at(10 * static_cast<std::size_t>(rank.rank)), window.at(0), 10,
                      ncclFloat, rank.communicator, rank.stream());
      EXPECT_EQ(reason(rank).empty(), equal);
      if (!equal) rank.abort();
    });
}

TEST(CudaNcclStandinRegistered, OneThreadAtATimeCalls) {
  setenv("CUDA_STANDIN_CONNECT", "at_call", 1);
  std::promise<void> called;
  const std::shared_future<void> has_called = called.get_future().share();
  with_ranks(2, [&](Rank& rank) {
    float* const data = rank.put(std::vector<float>(10));
    const auto reduce = [&] {
      return ncclAllReduce(data, data, 10, ncclFloat, ncclSum, rank.communicator, rank.stream());
    };
    if (rank.rank == 1) {
      has_called.wait();
      reduce();
    } else {
      auto first = std::async(std::launch::async, [&] {
        rank.use();
        return reduce();
      });
      EXPECT_EQ(first.wait_for(std::chrono::milliseconds{50}), std::future_status::timeout);
      EXPECT_EQ(reduce(), ncclInvalidUsage);
      called.set_value();
      EXPECT_NE(first.get(), ncclSuccess);
    }
    rank.abort();
  });
  unsetenv("CUDA_STANDIN_CONNECT");
}

}  // namespace
}  // namespace tutti::nccl_standin
