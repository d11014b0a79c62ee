// The stand-in for the CUDA driver, over whole processes: how many devices there are, which call
// fails, and what is told when a process ends.
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include <unistd.h>

#include <cuda.h>
#include <gtest/gtest.h>

namespace tutti::standin {
namespace {

/// A variable of the environment, which child processes inherit. A value that it has stays, so that
/// a child process finds its parent's.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_{name} {
    setenv(name, value.c_str(), 0);
  }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;
  ~Variable() { unsetenv(name_); }

 private:
  const char* name_;
};

/// A file that a child process writes.
class Report {
 public:
  explicit Report(const char* variable)
      : path_{::testing::TempDir() + variable + "." + std::to_string(getpid())}, variable_{variable,
                                                                                           path_} {}
  Report(const Report&) = delete;
  Report& operator=(const Report&) = delete;
  ~Report() { unlink(path_.c_str()); }

  std::string text() const {
    std::ifstream file{path_};
    EXPECT_TRUE(file.is_open()) << path_;
    return std::string{std::istreambuf_iterator<char>{file}, {}};
  }

 private:
  std::string path_;
  Variable variable_;
};

/// Ends the process, and says whether something is as it should be.
[[noreturn]] void leave(bool right) {
  std::exit(right ? 0 : 1);
}

// The driver is loaded once per process, so each of these tests looks at a child process of its
// own.
class CudaStandinProcess : public ::testing::Test {
 protected:
  void SetUp() override { ::testing::GTEST_FLAG(death_test_style) = "threadsafe"; }
};

/// A stream in the context of the first device.
CUstream start() {
  CUcontext context = nullptr;
  CUstream stream = nullptr;
  cuInit(0);
  cuDevicePrimaryCtxRetain(&context, 0);
  cuCtxSetCurrent(context);
  cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
  return stream;
}

void without_devices() {
  int count = 0;
  leave(cuInit(0) == CUDA_ERROR_NO_DEVICE && cuDeviceGetCount(&count) != CUDA_SUCCESS);
}

TEST_F(CudaStandinProcess, ThereMayBeNoDevice) {
  const Variable devices{"CUDA_STANDIN_DEVICES", "0"};
  EXPECT_EXIT(without_devices(), ::testing::ExitedWithCode(0), "");
}

void two_devices() {
  int count = 0;
  bool right = cuInit(0) == CUDA_SUCCESS && cuDeviceGetCount(&count) == CUDA_SUCCESS && count == 2;
  std::array<char, 16> name{};
  right = right && cuDeviceGetName(name.data(), 16, 1) == CUDA_SUCCESS;
  right = right && std::string{name.data()} == "stand-in 1";
  std::array<CUuuid, 2> uuids{};
  for (int device = 0; device < 2; ++device)
    right = right && cuDeviceGetUuid(&uuids.at(static_cast<std::size_t>(device)), device) == 0;
  right = right && std::memcmp(uuids[0].bytes, uuids[1].bytes, sizeof uuids[0].bytes) != 0;
  CUdevice device = -1;
  leave(right && cuDeviceGet(&device, 2) == CUDA_ERROR_INVALID_DEVICE);
}

TEST_F(CudaStandinProcess, ThereMayBeSeveralDevices) {
  const Variable devices{"CUDA_STANDIN_DEVICES", "2"};
  EXPECT_EXIT(two_devices(), ::testing::ExitedWithCode(0), "");
}

// Streams of one priority are held up by the one that waits, others are not.
void one_queue() {
  const CUstream waiting = start();
  CUstream usual = nullptr;
  CUstream urgent = nullptr;
  CUdeviceptr memory = 0;
  int least = -1;
  int greatest = 0;
  cuCtxGetStreamPriorityRange(&least, &greatest);
  cuStreamCreateWithPriority(&usual, CU_STREAM_NON_BLOCKING, least);
  cuStreamCreateWithPriority(&urgent, CU_STREAM_NON_BLOCKING, greatest);
  cuMemAlloc(&memory, sizeof(std::uint64_t));
  cuMemsetD8Async(memory, 0, sizeof(std::uint64_t), waiting);
  cuStreamSynchronize(waiting);
  cuStreamWaitValue64(waiting, memory, 1, CU_STREAM_WAIT_VALUE_EQ);
  cuStreamWriteValue64(usual, memory, 1, CU_STREAM_WRITE_VALUE_DEFAULT);
  std::this_thread::sleep_for(std::chrono::milliseconds{20});
  bool right = greatest < least && cuStreamQuery(usual) == CUDA_ERROR_NOT_READY;
  cuStreamWriteValue64(urgent, memory, 1, CU_STREAM_WRITE_VALUE_DEFAULT);
  right = right && cuStreamSynchronize(urgent) == CUDA_SUCCESS;
  right = right && cuStreamSynchronize(waiting) == CUDA_SUCCESS;
  leave(right && cuStreamSynchronize(usual) == CUDA_SUCCESS);
}

