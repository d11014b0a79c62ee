// The stand-in for NCCL: whether it does what tests of the backend rely on.
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

class CudaNcclStandin : public ::testing::TestWithParam<int> {};

TEST_P(CudaNcclStandin, StartsAndEnds) {
  for (const bool blocking : {true, false})
    with_ranks(
        GetParam(),
        [blocking](const Rank& rank) {
          int count = 0;
          int number = -1;
          EXPECT_EQ(ncclCommCount(rank.communicator, &count), ncclSuccess);
          EXPECT_EQ(ncclCommUserRank(rank.communicator, &number), ncclSuccess);
          EXPECT_EQ(count, rank.size);
          EXPECT_EQ(number, rank.rank);
          EXPECT_EQ(ncclCommFinalize(rank.communicator), blocking ? ncclSuccess : ncclInProgress);
          EXPECT_EQ(rank.state(), ncclSuccess);
          EXPECT_EQ(ncclCommFinalize(rank.communicator), ncclInvalidUsage);
        },
        blocking);
}

// Twice around the ring at the same time, with far more than sockets hold, and to the own rank.
TEST_P(CudaNcclStandin, AGroupMakesProgressWithAllMessages) {
  constexpr std::size_t kMany = 2 << 20;
  with_ranks(GetParam(), [](Rank& rank) {
    const float* const own = rank.put(values_of(rank.rank, kMany));
    float* const from_previous = rank.put(std::vector<float>(kMany));
    float* const from_next = rank.put(std::vector<float>(kMany));
    float* const from_self = rank.put(std::vector<float>(kCount));
    EXPECT_EQ(ncclGroupStart(), ncclSuccess);
    EXPECT_EQ(send(rank, own, rank.next(), kMany), ncclSuccess);
    EXPECT_EQ(send(rank, own, rank.previous(), kMany), ncclSuccess);
    EXPECT_EQ(send(rank, own + 1, rank.rank), ncclSuccess);
    EXPECT_EQ(receive(rank, from_previous, rank.previous(), kMany), ncclSuccess);
    EXPECT_EQ(receive(rank, from_next, rank.next(), kMany), ncclSuccess);
    EXPECT_EQ(receive(rank, from_self, rank.rank), ncclSuccess);
    EXPECT_EQ(ncclGroupEnd(), ncclSuccess);
    EXPECT_EQ(rank.wait(), CUDA_SUCCESS);
    EXPECT_EQ(rank.get(from_previous, kMany), values_of(rank.previous(), kMany));
    EXPECT_EQ(rank.get(from_next, kMany), values_of(rank.next(), kMany));
    EXPECT_EQ(rank.get(from_self, 1).front(), values_of(rank.rank, 2).back());
    EXPECT_EQ(rank.state(), ncclSuccess);
  });
}

INSTANTIATE_TEST_SUITE_P(Sizes, CudaNcclStandin, ::testing::Range(1, kDevices + 1));

TEST(CudaNcclStandinStart, WaitsForAllRanks) {
  const ncclUniqueId id = make_id();
  const Rank first{0, 2, id, false};
  EXPECT_EQ(first.started, ncclInProgress);
  ncclResult_t state = ncclSuccess;
  std::this_thread::sleep_for(std::chrono::milliseconds{20});
  EXPECT_EQ(ncclCommGetAsyncError(first.communicator, &state), ncclSuccess);
  EXPECT_EQ(state, ncclInProgress);
  EXPECT_EQ(send(first, nullptr, 1, 0), ncclInvalidArgument) << "it is not connected";
  EXPECT_EQ(ncclCommDestroy(first.communicator), ncclInvalidArgument);
  const Rank second{1, 2, id};
  EXPECT_EQ(second.started, ncclSuccess);
  EXPECT_EQ(first.state(), ncclSuccess);
}

TEST(CudaNcclStandinStart, CanBeAborted) {
  Rank alone{0, 2, make_id(), false};
  alone.abort();
  ncclResult_t state{};
  EXPECT_EQ(ncclCommGetAsyncError(alone.communicator, &state), ncclInvalidArgument);
}

