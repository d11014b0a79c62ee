// Communicators that are split, windows, and operators of a program's own, in the stand-in for
// NCCL.
#include <array>
#include <cstdint>
#include <cstdlib>
#include <future>
#include <latch>
#include <numeric>

#include "standin_nccl_rank.hpp"

namespace tutti::nccl_standin {
namespace {

constexpr std::size_t kSplitCount = 100;

/// @return the first state of a communicator that is not ncclInProgress.
ncclResult_t state_of(ncclComm_t communicator) {
  ncclResult_t state = ncclInProgress;
  becomes([&] {
    EXPECT_EQ(ncclCommGetAsyncError(communicator, &state), ncclSuccess);
    return state != ncclInProgress;
  });
  return state;
}

/// What a rank finds in a communicator, by a sum of numbers: one, and its former rank.
std::vector<int> sums_in(Rank& rank, ncclComm_t communicator) {
  int* const numbers = rank.put(std::vector<int>{1, rank.rank});
  const ncclResult_t result =
      ncclAllReduce(numbers, numbers, 2, ncclInt, ncclSum, communicator, rank.stream());
  EXPECT_TRUE(result == ncclSuccess || result == ncclInProgress) << result;
  EXPECT_EQ(state_of(communicator), ncclSuccess);
  return rank.get(numbers, 2);
}

int rank_in(ncclComm_t communicator) {
  int rank = -1;
  EXPECT_EQ(ncclCommUserRank(communicator, &rank), ncclSuccess);
  return rank;
}

TEST(CudaNcclStandinSplit, GoesByColourAndKey) {
  for (const bool blocking : {true, false})
    with_ranks(
        4,
        [blocking](Rank& rank) {
          const ncclResult_t started = blocking ? ncclSuccess : ncclInProgress;
          ncclComm_t half = nullptr;
          EXPECT_EQ(ncclCommSplit(rank.communicator, rank.rank / 2, -rank.rank, &half, nullptr),
                    started);
          EXPECT_EQ(rank.state(), ncclSuccess);
          EXPECT_EQ(state_of(half), ncclSuccess);
          EXPECT_EQ(rank_in(half), 1 - rank.rank % 2) << "the keys turn them around";
          EXPECT_EQ(sums_in(rank, half), (std::vector<int>{2, rank.rank < 2 ? 1 : 5}));
          // One can be split again, and the first is as good as before.
          ncclComm_t alone = nullptr;
          EXPECT_EQ(ncclCommSplit(half, rank.rank, 0, &alone, nullptr), started);
          EXPECT_EQ(state_of(half), ncclSuccess);
          EXPECT_EQ(sums_in(rank, alone), (std::vector<int>{1, rank.rank}));
          EXPECT_EQ(sums_in(rank, rank.communicator), (std::vector<int>{4, 6}));
          EXPECT_EQ(ncclCommDestroy(alone), ncclSuccess);
          EXPECT_EQ(ncclCommDestroy(half), ncclSuccess);
        },
        blocking);
}

TEST(CudaNcclStandinSplit, ARankMayStayOut) {
  for (const bool blocking : {true, false})
    with_ranks(
        3,
        [](Rank& rank) {
          const bool stays_out = rank.rank == 1;
          auto* rest = reinterpret_cast<ncclComm_t>(&rank);
          const ncclResult_t result = ncclCommSplit(
              rank.communicator, stays_out ? NCCL_SPLIT_NOCOLOR : 7, 0, &rest, nullptr);
          EXPECT_EQ(result, rank.state() == ncclSuccess && result == ncclSuccess ? ncclSuccess
                                                                                 : ncclInProgress);
          EXPECT_EQ(rest == nullptr, stays_out);
          if (stays_out) return;
          EXPECT_EQ(state_of(rest), ncclSuccess);
          EXPECT_EQ(sums_in(rank, rest), (std::vector<int>{2, 2}));
          EXPECT_EQ(ncclCommDestroy(rest), ncclSuccess);
        },
        blocking);
}

TEST(CudaNcclStandinSplit, MayBlockWhereTheFirstDoesNot) {
  with_ranks(
      2,
      [](Rank& rank) {
        ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
        config.blocking = 1;
        ncclComm_t both = nullptr;
        EXPECT_EQ(ncclCommSplit(rank.communicator, 0, 0, &both, &config), ncclSuccess);
        EXPECT_EQ(sums_in(rank, both), (std::vector<int>{2, 1}));
        EXPECT_EQ(ncclCommDestroy(both), ncclSuccess);
        EXPECT_EQ(rank.state(), ncclSuccess);
      },
      false);
}

TEST(CudaNcclStandinSplit, OneThreadMaySplitAllRanksInAGroup) {
  const ncclUniqueId id = make_id();
  EXPECT_EQ(ncclGroupStart(), ncclSuccess);
  Rank first{0, 2, id};
  Rank second{1, 2, id};
  EXPECT_EQ(ncclGroupEnd(), ncclSuccess);
  std::array<ncclComm_t, 2> made{};
  EXPECT_EQ(ncclGroupStart(), ncclSuccess);
  EXPECT_EQ(ncclCommSplit(first.communicator, 0, 1, &made[0], nullptr), ncclSuccess);
  EXPECT_EQ(ncclCommSplit(second.communicator, 0, 0, &made[1], nullptr), ncclSuccess);
  EXPECT_EQ(ncclGroupEnd(), ncclSuccess);
  EXPECT_EQ(rank_in(made[0]), 1);
  EXPECT_EQ(rank_in(made[1]), 0);
  for (ncclComm_t one : made) EXPECT_EQ(ncclCommDestroy(one), ncclSuccess);
}

TEST(CudaNcclStandinSplit, WaitsForAllRanksAndCanBeAborted) {
  std::latch looked{2};
  with_ranks(
      2,
      [&](Rank& rank) {
        ncclComm_t made = nullptr;
        if (rank.rank == 0) {
          EXPECT_EQ(ncclCommSplit(rank.communicator, 0, 0, &made, nullptr), ncclInProgress);
          std::this_thread::sleep_for(std::chrono::milliseconds{20});
          ncclResult_t state{};
          for (ncclComm_t one : {rank.communicator, made}) {
            EXPECT_EQ(ncclCommGetAsyncError(one, &state), ncclSuccess);
            EXPECT_EQ(state, ncclInProgress);
          }
          EXPECT_EQ(ncclCommAbort(made), ncclSuccess);
        }
        looked.arrive_and_wait();
        rank.abort();
      },
      false);
}

TEST(CudaNcclStandinSplit, ArgumentsAreChecked) {
  with_ranks(1, [](const Rank& rank) {
    ncclComm_t made = nullptr;
    int device = -1;
    EXPECT_EQ(ncclCommSplit(nullptr, 0, 0, &made, nullptr), ncclInvalidArgument);
    EXPECT_EQ(ncclCommSplit(rank.communicator, 0, 0, nullptr, nullptr), ncclInvalidArgument);
    EXPECT_EQ(ncclCommSplit(rank.communicator, -2, 0, &made, nullptr), ncclInvalidArgument);
    EXPECT_EQ(ncclCommCuDevice(rank.communicator, nullptr), ncclInvalidArgument);
    EXPECT_EQ(ncclCommCuDevice(rank.communicator, &device), ncclSuccess);
    EXPECT_EQ(device, rank.rank);
  });
}

/// A window of memory of NCCL's own.
class Window {
 public:
  Window(ncclComm_t communicator, std::size_t bytes) : communicator_{communicator} {
    EXPECT_EQ(ncclMemAlloc(&memory_, bytes), ncclSuccess);
    result =
        ncclCommWindowRegister(communicator, memory_, bytes, &window_, NCCL_WIN_COLL_SYMMETRIC);
  }
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;
  ~Window() {
    EXPECT_EQ(ncclCommWindowDeregister(communicator_, window_), ncclSuccess);
    EXPECT_EQ(ncclCommWindowDeregister(communicator_, window_),
              has_handle() ? ncclInvalidArgument : ncclSuccess);
    EXPECT_EQ(ncclMemFree(memory_), ncclSuccess);
  }

