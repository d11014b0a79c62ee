// The stand-in for NCCL: wrong use that other tests count on it to report, and captures.
#include <chrono>
#include <filesystem>
#include <functional>
#include <future>
#include <latch>
#include <thread>
#include <utility>

#include <dlfcn.h>
#include <nccl.h>

#include "tests/cuda/standin_device.hpp"

namespace tutti::standin {
namespace {

ncclUniqueId make_id() {
  ncclUniqueId id{};
  EXPECT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  return id;
}

/// A rank of a communicator, on the device of its own number. Its memory is full of its number.
class Rank : public Device {
 public:
  Rank(int number, int ranks, const ncclUniqueId& id, bool blocking)
      : Device{number}, rank{number}, size{ranks} {
    put(memory(), static_cast<float>(rank));
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = blocking ? 1 : 0;
    EXPECT_EQ(ncclCommInitRankConfig(&communicator, size, id, rank, &config),
              blocking ? ncclSuccess : ncclInProgress);
    EXPECT_EQ(state(), ncclSuccess);
  }
  ~Rank() {
    use();
    if (communicator != nullptr) {
      EXPECT_EQ(ncclCommDestroy(communicator), ncclSuccess);
    }
  }

  int other() const { return (rank + 1) % size; }
  ncclResult_t send(std::size_t count) const {
    return ncclSend(data(), count, ncclFloat, other(), communicator, stream());
  }
  ncclResult_t receive(std::size_t count) const {
    return ncclRecv(data(), count, ncclFloat, other(), communicator, stream());
  }
  ncclResult_t reduce(const float* from, float* to) const {
    return ncclAllReduce(from, to, 10, ncclFloat, ncclSum, communicator, stream());
  }
  /// @return the first state that is not ncclInProgress.
  ncclResult_t state() const {
    ncclResult_t result = ncclInProgress;
    while (result == ncclInProgress) {
      EXPECT_EQ(ncclCommGetAsyncError(communicator, &result), ncclSuccess);
      std::this_thread::sleep_for(std::chrono::milliseconds{1});
    }
    return result;
  }
  /// Waits for a failure. @return it.
  ncclResult_t failure() const {
    ncclResult_t result = ncclSuccess;
    while (result == ncclSuccess) result = state();
    EXPECT_EQ(wait(), CUDA_SUCCESS);
    return result;
  }
  void abort() { EXPECT_EQ(ncclCommAbort(std::exchange(communicator, nullptr)), ncclSuccess); }

  int rank;
  int size;
  ncclComm_t communicator = nullptr;
};

/// Runs a function for every rank of a communicator, each in a thread.
void with_ranks(int size, const std::function<void(Rank&)>& body, bool blocking = true) {
  const ncclUniqueId id = make_id();
  std::vector<std::thread> threads;
  for (int number = 0; number < size; ++number)
    threads.emplace_back([&, number] {
      Rank rank{number, size, id, blocking};
      body(rank);
    });
  for (std::thread& thread : threads) thread.join();
}

/// Memory of NCCL, in a window.
class Window {
 public:
  Window(const Rank& rank, std::size_t count) {
    void* memory = nullptr;
    EXPECT_EQ(ncclMemAlloc(&memory, count * sizeof(float)), ncclSuccess);
    data = static_cast<float*>(memory);
    result = ncclCommWindowRegister(rank.communicator, memory, count * sizeof(float), &window,
                                    NCCL_WIN_COLL_SYMMETRIC);
  }
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;
  ~Window() { EXPECT_EQ(ncclMemFree(data), ncclSuccess); }