TEST(CudaNcclStandinStart, OneThreadMayStartAllRanksInAGroup) {
  const ncclUniqueId id = make_id();
  EXPECT_EQ(ncclGroupStart(), ncclSuccess);
  Rank first{0, 2, id};
  Rank second{1, 2, id};
  EXPECT_EQ(ncclGroupEnd(), ncclSuccess);
  float* const from = first.put(values_of(0));
  second.use();
  float* const into = second.put(values_of(1));
  EXPECT_EQ(ncclGroupStart(), ncclSuccess);
  EXPECT_EQ(send(first, from, 1), ncclSuccess);
  EXPECT_EQ(receive(second, into, 0), ncclSuccess);
  EXPECT_EQ(ncclGroupEnd(), ncclSuccess);
  EXPECT_EQ(second.get(into, kCount), values_of(0));
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
  setenv("CUDA_STANDIN_SHARE_DEVICE", "1", 1);
  start_on_one_device(ncclSuccess);
  unsetenv("CUDA_STANDIN_SHARE_DEVICE");
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

TEST(CudaNcclStandinMessages, KeepTheOrderOfTheirGroupsOnAllStreams) {
  with_ranks(2, [](Rank& rank) {
    CUstream other = nullptr;
    EXPECT_EQ(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    constexpr int kGroups = 50;
    std::vector<int> numbers(kGroups, -1);
    if (rank.rank == 0) std::iota(numbers.begin(), numbers.end(), 0);
    int* const memory = rank.put(numbers);
    for (int group = 0; group < kGroups; ++group) {
      const CUstream stream = group % 2 == rank.rank ? other : rank.stream();
      if (rank.rank == 0) ncclSend(memory + group, 1, ncclInt, 1, rank.communicator, stream);
      if (rank.rank == 1) ncclRecv(memory + group, 1, ncclInt, 0, rank.communicator, stream);
    }
    EXPECT_EQ(cuStreamSynchronize(other), CUDA_SUCCESS);
    std::iota(numbers.begin(), numbers.end(), 0);
    EXPECT_EQ(rank.get(memory, kGroups), numbers);
    EXPECT_EQ(cuStreamDestroy(other), CUDA_SUCCESS);
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

// What was enqueued and not begun does nothing, even if the communicator is gone by then.
TEST(CudaNcclStandinAbort, EndsWhatHasNotBegun) {
  std::latch gate{1};
  with_ranks(1, [&](Rank& rank) {
    float* const memory = rank.put(values_of(0));
    const auto wait = [](void* latch) { static_cast<std::latch*>(latch)->wait(); };
    EXPECT_EQ(cuLaunchHostFunc(rank.stream(), wait, &gate), CUDA_SUCCESS);
    ncclGroupStart();
    send(rank, memory, 0, 1);
    receive(rank, memory + 1, 0, 1);
    EXPECT_EQ(ncclGroupEnd(), ncclSuccess);
    rank.abort();
    gate.count_down();
    EXPECT_EQ(rank.get(memory, kCount), values_of(0));
  });
}

TEST(CudaNcclStandinAbort, IsFoundOutByIdlePeersAsWell) {
  std::latch started{2};
  with_ranks(2, [&](Rank& rank) {
    started.arrive_and_wait();
    if (rank.rank == 0) return rank.abort();
    EXPECT_EQ(rank.error(), ncclRemoteError);
  });
}

TEST(CudaNcclStandinAbort, IsNotWhatDestroyDoes) {
  std::latch destroyed{1};
  with_ranks(2, [&](Rank& rank) {
    if (rank.rank == 0) {
      EXPECT_EQ(ncclCommDestroy(std::exchange(rank.communicator, nullptr)), ncclSuccess);
      return destroyed.count_down();
    }
    destroyed.wait();
    EXPECT_EQ(rank.state(), ncclSuccess);
    float* const memory = rank.put(values_of(1));
    EXPECT_EQ(receive(rank, memory, 0), ncclSuccess);
    EXPECT_EQ(rank.wait(), CUDA_SUCCESS);
    EXPECT_EQ(rank.error(), ncclRemoteError);
  });
}

TEST(CudaNcclStandinEnd, FinalizeWaitsForWhatIsEnqueued) {
  std::latch gate{1};
  with_ranks(
      1,
      [&](const Rank& rank) {
        const auto wait = [](void* latch) { static_cast<std::latch*>(latch)->wait(); };
        EXPECT_EQ(cuLaunchHostFunc(rank.stream(), wait, &gate), CUDA_SUCCESS);
        ncclGroupStart();
        send(rank, nullptr, 0, 0);
        receive(rank, nullptr, 0, 0);
        EXPECT_EQ(ncclGroupEnd(), ncclInProgress);
        EXPECT_EQ(rank.state(), ncclSuccess);
        EXPECT_EQ(ncclCommFinalize(rank.communicator), ncclInProgress);
        for (int i = 0; i < 3; ++i) {
          ncclResult_t state = ncclSuccess;
          EXPECT_EQ(ncclCommGetAsyncError(rank.communicator, &state), ncclSuccess);
          EXPECT_EQ(state, ncclInProgress);
        }
        gate.count_down();
        EXPECT_EQ(rank.state(), ncclSuccess);
      },
      false);
}

TEST(CudaNcclStandinArguments, AreChecked) {
  EXPECT_EQ(ncclGetVersion(nullptr), ncclInvalidArgument);
  EXPECT_EQ(ncclGetUniqueId(nullptr), ncclInvalidArgument);
  EXPECT_EQ(ncclMemAlloc(nullptr, 1), ncclInvalidArgument);
  EXPECT_EQ(ncclMemFree(nullptr), ncclSuccess);
  EXPECT_EQ(ncclCommDestroy(nullptr), ncclInvalidArgument);
  EXPECT_EQ(ncclCommAbort(nullptr), ncclInvalidArgument);
  EXPECT_EQ(ncclCommFinalize(nullptr), ncclInvalidArgument);
  EXPECT_EQ(ncclGroupEnd(), ncclInvalidUsage);
  with_ranks(1, [](Rank& rank) {
    ncclComm_t other = nullptr;
    ncclConfig_t unset{};
    EXPECT_EQ(ncclCommInitRankConfig(nullptr, 1, make_id(), 0, nullptr), ncclInvalidArgument);
    EXPECT_EQ(ncclCommInitRankConfig(&other, 1, make_id(), 1, nullptr), ncclInvalidArgument);
    EXPECT_EQ(ncclCommInitRankConfig(&other, 1, make_id(), 0, &unset), ncclInvalidArgument);
    EXPECT_EQ(ncclCommInitRankConfig(&other, 1, {}, 0, nullptr), ncclInvalidArgument);
    EXPECT_EQ(ncclCommGetAsyncError(rank.communicator, nullptr), ncclInvalidArgument);
    EXPECT_EQ(ncclCommCount(rank.communicator, nullptr), ncclInvalidArgument);
    float* const memory = rank.put(values_of(0));
    EXPECT_EQ(send(rank, nullptr, 0), ncclInvalidArgument);
    EXPECT_EQ(send(rank, memory, 1), ncclInvalidArgument);
    EXPECT_EQ(send(rank, memory, -1), ncclInvalidArgument);
    EXPECT_EQ(send(rank, memory, 0, ~std::size_t{0}), ncclInvalidArgument);
    EXPECT_EQ(send(rank, memory, 0), ncclInvalidUsage) << "nobody receives it";
    EXPECT_EQ(ncclAllReduce(memory, memory, 1, ncclNumTypes, ncclSum, rank.communicator, nullptr),
              ncclInvalidArgument);
    EXPECT_EQ(ncclAllReduce(memory, memory, 1, ncclFloat, ncclNumOps, rank.communicator, nullptr),
              ncclInvalidArgument);
    void* registration = nullptr;
    EXPECT_EQ(ncclCommRegister(rank.communicator, memory, 4, &registration), ncclSuccess);
    EXPECT_EQ(ncclCommDeregister(rank.communicator, registration), ncclSuccess);
    EXPECT_EQ(ncclCommDeregister(rank.communicator, registration), ncclInvalidArgument);
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