TEST_F(CudaStandinProcess, StreamsMayShareAQueue) {
  const Variable queues{"CUDA_STANDIN_QUEUES", "1"};
  EXPECT_EXIT(one_queue(), ::testing::ExitedWithCode(0), "");
}

// Copies go from device to device, and each device's memory is its own.
void copy_between_devices() {
  const CUstream stream = start();
  CUcontext second = nullptr;
  CUdeviceptr near = 0;
  CUdeviceptr far = 0;
  unsigned value = 0;
  cuMemAlloc(&near, sizeof value);
  cuDevicePrimaryCtxRetain(&second, 1);
  cuCtxSetCurrent(second);
  cuMemAlloc(&far, sizeof value);
  int device = -1;
  CUpointer_attribute attribute = CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL;
  std::array<void*, 1> data{&device};
  cuPointerGetAttributes(1, &attribute, data.data(), far);
  cuMemsetD8Async(near, 7, sizeof value, stream);
  cuMemcpyAsync(far, near, sizeof value, stream);
  cuMemcpyAsync(reinterpret_cast<CUdeviceptr>(&value), far, sizeof value, stream);
  leave(cuStreamSynchronize(stream) == CUDA_SUCCESS && value == 0x07070707 && device == 1);
}

TEST_F(CudaStandinProcess, CopiesGoFromDeviceToDevice) {
  const Variable devices{"CUDA_STANDIN_DEVICES", "2"};
  EXPECT_EXIT(copy_between_devices(), ::testing::ExitedWithCode(0), "");
}

void allocate_four_times() {
  static_cast<void>(start());
  CUdeviceptr memory = 0;
  std::vector<CUresult> results(4);
  for (CUresult& result : results) result = cuMemAlloc(&memory, 16);
  const CUresult fine = CUDA_SUCCESS;
  leave(results == std::vector<CUresult>{fine, fine, CUDA_ERROR_UNKNOWN, fine});
}

TEST_F(CudaStandinProcess, OneCallFails) {
  const Variable fault{"CUDA_STANDIN_FAULT", "cuMemAlloc_v2:3"};
  EXPECT_EXIT(allocate_four_times(), ::testing::ExitedWithCode(0), "");
}

void leave_all_behind() {
  static_cast<void>(start());
  CUdeviceptr memory = 0;
  void* pinned = nullptr;
  CUevent event = nullptr;
  CUmodule module = nullptr;
  cuMemAlloc(&memory, 4096);
  cuMemAllocAsync(&memory, 32, nullptr);
  cuMemHostAlloc(&pinned, 64, 0);
  cuEventCreate(&event, 0);
  cuModuleLoadData(&module, "image");
  leave(true);
}

TEST_F(CudaStandinProcess, LeaksAreTold) {
  const Report leaks{"CUDA_STANDIN_LEAKS"};
  EXPECT_EXIT(leave_all_behind(), ::testing::ExitedWithCode(0), "");
  EXPECT_EQ(leaks.text(),
            "cuMemAlloc 4096 bytes\ncuMemAllocAsync 32 bytes\ncuMemHostAlloc 64 bytes\n"
            "cuStreamCreate\ncuEventCreate\ncuModuleLoadData\n");
}

void leave_graphs_behind() {
  const CUstream stream = start();
  static std::array<char, 64> pinned{};
  CUgraph graph = nullptr;
  CUgraphExec executable = nullptr;
  cuMemHostRegister(pinned.data(), pinned.size(), 0);
  cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED);
  cuMemsetD8Async(reinterpret_cast<CUdeviceptr>(pinned.data()), 0, 1, stream);
  cuStreamEndCapture(stream, &graph);
  cuGraphInstantiate(&executable, graph, 0);
  leave(true);
}

TEST_F(CudaStandinProcess, LeaksOfGraphsAreTold) {
  const Report leaks{"CUDA_STANDIN_LEAKS"};
  EXPECT_EXIT(leave_graphs_behind(), ::testing::ExitedWithCode(0), "");
  EXPECT_EQ(leaks.text(),
            "cuMemHostRegister 64 bytes\ncuStreamCreate\ncuStreamEndCapture\n"
            "cuGraphInstantiate\n");
}

// A call that fails leaves the recording as it was.
void fail_to_end_a_recording() {
  const CUstream stream = start();
  CUgraph graph = nullptr;
  cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
  const bool failed = cuStreamEndCapture(stream, &graph) == CUDA_ERROR_UNKNOWN;
  leave(failed && cuStreamEndCapture(stream, &graph) == CUDA_SUCCESS &&
        cuGraphDestroy(graph) == CUDA_SUCCESS);
}

