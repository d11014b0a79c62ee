// The stand-in for NCCL, over whole processes: ranks that are processes, one that dies, which calls
// fail, and what is told when a process ends.
#include <array>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "standin_nccl_rank.hpp"

namespace tutti::nccl_standin {
namespace {

/// A file with a name, which child processes find by the environment.
class SharedFile {
 public:
  explicit SharedFile(const char* variable)
      : variable_{variable}, path_{::testing::TempDir() + variable + "." +
                                   std::to_string(getpid())} {
    setenv(variable, path_.c_str(), 0);
  }
  SharedFile(const SharedFile&) = delete;
  SharedFile& operator=(const SharedFile&) = delete;
  ~SharedFile() {
    unlink(path_.c_str());
    unsetenv(variable_);
  }

  const std::string& path() const { return path_; }
  std::string text() const {
    std::ifstream file{path_};
    return std::string{std::istreambuf_iterator<char>{file}, {}};
  }

 private:
  const char* variable_;
  std::string path_;
};

constexpr std::size_t kRingElements = 100'000;

// What a child process does, which reads its rank from its standard input: it sends once around.
TEST(CudaNcclStandinChild, DISABLED_Ring) {
  ncclUniqueId id{};
  int place[2] = {};
  ASSERT_EQ(read(STDIN_FILENO, &id, sizeof id), static_cast<ssize_t>(sizeof id));
  ASSERT_EQ(read(STDIN_FILENO, place, sizeof place), static_cast<ssize_t>(sizeof place));
  Rank rank{place[0], place[1], id};
  ASSERT_EQ(rank.started, ncclSuccess);
  float* const from = rank.put(std::vector<float>(kRingElements, static_cast<float>(rank.rank)));
  float* const into = rank.put(std::vector<float>(kRingElements));
  ncclGroupStart();
  ncclSend(from, kRingElements, ncclFloat, rank.next(), rank.communicator, rank.stream());
  ncclRecv(into, kRingElements, ncclFloat, rank.previous(), rank.communicator, rank.stream());
  EXPECT_EQ(ncclGroupEnd(), ncclSuccess);
  EXPECT_EQ(rank.get(into, kRingElements),
            std::vector<float>(kRingElements, static_cast<float>(rank.previous())));
  EXPECT_EQ(rank.state(), ncclSuccess);
}

/// A process that is a rank of a ring.
class Child {
 public:
  Child(const ncclUniqueId& id, int rank, int size) {
    std::array<int, 2> pipe_ends{};
    EXPECT_EQ(pipe2(pipe_ends.data(), O_CLOEXEC), 0);
    std::string program = "/proc/self/exe";
    std::string filter = "--gtest_filter=CudaNcclStandinChild.DISABLED_Ring";
    std::string also = "--gtest_also_run_disabled_tests";
    std::array<char*, 4> arguments{program.data(), filter.data(), also.data(), nullptr};
    process_ = fork();
    if (process_ == 0) {
      dup2(pipe_ends[0], STDIN_FILENO);
      execv(program.c_str(), arguments.data());
      _exit(127);
    }
    const std::array place{rank, size};
    EXPECT_EQ(write(pipe_ends[1], &id, sizeof id), static_cast<ssize_t>(sizeof id));
    EXPECT_EQ(write(pipe_ends[1], place.data(), sizeof place), static_cast<ssize_t>(sizeof place));
    for (const int end : pipe_ends) close(end);
  }

  void kill() const { ::kill(process_, SIGKILL); }
  /// @return the exit status.
  int wait() const {
    int status = 0;
    EXPECT_EQ(waitpid(process_, &status, 0), process_);
    return status;
  }