  float* data = nullptr;
  ncclWindow_t window = nullptr;
  ncclResult_t result = ncclSuccess;
};

constexpr std::size_t kWords = 32768;  // several pages

TEST(CudaNcclStandinCalls, AreInProgressAfterEachGroupIfTheyDoNotBlock) {
  with_ranks(
      1,
      [](const Rank& rank) {
        const auto exchange = [&] {
          ncclGroupStart();
          rank.send(1);
          rank.receive(1);
          return ncclGroupEnd();
        };
        EXPECT_EQ(exchange(), ncclInProgress);
        EXPECT_EQ(exchange(), ncclInvalidArgument) << "the first one is in progress";
        EXPECT_EQ(rank.state(), ncclSuccess);
        EXPECT_EQ(exchange(), ncclInProgress);
        EXPECT_EQ(rank.state(), ncclSuccess);
      },
      false);
}

TEST(CudaNcclStandinCalls, RejectTwoRanksOfOneDevice) {
  const ncclUniqueId id = make_id();
  std::vector<std::thread> threads;
  for (int number = 0; number < 2; ++number)
    threads.emplace_back([&, number] {
      const Device device;
      ncclComm_t communicator = nullptr;
      EXPECT_EQ(ncclCommInitRankConfig(&communicator, 2, id, number, nullptr), ncclInvalidUsage);
    });
  for (std::thread& thread : threads) thread.join();
}

TEST(CudaNcclStandinCalls, RejectAnotherStreamInAGroup) {
  with_ranks(1, [](const Rank& rank) {
    ncclGroupStart();
    EXPECT_EQ(rank.send(1), ncclSuccess);
    EXPECT_EQ(ncclRecv(rank.data(), 1, ncclFloat, 0, rank.communicator, nullptr), ncclInvalidUsage);
    EXPECT_EQ(ncclGroupEnd(), ncclInvalidUsage);
    EXPECT_EQ(ncclGroupEnd(), ncclInvalidUsage) << "there is no group";
  });
}

TEST(CudaNcclStandinCalls, RejectASecondThread) {
  const Variable connect{"CUDA_STANDIN_CONNECT", "at_call"};
  std::promise<void> called;
  const std::shared_future<void> has_called = called.get_future().share();
  with_ranks(2, [&](Rank& rank) {
    if (rank.rank == 1) {
      has_called.wait();
      rank.reduce(rank.data(), rank.data());
    } else {
      auto first = std::async(std::launch::async, [&] {
        rank.use();
        return rank.reduce(rank.data(), rank.data());
      });
      EXPECT_EQ(first.wait_for(std::chrono::milliseconds{50}), std::future_status::timeout);
      EXPECT_EQ(rank.reduce(rank.data(), rank.data()), ncclInvalidUsage);
      called.set_value();
      EXPECT_NE(first.get(), ncclSuccess);
    }
    rank.abort();
  });
}

TEST(CudaNcclStandinMessages, AreNotStoredOnTheWay) {
  std::latch looked{2};
  with_ranks(2, [&](Rank& rank) {
    EXPECT_EQ(rank.send(1), ncclSuccess);
    EXPECT_EQ(rank.receive(1), ncclSuccess);
    std::this_thread::sleep_for(std::chrono::milliseconds{50});
    EXPECT_FALSE(rank.is_idle()) << "both ranks send first";
    looked.arrive_and_wait();
    rank.abort();
    EXPECT_EQ(rank.wait(), CUDA_SUCCESS);
  });
}

TEST(CudaNcclStandinMessages, OfAnotherLengthOrCollectiveFail) {
  with_ranks(2, [](const Rank& rank) {
    EXPECT_EQ(rank.rank == 0 ? rank.send(10) : rank.receive(11), ncclSuccess);
    EXPECT_EQ(rank.failure(), rank.rank == 0 ? ncclRemoteError : ncclInternalError);
    EXPECT_STRNE(ncclGetLastError(rank.communicator), "");
    EXPECT_EQ(rank.send(1), rank.failure()) << "it stays failed";
    EXPECT_EQ(rank.get(rank.memory()), Floats(kCount, static_cast<float>(rank.rank)));
  });
  with_ranks(2, [](const Rank& rank) {
    if (rank.rank == 0)
      ncclAllGather(rank.data(), rank.data(), 1, ncclFloat, rank.communicator, rank.stream());
    else rank.reduce(rank.data(), rank.data());
    EXPECT_NE(rank.failure(), ncclSuccess);
  });
}

TEST(CudaNcclStandinMemory, FailsOnceItIsFreed) {
  with_ranks(1, [](const Rank& rank) {
    void* memory = nullptr;
    EXPECT_EQ(ncclMemAlloc(&memory, kBytes), ncclSuccess);
    EXPECT_EQ(ncclMemFree(memory), ncclSuccess);
    EXPECT_EQ(ncclMemFree(memory), ncclInvalidArgument);
    rank.reduce(static_cast<float*>(memory), static_cast<float*>(memory));
    EXPECT_EQ(rank.failure(), ncclUnhandledCudaError);
  });
}

TEST(CudaNcclStandinWindows, HaveAHandleOnceAllRanksRegister) {
  std::promise<void> looked;
  const std::shared_future<void> has_looked = looked.get_future().share();
  with_ranks(
      2,
      [&](const Rank& rank) {
        if (rank.rank == 1) has_looked.wait();
        const Window window{rank, kWords};
        if (rank.rank == 0) {
          EXPECT_EQ(window.window, nullptr);
          looked.set_value();
        }
        EXPECT_EQ(rank.state(), ncclSuccess);
        EXPECT_NE(window.window, nullptr);
        EXPECT_EQ(ncclCommWindowDeregister(rank.communicator, window.window), ncclSuccess);
      },
      false);
  with_ranks(2, [](const Rank& rank) {
    const Window window{rank, rank.rank == 0 ? kWords : 2 * kWords};
    EXPECT_EQ(window.result, ncclInvalidArgument) << "the sizes differ";
  });
}

TEST(CudaNcclStandinWindows, AreNotMixedWithOtherMemory) {
  with_ranks(1, [](Rank& rank) {
    const Window window{rank, kWords};
    EXPECT_EQ(rank.reduce(window.data, rank.data()), ncclInvalidUsage);
    rank.abort();
  });
  with_ranks(2, [](Rank& rank) {
    const Window window{rank, kWords};
    if (rank.rank == 0) ncclSend(window.data, 10, ncclFloat, 1, rank.communicator, rank.stream());
    else rank.receive(10);
    EXPECT_NE(rank.failure(), ncclSuccess);
    rank.abort();
  });
}

TEST(CudaNcclStandinWindows, NeedEqualOffsets) {
  for (const bool equal : {true, false})
    with_ranks(2, [equal](Rank& rank) {
      const Window window{rank, kWords};
      float* const data = window.data + (equal || rank.rank == 0 ? 0 : 64);
      rank.reduce(data, data);
      if (equal) {
        EXPECT_EQ(rank.wait(), CUDA_SUCCESS);
        EXPECT_EQ(rank.state(), ncclSuccess);
        // An abort would be a failure of the other rank, which may not have looked yet.
        EXPECT_EQ(ncclCommWindowDeregister(rank.communicator, window.window), ncclSuccess);
      } else {
        EXPECT_NE(rank.failure(), ncclSuccess);
        rank.abort();
      }
    });
}

TEST(CudaNcclStandinGraphs, HoldUpTheEndOfTheCommunicator) {
  with_ranks(1, [](Rank& rank) {
    CUgraph graph = nullptr;
    CUgraphExec executable = nullptr;
    EXPECT_EQ(cuStreamBeginCapture(rank.stream(), CU_STREAM_CAPTURE_MODE_THREAD_LOCAL),
              CUDA_SUCCESS);
    EXPECT_EQ(rank.reduce(rank.data(), rank.data()), ncclSuccess);
    EXPECT_EQ(cuStreamEndCapture(rank.stream(), &graph), CUDA_SUCCESS);
    EXPECT_EQ(cuGraphInstantiate(&executable, graph, 0), CUDA_SUCCESS);
    EXPECT_EQ(cuGraphDestroy(graph), CUDA_SUCCESS);
    auto ended = std::async(std::launch::async,
                            [&, communicator = std::exchange(rank.communicator, nullptr)] {
                              rank.use();
                              return ncclCommDestroy(communicator);
                            });
    EXPECT_EQ(ended.wait_for(std::chrono::milliseconds{100}), std::future_status::timeout);
    EXPECT_EQ(cuGraphExecDestroy(executable), CUDA_SUCCESS);
    EXPECT_EQ(ended.get(), ncclSuccess);
  });
}

TEST(CudaNcclStandinOld, LacksNewFunctions) {
  const auto folder = std::filesystem::read_symlink("/proc/self/exe").parent_path().parent_path();
  void* const library =
      dlopen((folder / "standin_old/libnccl.so.2").c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  EXPECT_NE(dlsym(library, "ncclMemAlloc"), nullptr);
  for (const char* const recent : {"ncclAlltoAll", "ncclGather", "ncclCommWindowRegister"})
    EXPECT_EQ(dlsym(library, recent), nullptr) << recent;
  EXPECT_EQ(dlclose(library), 0);
}

// In a child process, which reads the variables of the stand-in.
void fail_and_leak() {
  bool right = true;
  with_ranks(1, [&](const Rank& rank) {
    const auto exchange = [&] {
      ncclGroupStart();
      const ncclResult_t sent = rank.send(1);
      rank.receive(1);
      return std::pair{sent, ncclGroupEnd()};
    };
    right = exchange() == std::pair{ncclSuccess, ncclSuccess} && right;
    right = exchange() == std::pair{ncclSystemError, ncclSystemError} && right;
    right = exchange() == std::pair{ncclSuccess, ncclSystemError} && right;
    right = rank.wait() == CUDA_SUCCESS && rank.state() == ncclSuccess && right;
  });
  const auto* const leaked = new Device;
  void* memory = nullptr;
  ncclMemAlloc(&memory, 8);
  ncclComm_t communicator = nullptr;
  ncclCommInitRankConfig(&communicator, 1, make_id(), 0, nullptr);
  std::exit(right && leaked->is_idle() ? 0 : 1);
}

TEST(CudaNcclStandinProcess, ReportsLeaksAndCallsAndFailsCalls) {
  const Variable fault{"CUDA_STANDIN_FAULT", "cuNoCall:1,ncclSend:2,ncclGroupEnd:3,nonsense"};
  const Report leaks{"CUDA_STANDIN_LEAKS"};
  const Report calls{"CUDA_STANDIN_CALLS"};
  EXPECT_EXIT(fail_and_leak(), ::testing::ExitedWithCode(0), "");
  for (const char* const one : {"ncclCommInitRankConfig\n", "ncclMemAlloc\n"})
    EXPECT_NE(leaks.text().find(one), std::string::npos) << leaks.text();
  EXPECT_NE(calls.text().find("ncclCommInitRankConfig 2\n"), std::string::npos) << calls.text();
}

}  // namespace
}  // namespace tutti::standin
