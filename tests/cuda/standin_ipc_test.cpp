// Memory that processes share, in the stand-in for the CUDA driver.
#include <array>
#include <string>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/cuda/standin_devices.hpp"

namespace tutti::standin {
namespace {

constexpr unsigned kFlags = CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS;

/// A process that runs one of the tests below, which talk by their standard input and output.
class Child {
 public:
  explicit Child(const std::string& test) {
    std::array<int, 2> in{};
    std::array<int, 2> out{};
    EXPECT_EQ(pipe2(in.data(), O_CLOEXEC), 0);
    EXPECT_EQ(pipe2(out.data(), O_CLOEXEC), 0);
    std::string program = "/proc/self/exe";
    std::string filter = "--gtest_filter=CudaStandinIpcChild.DISABLED_" + test;
    std::string also = "--gtest_also_run_disabled_tests";
    std::array<char*, 4> arguments{program.data(), filter.data(), also.data(), nullptr};
    process_ = fork();
    if (process_ == 0) {
      dup2(in[0], STDIN_FILENO);
      dup2(out[1], kAnswer);
      execv(program.c_str(), arguments.data());
      _exit(127);
    }
    close(in[0]);
    close(out[1]);
    to_ = in[1];
    from_ = out[0];
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    close(to_);
    close(from_);
  }

  static constexpr int kAnswer = 100;  ///< The file that the child writes to.

  void tell(const CUipcMemHandle& handle) const {
    EXPECT_EQ(write(to_, &handle, sizeof handle), static_cast<ssize_t>(sizeof handle));
  }
  CUipcMemHandle hear() const {
    CUipcMemHandle handle{};
    EXPECT_EQ(::read(from_, &handle, sizeof handle), static_cast<ssize_t>(sizeof handle));
    return handle;
  }
  /// @return the exit status.
  int wait() const {
    int status = 0;
    EXPECT_EQ(waitpid(process_, &status, 0), process_);
    return status;
  }