  /// Once all ranks have registered.
  bool has_handle() const { return window_ != nullptr; }

  ncclResult_t result = ncclSuccess;

 private:
  ncclComm_t communicator_;
  void* memory_ = nullptr;
  ncclWindow_t window_ = nullptr;
};

TEST(CudaNcclStandinWindows, AreRegisteredByAllRanks) {
  for (const bool blocking : {true, false})
    with_ranks(
        3,
        [](const Rank& rank) {
          const Window window{rank.communicator, 40};
          EXPECT_EQ(window.result, ncclSuccess);
          EXPECT_EQ(rank.state(), ncclSuccess);
          EXPECT_TRUE(window.has_handle());
        },
        blocking);
}

/// A communicator that does not block writes it when all ranks have come.
TEST(CudaNcclStandinWindows, HaveAHandleWhenAllRanksHaveCome) {
  std::promise<void> looked;
  const std::shared_future<void> has_looked = looked.get_future().share();
  with_ranks(
      2,
      [&](const Rank& rank) {
        if (rank.rank == 1) has_looked.wait();
        const Window window{rank.communicator, 40};
        if (rank.rank == 0) {
          EXPECT_FALSE(window.has_handle());
          looked.set_value();
        }
        EXPECT_EQ(rank.state(), ncclSuccess);
        EXPECT_TRUE(window.has_handle());
      },
      false);
}

TEST(CudaNcclStandinWindows, AreNoneWhereRanksDoNotSeeEachOther) {
  setenv("CUDA_STANDIN_SYMMETRIC", "0", 1);
  with_ranks(2, [](const Rank& rank) {
    const Window window{rank.communicator, 40};
    EXPECT_EQ(window.result, ncclSuccess);
    EXPECT_FALSE(window.has_handle());
  });
  unsetenv("CUDA_STANDIN_SYMMETRIC");
}

TEST(CudaNcclStandinWindows, HaveOneSize) {
  with_ranks(2, [](const Rank& rank) {
    const Window window{rank.communicator, rank.rank == 0 ? std::size_t{8} : std::size_t{16}};
    EXPECT_EQ(window.result, ncclInvalidArgument);
    EXPECT_FALSE(window.has_handle());
    EXPECT_EQ(rank.state(), ncclInvalidArgument);
  });
}

TEST(CudaNcclStandinWindows, AreNotMetByASplit) {
  with_ranks(2, [](const Rank& rank) {
    ncclComm_t made = nullptr;
    if (rank.rank == 0) {
      EXPECT_EQ(ncclCommSplit(rank.communicator, 0, 0, &made, nullptr), ncclInvalidUsage);
      EXPECT_EQ(made, nullptr);
    } else {
      EXPECT_EQ(Window(rank.communicator, 8).result, ncclInvalidUsage);
    }
  });
}

TEST(CudaNcclStandinWindows, ArgumentsAreChecked) {
  with_ranks(1, [](Rank& rank) {
    ncclWindow_t window = nullptr;
    int* const memory = rank.put(std::vector<int>(4096));
    const auto pages = std::vector<char>(8192);
    const auto page = (reinterpret_cast<std::uintptr_t>(pages.data()) + 4095) / 4096 * 4096;
    const auto add = [&](void* start, std::size_t bytes, int flags = 0) {
      return ncclCommWindowRegister(rank.communicator, start, bytes, &window, flags);
    };
    EXPECT_EQ(add(nullptr, 4), ncclInvalidArgument);
    EXPECT_EQ(add(memory, 0), ncclInvalidArgument);
    EXPECT_EQ(add(memory, 4, 2), ncclInvalidArgument);
    EXPECT_EQ(add(memory + 1, 4), ncclInvalidArgument);
    EXPECT_EQ(add(memory, 4097 * sizeof(int)), ncclUnhandledCudaError);
    EXPECT_EQ(add(reinterpret_cast<void*>(page), 4),  // NOLINT(performance-no-int-to-ptr)
              ncclInvalidArgument);
    EXPECT_EQ(ncclCommWindowRegister(rank.communicator, memory, 4, nullptr, 0),
              ncclInvalidArgument);
    EXPECT_EQ(ncclCommWindowDeregister(rank.communicator, nullptr), ncclSuccess);
    cuCtxSetCurrent(nullptr);
    EXPECT_EQ(ncclCommWindowDeregister(rank.communicator, nullptr), ncclUnhandledCudaError);
    rank.use();
    EXPECT_EQ(rank.state(), ncclSuccess);
  });
}

TEST(CudaNcclStandinOperators, MultiplyWhatEachRankAdds) {
  with_ranks(3, [](Rank& rank) {
    std::vector<float> values(kSplitCount);
    std::iota(values.begin(), values.end(), 0.0F);
    float* const from = rank.put(values);
    float* const into = rank.put(values);
    float* const scalar = rank.put(std::vector<float>{100});
    std::array<ncclRedOp_t, 2> ops{};
    {
      float own = static_cast<float>(rank.rank);
      EXPECT_EQ(ncclRedOpCreatePreMulSum(&ops[0], &own, ncclFloat, ncclScalarHostImmediate,
                                         rank.communicator),
                ncclSuccess);
    }
    EXPECT_EQ(
        ncclRedOpCreatePreMulSum(&ops[1], scalar, ncclFloat, ncclScalarDevice, rank.communicator),
        ncclSuccess);
    const auto reduce = [&](ncclRedOp_t op, ncclDataType_t datatype = ncclFloat) {
      return ncclAllReduce(from, into, kSplitCount, datatype, op, rank.communicator, rank.stream());
    };
    EXPECT_EQ(reduce(ops[0]), ncclSuccess);
    EXPECT_EQ(rank.get(into, kSplitCount)[5], 15.0F);
    EXPECT_EQ(reduce(ops[1]), ncclSuccess);
    EXPECT_EQ(rank.get(into, kSplitCount)[5], 1500.0F);
    EXPECT_EQ(rank.get(from, kSplitCount), values);
    EXPECT_EQ(reduce(ops[0], ncclInt), ncclInvalidArgument);
    // One that was used may be destroyed before it is all done.
    EXPECT_EQ(reduce(ops[0]), ncclSuccess);
    for (const ncclRedOp_t op : ops) {
      EXPECT_EQ(ncclRedOpDestroy(op, rank.communicator), ncclSuccess);
      EXPECT_EQ(ncclRedOpDestroy(op, rank.communicator), ncclInvalidArgument);
      EXPECT_EQ(reduce(op), ncclInvalidArgument);
    }
    EXPECT_EQ(rank.get(into, kSplitCount)[5], 15.0F);
    EXPECT_EQ(ncclRedOpDestroy(ncclSum, rank.communicator), ncclInvalidArgument);
  });
}

TEST(CudaNcclStandinOperators, ArgumentsAreChecked) {
  with_ranks(1, [](const Rank& rank) {
    ncclRedOp_t op{};
    float scalar = 1;
    constexpr auto kHost = ncclScalarHostImmediate;
    const auto add = [&](ncclRedOp_t* to, void* value, ncclDataType_t datatype) {
      return ncclRedOpCreatePreMulSum(to, value, datatype, kHost, rank.communicator);
    };
    EXPECT_EQ(add(nullptr, &scalar, ncclFloat), ncclInvalidArgument);
    EXPECT_EQ(add(&op, nullptr, ncclFloat), ncclInvalidArgument);
    EXPECT_EQ(add(&op, &scalar, ncclNumTypes), ncclInvalidArgument);
  });
}

}  // namespace
}  // namespace tutti::nccl_standin
