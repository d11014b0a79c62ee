// The stand-in for NCCL, over whole processes: which calls fail, and the report when a process
// ends.
#include <array>
#include <cstdlib>
#include <filesystem>
#include <string>

#include <dlfcn.h>
#include <unistd.h>

#include "standin_environment.hpp"
#include "standin_nccl_rank.hpp"

namespace tutti::nccl_standin {
namespace {

TEST(CudaNcclStandinVersion, AnOldLibraryHasNoNewFunctions) {
  std::array<char, 4096> program{};
  ASSERT_GT(readlink("/proc/self/exe", program.data(), program.size() - 1), 0);
  const std::string folder = std::string{program.data()} + "/../../standin_old/";
  const std::string path = std::filesystem::path{folder}.lexically_normal() / "libnccl.so.2";
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  for (const char* const old : {"ncclMemAlloc", "ncclSend"})
    EXPECT_NE(dlsym(library, old), nullptr) << old;
  for (const char* const recent : {"ncclAlltoAll", "ncclGather", "ncclCommWindowRegister"})
    EXPECT_EQ(dlsym(library, recent), nullptr) << recent;
  EXPECT_EQ(dlclose(library), 0);
}

// The library is loaded once per process, so each of these tests looks at a child process.
class CudaNcclStandinProcess : public ::testing::Test {
 protected:
  void SetUp() override { ::testing::GTEST_FLAG(death_test_style) = "threadsafe"; }
};

void fail_two_calls() {
  bool right = true;
  with_ranks(1, [&](Rank& rank) {
    float* const memory = rank.put(std::vector<float>{1, 2});
    const auto send = [&] {
      return ncclSend(memory, 1, ncclFloat, 0, rank.communicator, rank.stream());
    };
    const auto exchange = [&] {
      ncclGroupStart();
      const ncclResult_t sent = send();
      ncclRecv(memory + 1, 1, ncclFloat, 0, rank.communicator, rank.stream());
      const ncclResult_t ended = ncclGroupEnd();
      return std::pair{sent, ended};
    };
    right = right && exchange() == std::pair{ncclSuccess, ncclSuccess};
    right = right && exchange() == std::pair{ncclSystemError, ncclSystemError};
    right = right && exchange() == std::pair{ncclSuccess, ncclSystemError};
    right = right && exchange() == std::pair{ncclSuccess, ncclSuccess};
    right = right && rank.wait() == CUDA_SUCCESS && rank.state() == ncclSuccess;
  });
  std::exit(right ? 0 : 1);
}

TEST_F(CudaNcclStandinProcess, AnyCallMayFail) {
  const test::Variable fault{"CUDA_STANDIN_FAULT", "cuNoCall:1,ncclSend:2,ncclGroupEnd:3,nonsense"};
  EXPECT_EXIT(fail_two_calls(), ::testing::ExitedWithCode(0), "");
}

// A stream still waits for a message when the process ends.
void leak() {
  static std::array<Rank*, 2> ranks{};
  const ncclUniqueId id = make_id();
  const auto start = [&](int number) {
    ranks.at(static_cast<std::size_t>(number)) = new Rank{number, 2, id};
  };
  std::thread other{start, 1};
  start(0);
  other.join();
  void* memory = nullptr;
  ncclMemAlloc(&memory, 8);
  ncclRecv(memory, 1, ncclFloat, 1, ranks[0]->communicator, ranks[0]->stream());
  std::exit(0);
}

TEST_F(CudaNcclStandinProcess, TellsOfLeaksAndCallsAtTheEnd) {
  const test::Report leaks{"CUDA_STANDIN_LEAKS"};
  const test::Report calls{"CUDA_STANDIN_CALLS"};
  EXPECT_EXIT(leak(), ::testing::ExitedWithCode(0), "");
  const std::string found = leaks.text();
  for (const char* const one : {"ncclCommInitRankConfig\n", "ncclMemAlloc\n"})
    EXPECT_NE(found.find(one), std::string::npos) << found;
  EXPECT_NE(calls.text().find("ncclCommInitRankConfig 2\n"), std::string::npos) << calls.text();
  EXPECT_NE(calls.text().find("ncclMemAlloc 1\n"), std::string::npos);
}

}  // namespace
}  // namespace tutti::nccl_standin
