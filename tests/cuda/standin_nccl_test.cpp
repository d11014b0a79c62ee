// The stand-in for NCCL: whether it finds faults that NCCL finds. Tests of the backend, which run
// on it, test its results.
#include <latch>
#include <numeric>

#include "standin_nccl_rank.hpp"

namespace tutti::nccl_standin {
namespace {

constexpr std::size_t kCount = 1000;

/// Values of which no two ranks have the same.
std::vector<float> values_of(int rank, std::size_t count = kCount) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), static_cast<float>(1000 * rank));
  return values;
}

ncclResult_t send(const Rank& rank, const float* from, int peer, std::size_t count = kCount) {
  return ncclSend(from, count, ncclFloat, peer, rank.communicator, rank.stream());
}

ncclResult_t receive(const Rank& rank, float* into, int peer, std::size_t count = kCount) {
  return ncclRecv(into, count, ncclFloat, peer, rank.communicator, rank.stream());
}

// As with NCCL: who does not wait for the state may not go on.
TEST(CudaNcclStandinStart, OneThatDoesNotBlockIsInProgressAfterEachGroup) {
  with_ranks(
      1,
      [](Rank& rank) {
        float* const memory = rank.put(values_of(0));
        const auto exchange = [&] {
          ncclGroupStart();
          send(rank, memory, 0);
          receive(rank, memory, 0);
          return ncclGroupEnd();
        };
        EXPECT_EQ(exchange(), ncclInProgress);
        EXPECT_EQ(exchange(), ncclInvalidArgument);
        EXPECT_EQ(rank.state(), ncclSuccess);
        EXPECT_EQ(exchange(), ncclInProgress);
        EXPECT_EQ(rank.state(), ncclSuccess);
      },
      false);
}

void start_on_one_device(ncclResult_t expected) {
  const ncclUniqueId id = make_id();
  std::vector<std::thread> threads;
  for (int number = 0; number < 3; ++number)
    threads.emplace_back([&, number] {
      const OnDevice device{number % 2};
      ncclComm_t communicator = nullptr;
      EXPECT_EQ(ncclCommInitRankConfig(&communicator, 3, id, number, nullptr), expected);
      EXPECT_EQ(communicator != nullptr, expected == ncclSuccess);
      if (communicator != nullptr) {
        EXPECT_EQ(ncclCommDestroy(communicator), ncclSuccess);
      }
    });
  for (std::thread& thread : threads) thread.join();
}

TEST(CudaNcclStandinStart, RefusesTwoRanksOfOneDevice) {
  start_on_one_device(ncclInvalidUsage);
  setenv("NCCL_MULTI_RANK_GPU_ENABLE", "1", 1);
  start_on_one_device(ncclSuccess);
  unsetenv("NCCL_MULTI_RANK_GPU_ENABLE");
}

TEST(CudaNcclStandinMessages, NothingIsStoredOnTheWay) {
  std::latch looked{2};
  with_ranks(2, [&](Rank& rank) {
    float* const memory = rank.put(values_of(rank.rank));
    EXPECT_EQ(send(rank, memory, rank.next(), 1), ncclSuccess);
    EXPECT_EQ(receive(rank, memory, rank.next(), 1), ncclSuccess);
    std::this_thread::sleep_for(std::chrono::milliseconds{50});
    EXPECT_FALSE(rank.is_done()) << "both ranks send first";
    looked.arrive_and_wait();
    rank.abort();
    EXPECT_EQ(rank.wait(), CUDA_SUCCESS);
  });
}

TEST(CudaNcclStandinMessages, AnotherLengthFailsBothRanks) {
  with_ranks(2, [](Rank& rank) {
    float* const memory = rank.put(values_of(rank.rank));
    if (rank.rank == 0) {
      EXPECT_EQ(send(rank, memory, 1, 10), ncclSuccess);
    } else {
      EXPECT_EQ(receive(rank, memory, 0, 11), ncclSuccess);
    }
    EXPECT_EQ(rank.error(), rank.rank == 0 ? ncclRemoteError : ncclInternalError);
    EXPECT_EQ(rank.wait(), CUDA_SUCCESS);
    EXPECT_STRNE(ncclGetLastError(rank.communicator), "");
    EXPECT_EQ(send(rank, memory, rank.next()), rank.error());
    EXPECT_EQ(rank.get(memory, kCount), values_of(rank.rank));
  });
}

TEST(CudaNcclStandinMessages, AnotherCollectiveFails) {
  with_ranks(2, [](Rank& rank) {
    float* const memory = rank.put(values_of(rank.rank));
    if (rank.rank == 0) {
      ncclAllGather(memory, memory, 1, ncclFloat, rank.communicator, rank.stream());
    } else {
      ncclReduceScatter(memory, memory, 1, ncclFloat, ncclSum, rank.communicator, rank.stream());
    }
    EXPECT_NE(rank.error(), ncclSuccess);
    EXPECT_EQ(rank.wait(), CUDA_SUCCESS);
  });
}

TEST(CudaNcclStandinMessages, MemoryThatWasFreedFails) {
  with_ranks(1, [](const Rank& rank) {
    void* memory = nullptr;
    EXPECT_EQ(ncclMemAlloc(&memory, kCount * sizeof(float)), ncclSuccess);
    EXPECT_EQ(ncclMemFree(memory), ncclSuccess);
    EXPECT_EQ(ncclMemFree(memory), ncclInvalidArgument);
    ncclAllReduce(memory, memory, kCount, ncclFloat, ncclSum, rank.communicator, rank.stream());
    EXPECT_EQ(rank.error(), ncclUnhandledCudaError);
  });
}

TEST(CudaNcclStandinAbort, EndsWhatWaitsAndThePeersFindOut) {
  std::latch looked{3};
  with_ranks(3, [&](Rank& rank) {
    float* const memory = rank.put(values_of(rank.rank));
    // Rank 0 sends nothing; rank 2 waits for rank 1 alone.
    receive(rank, memory, rank.previous());
    std::this_thread::sleep_for(std::chrono::milliseconds{20});
    EXPECT_FALSE(rank.is_done());
    looked.arrive_and_wait();
    if (rank.rank == 0) rank.abort();
    EXPECT_EQ(rank.wait(), CUDA_SUCCESS);
    if (rank.rank != 0) {
      EXPECT_EQ(rank.error(), ncclRemoteError);
    }
  });
}

TEST(CudaNcclStandinArguments, AGroupWithAWrongCallDoesNothing) {
  with_ranks(1, [](Rank& rank) {
    float* const memory = rank.put(values_of(0));
    EXPECT_EQ(ncclGroupStart(), ncclSuccess);
    EXPECT_EQ(send(rank, memory, 0, 1), ncclSuccess);
    EXPECT_EQ(receive(rank, memory + 1, 0, 1), ncclSuccess);
    EXPECT_EQ(ncclRecv(memory, 1, ncclFloat, 0, rank.communicator, nullptr), ncclInvalidUsage)
        << "another stream";
    EXPECT_EQ(ncclGroupEnd(), ncclInvalidUsage);
    EXPECT_EQ(rank.get(memory, kCount), values_of(0));
    EXPECT_EQ(ncclGroupEnd(), ncclInvalidUsage) << "there is no group";
  });
}

}  // namespace
}  // namespace tutti::nccl_standin