TEST_F(CudaStandinProcess, RecordingsMayFailToo) {
  const Variable fault{"CUDA_STANDIN_FAULT", "cuStreamEndCapture:1"};
  EXPECT_EXIT(fail_to_end_a_recording(), ::testing::ExitedWithCode(0), "");
}

// Streams of graphs wait for each other and for values when the process ends.
void leave_in_the_middle_of_a_graph() {
  const CUstream stream = start();
  CUstream other = nullptr;
  std::array<CUevent, 2> events{};
  void* pinned = nullptr;
  CUgraph graph = nullptr;
  CUgraphExec executable = nullptr;
  cuStreamCreate(&other, CU_STREAM_NON_BLOCKING);
  for (CUevent& event : events) cuEventCreate(&event, CU_EVENT_DISABLE_TIMING);
  cuMemHostAlloc(&pinned, sizeof(cuuint32_t), 0);
  *static_cast<cuuint32_t*>(pinned) = 0;
  cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
  cuEventRecord(events[0], stream);
  cuStreamWaitEvent(other, events[0], 0);
  cuStreamWriteValue32(stream, reinterpret_cast<CUdeviceptr>(pinned), 0, 0);
  cuStreamWaitValue32(other, reinterpret_cast<CUdeviceptr>(pinned), 1, CU_STREAM_WAIT_VALUE_EQ);
  cuEventRecord(events[1], other);
  cuStreamWaitEvent(stream, events[1], 0);
  cuStreamEndCapture(stream, &graph);
  cuGraphInstantiate(&executable, graph, 0);
  leave(cuGraphLaunch(executable, stream) == CUDA_SUCCESS);
}

TEST_F(CudaStandinProcess, EndsWithAGraphLeft) {
  EXPECT_EXIT(leave_in_the_middle_of_a_graph(), ::testing::ExitedWithCode(0), "");
}

void leave_nothing_behind() {
  const CUstream stream = start();
  CUdeviceptr memory = 0;
  cuMemAllocAsync(&memory, 32, stream);
  cuMemFreeAsync(memory, stream);
  cuMemAlloc(&memory, 32);
  cuMemFree(memory);
  cuStreamDestroy(stream);
  leave(true);
}

TEST_F(CudaStandinProcess, WithoutLeaksAndWithAllCalls) {
  const Report leaks{"CUDA_STANDIN_LEAKS"};
  const Report calls{"CUDA_STANDIN_CALLS"};
  EXPECT_EXIT(leave_nothing_behind(), ::testing::ExitedWithCode(0), "");
  EXPECT_EQ(leaks.text(), "");
  EXPECT_EQ(calls.text(),
            "cuCtxSetCurrent 1\ncuDevicePrimaryCtxRetain 1\ncuInit 1\ncuMemAllocAsync 1\n"
            "cuMemAlloc_v2 1\ncuMemFreeAsync 1\ncuMemFree_v2 1\ncuStreamCreate 1\n"
            "cuStreamDestroy_v2 1\n");
}

// What was enqueued when the process ends is not waited for, though threads end.
void leave_in_the_middle() {
  const CUstream stream = start();
  CUstream other = nullptr;
  CUevent event = nullptr;
  CUdeviceptr memory = 0;
  constexpr std::size_t kMany = std::size_t{1} << 20U;
  cuStreamCreate(&other, 0);
  cuEventCreate(&event, 0);
  cuMemAlloc(&memory, kMany);
  for (int i = 0; i < 10000; ++i) {
    cuMemsetD8Async(memory, 1, kMany, stream);
    cuEventRecord(event, stream);
    cuStreamWaitEvent(other, event, 0);
  }
  leave(true);
}

TEST_F(CudaStandinProcess, EndsWithWorkLeft) {
  EXPECT_EXIT(leave_in_the_middle(), ::testing::ExitedWithCode(0), "");
}

TEST_F(CudaStandinProcess, ErrorsHaveNamesBeforeAnythingElse) {
  const char* text = nullptr;
  int version = 0;
  EXPECT_EQ(cuGetErrorName(CUDA_ERROR_ILLEGAL_ADDRESS, &text), CUDA_SUCCESS);
  EXPECT_STREQ(text, "CUDA_ERROR_ILLEGAL_ADDRESS");
  EXPECT_EQ(cuGetErrorString(static_cast<CUresult>(998), &text), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(text, nullptr);
  EXPECT_EQ(cuDriverGetVersion(&version), CUDA_SUCCESS);
  EXPECT_EQ(version, 13000);
}

}  // namespace
}  // namespace tutti::standin