 private:
  pid_t process_ = 0;
};

TEST(CudaNcclStandinProcesses, AreRanks) {
  const ncclUniqueId id = make_id();
  std::vector<Child> children;
  for (int rank = 0; rank < 3; ++rank) children.emplace_back(id, rank, 3);
  for (const Child& child : children) EXPECT_EQ(child.wait(), 0);
}

TEST(CudaNcclStandinProcesses, ThatDieAreFoundOut) {
  const ncclUniqueId id = make_id();
  const Child child{id, 1, 2};
  Rank rank{0, 2, id};
  ASSERT_EQ(rank.started, ncclSuccess);
  float* const memory = rank.put(std::vector<float>(1));
  ncclRecv(memory, 1, ncclFloat, 1, rank.communicator, rank.stream());
  child.kill();
  EXPECT_NE(child.wait(), 0);
  EXPECT_EQ(rank.wait(), CUDA_SUCCESS);
  EXPECT_NE(rank.error(), ncclSuccess);
}

TEST(CudaNcclStandinVersion, IsThatOfTheHeaderOrOfTheEnvironment) {
  int version = 0;
  EXPECT_EQ(ncclGetVersion(&version), ncclSuccess);
  EXPECT_EQ(version, NCCL_VERSION_CODE);
  setenv("CUDA_STANDIN_NCCL_VERSION", "22300", 1);
  EXPECT_EQ(ncclGetVersion(&version), ncclSuccess);
  EXPECT_EQ(version, 22300);
  unsetenv("CUDA_STANDIN_NCCL_VERSION");
}

TEST(CudaNcclStandinVersion, AnOldLibraryHasNoNewFunctions) {
  std::array<char, 4096> program{};
  ASSERT_GT(readlink("/proc/self/exe", program.data(), program.size() - 1), 0);
  const std::string folder = std::string{program.data()} + "/../../standin_old/";
  const std::string path = std::filesystem::path{folder}.lexically_normal() / "libnccl.so.2";
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  for (const char* const old : {"ncclCommSplit", "ncclMemAlloc", "ncclSend"})
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
  setenv("CUDA_STANDIN_FAULT", "cuNoCall:1,ncclSend:2,ncclGroupEnd:3,nonsense", 0);
  EXPECT_EXIT(fail_two_calls(), ::testing::ExitedWithCode(0), "");
  unsetenv("CUDA_STANDIN_FAULT");
}

// A stream still waits for a message when the process ends.
void leak() {
  static std::array<Rank*, 2> ranks{};
  const ncclUniqueId id = make_id();
  const auto start = [&](int number) {
    Rank* const rank = new Rank{number, 2, id};
    ncclComm_t half = nullptr;
    ncclCommSplit(rank->communicator, number == 0 ? 0 : NCCL_SPLIT_NOCOLOR, 0, &half, nullptr);
    ranks.at(static_cast<std::size_t>(number)) = rank;
  };
  std::thread other{start, 1};
  start(0);
  other.join();
  float scalar = 1;
  ncclRedOp_t op{};
  ncclRedOpCreatePreMulSum(&op, &scalar, ncclFloat, ncclScalarHostImmediate,
                           ranks[0]->communicator);
  void* memory = nullptr;
  ncclMemAlloc(&memory, 8);
  ncclRecv(memory, 1, ncclFloat, 1, ranks[0]->communicator, ranks[0]->stream());
  std::exit(0);
}

TEST_F(CudaNcclStandinProcess, TellsOfLeaksAndCallsAtTheEnd) {
  const SharedFile leaks{"CUDA_STANDIN_LEAKS"};
  const SharedFile calls{"CUDA_STANDIN_CALLS"};
  EXPECT_EXIT(leak(), ::testing::ExitedWithCode(0), "");
  const std::string found = leaks.text();
  for (const char* const one :
       {"ncclCommInitRankConfig\n", "ncclCommSplit\n", "ncclMemAlloc\nncclRedOpCreatePreMulSum\n"})
    EXPECT_NE(found.find(one), std::string::npos) << found;
  EXPECT_NE(calls.text().find("ncclCommInitRankConfig 2\n"), std::string::npos) << calls.text();
  EXPECT_NE(calls.text().find("ncclMemAlloc 1\n"), std::string::npos);
}

}  // namespace
}  // namespace tutti::nccl_standin