 private:
  pid_t process_ = 0;
  int to_ = -1;
  int from_ = -1;
};

CUipcMemHandle handle_of(CUdeviceptr memory) {
  CUipcMemHandle handle{};
  EXPECT_EQ(cuIpcGetMemHandle(&handle, memory), CUDA_SUCCESS);
  return handle;
}

// Reads what the parent has put there, writes twice as much, and lets the parent's stream go on.
TEST(CudaStandinIpcChild, DISABLED_Doubles) {
  CUipcMemHandle handle{};
  ASSERT_EQ(::read(STDIN_FILENO, &handle, sizeof handle), static_cast<ssize_t>(sizeof handle));
  const OnDevice own{1};
  CUdeviceptr opened = 0;
  ASSERT_EQ(cuIpcOpenMemHandle(&opened, handle, kFlags), CUDA_SUCCESS);
  const Known known = known_of(opened + 1);
  EXPECT_EQ(known.type, CU_MEMORYTYPE_DEVICE);
  EXPECT_EQ(known.device, 0);
  EXPECT_EQ(known.bytes, 2 * kBytes);
  EXPECT_EQ(own.run_copy(own.memory(), opened), CUDA_SUCCESS);
  EXPECT_EQ(own.get(own.memory()), std::vector<float>(kCount, 5));
  own.put(opened, 10);
  EXPECT_EQ(cuStreamWriteValue32(own.stream(), opened + kBytes, 1, 0), CUDA_SUCCESS);
  EXPECT_EQ(own.wait(), CUDA_SUCCESS);
  EXPECT_EQ(cuIpcCloseMemHandle(opened), CUDA_SUCCESS);
}

// Opens and closes, in all ways but the right one, too.
TEST(CudaStandinIpcChild, DISABLED_OpensTwice) {
  CUipcMemHandle handle{};
  ASSERT_EQ(::read(STDIN_FILENO, &handle, sizeof handle), static_cast<ssize_t>(sizeof handle));
  std::array<CUdeviceptr, 2> opened{};
  CUdeviceptr other = 0;
  {
    const OnDevice fourth{3};
    EXPECT_EQ(cuIpcOpenMemHandle(&other, handle, kFlags), CUDA_ERROR_PEER_ACCESS_UNSUPPORTED);
  }
  const OnDevice third{2};
  const OnDevice own{0};
  for (CUdeviceptr& start : opened)
    EXPECT_EQ(cuIpcOpenMemHandle(&start, handle, kFlags), CUDA_SUCCESS);
  EXPECT_EQ(opened[0], opened[1]);
  EXPECT_EQ(cuIpcOpenMemHandle(&other, handle, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuIpcOpenMemHandle(&other, {}, kFlags), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuIpcGetMemHandle(&handle, opened[0]), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemFree(opened[0]), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuIpcCloseMemHandle(opened[0] + 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuIpcCloseMemHandle(own.memory()), CUDA_ERROR_INVALID_VALUE);
  // Only the device that has opened it may access it; copies always may.
  third.use();
  EXPECT_EQ(third.get(opened[0]), std::vector<float>(kCount, 5));
  EXPECT_EQ(third.run_copy(third.memory(), opened[0]), CUDA_ERROR_ILLEGAL_ADDRESS);
  own.use();
  EXPECT_EQ(cuIpcCloseMemHandle(opened[0]), CUDA_SUCCESS);
  EXPECT_EQ(own.run_copy(own.memory(), opened[0]), CUDA_SUCCESS);
  EXPECT_EQ(write(Child::kAnswer, reinterpret_cast<const void*>(opened[0]), 1), -1)
      << "the host may not";
  EXPECT_EQ(cuIpcCloseMemHandle(opened[0]), CUDA_SUCCESS);
  EXPECT_EQ(cuIpcCloseMemHandle(opened[0]), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(own.run_copy(own.memory(), opened[0]), CUDA_ERROR_ILLEGAL_ADDRESS);
}

// Hands out memory that ends with this process.
TEST(CudaStandinIpcChild, DISABLED_Exports) {
  const OnDevice own{1};
  own.fill(7);
  const CUipcMemHandle handle = handle_of(own.memory());
  ASSERT_EQ(write(Child::kAnswer, &handle, sizeof handle), static_cast<ssize_t>(sizeof handle));
  CUipcMemHandle end{};
  static_cast<void>(::read(STDIN_FILENO, &end, sizeof end));
}

TEST(CudaStandinIpc, MemoryIsReadAndWrittenByAnotherProcess) {
  const OnDevice own{0};
  CUdeviceptr memory = 0;
  EXPECT_EQ(cuMemAlloc(&memory, 2 * kBytes), CUDA_SUCCESS);
  EXPECT_EQ(cuMemsetD8Async(memory, 0, 2 * kBytes, own.stream()), CUDA_SUCCESS);
  own.put(memory, 5);
  const Child child{"Doubles"};
  child.tell(handle_of(memory));
  EXPECT_EQ(cuStreamWaitValue32(own.stream(), memory + kBytes, 1, CU_STREAM_WAIT_VALUE_EQ),
            CUDA_SUCCESS);
  EXPECT_EQ(own.get(memory), std::vector<float>(kCount, 10));
  EXPECT_EQ(child.wait(), 0);
  EXPECT_EQ(cuMemFree(memory), CUDA_SUCCESS);
}

TEST(CudaStandinIpc, HandlesAreOpenedAndClosed) {
  const OnDevice own{0};
  own.fill(5);
  const Child child{"OpensTwice"};
  child.tell(handle_of(own.memory() + kBytes - 1));
  EXPECT_EQ(child.wait(), 0);
}

TEST(CudaStandinIpc, MemoryThatIsOpenOutlivesItsProcess) {
  const OnDevice own{0};
  const Child child{"Exports"};
  const CUipcMemHandle handle = child.hear();
  CUdeviceptr opened = 0;
  ASSERT_EQ(cuIpcOpenMemHandle(&opened, handle, kFlags), CUDA_SUCCESS);
  EXPECT_EQ(own.run_copy(own.memory(), opened), CUDA_SUCCESS);
  EXPECT_EQ(own.get(own.memory()), std::vector<float>(kCount, 7));
  child.tell({});
  EXPECT_EQ(child.wait(), 0);
  EXPECT_EQ(own.run_copy(own.memory(), opened), CUDA_SUCCESS);
  EXPECT_EQ(cuIpcCloseMemHandle(opened), CUDA_SUCCESS);
  EXPECT_EQ(cuIpcOpenMemHandle(&opened, handle, kFlags), CUDA_ERROR_INVALID_HANDLE);
}

TEST(CudaStandinIpc, AProcessDoesNotOpenItsOwn) {
  const OnDevice own{0};
  CUdeviceptr opened = 0;
  CUdeviceptr pooled = 0;
  CUipcMemHandle handle = handle_of(own.memory());
  EXPECT_EQ(cuIpcOpenMemHandle(&opened, handle, kFlags), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(cuMemAllocAsync(&pooled, 8, own.stream()), CUDA_SUCCESS);
  EXPECT_EQ(cuIpcGetMemHandle(&handle, pooled), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuIpcGetMemHandle(&handle, address_of(&handle)), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuIpcGetMemHandle(nullptr, own.memory()), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemFreeAsync(pooled, own.stream()), CUDA_SUCCESS);
}

TEST(CudaStandinIpc, AnAllocationHasARange) {
  const OnDevice own{0};
  CUdeviceptr start = 0;
  std::size_t bytes = 0;
  EXPECT_EQ(cuMemGetAddressRange(&start, &bytes, own.memory() + 1), CUDA_SUCCESS);
  EXPECT_EQ(start, own.memory());
  EXPECT_EQ(bytes, kBytes);
  EXPECT_EQ(cuMemGetAddressRange(nullptr, nullptr, own.memory() + kBytes), CUDA_ERROR_NOT_FOUND);
}

}  // namespace
}  // namespace tutti::standin
