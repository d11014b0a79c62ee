// The stand-in for the CUDA driver: wrong use that other tests count on it to report, the order of
// streams, and captures. NVLink joins the devices 0 and 1, and 2 and 3; nothing joins 0 and 3.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <latch>
#include <thread>

#include <sys/wait.h>

#include "tests/cuda/standin_device.hpp"

namespace tutti::standin {
namespace {

/// Holds a stream back until it is opened.
class Gate {
 public:
  explicit Gate(CUstream stream) { EXPECT_EQ(cuLaunchHostFunc(stream, &wait, this), CUDA_SUCCESS); }
  void open() { opened_.count_down(); }

 private:
  static void wait(void* gate) { static_cast<Gate*>(gate)->opened_.wait(); }

  std::latch opened_{1};
};

TEST(CudaStandinMemory, HoldsNoZerosAndIsClosedToTheHost) {
  const Device device;
  Floats expected(kCount);
  std::memset(expected.data(), 0xA5, kBytes);
  EXPECT_EQ(device.get(device.memory()), expected);
  EXPECT_DEATH(static_cast<void>(*static_cast<const volatile float*>(device.data())), "");
}

TEST(CudaStandinMemory, WrongAccessFailsTheContext) {
  const auto fails = [](const std::function<void(const Device&)>& access) {
    const Device device;
    CUdeviceptr memory = 0;
    access(device);
    for (int i = 0; i < 2; ++i) EXPECT_EQ(device.wait(), CUDA_ERROR_ILLEGAL_ADDRESS);
    EXPECT_EQ(cuMemAlloc(&memory, kBytes), CUDA_ERROR_ILLEGAL_ADDRESS);
    EXPECT_EQ(device.clear(device.memory()), CUDA_ERROR_ILLEGAL_ADDRESS);
  };
  fails([](const Device& device) { device.clear(device.memory(), kBytes + 1); });
  fails([](const Device& device) {
    CUdeviceptr freed = 0;
    EXPECT_EQ(cuMemAlloc(&freed, kBytes), CUDA_SUCCESS);
    EXPECT_EQ(cuMemFree(freed), CUDA_SUCCESS);
    EXPECT_EQ(cuMemFree(freed), CUDA_ERROR_INVALID_VALUE);
    device.clear(freed, 1);
  });
  fails([](const Device& device) {
    CUdeviceptr freed = 0;
    EXPECT_EQ(cuMemAllocAsync(&freed, kBytes, device.stream()), CUDA_SUCCESS);
    EXPECT_EQ(device.clear(freed), CUDA_SUCCESS);
    EXPECT_EQ(cuMemFreeAsync(freed, device.stream()), CUDA_SUCCESS);
    EXPECT_EQ(cuMemFreeAsync(freed, device.stream()), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(device.wait(), CUDA_SUCCESS);
    device.clear(freed);
  });
  fails([](const Device& device) {
    device.run_copy(device.memory(), device.memory() + sizeof(float));
  });
  fails([](const Device& device) {
    Floats unpinned(kCount);
    device.run_copy(address_of(unpinned.data()), device.memory());
  });
}

TEST(CudaStandinStreams, KeepTheirOrderAndNobodyWaits) {
  const Device device;
  void* pinned = nullptr;
  EXPECT_EQ(cuMemHostAlloc(&pinned, kBytes, 0), CUDA_SUCCESS);
  const auto* const values = static_cast<const float*>(pinned);
  Gate gate{device.stream()};
  Floats sent(kCount, 1);
  EXPECT_EQ(device.copy(device.memory(), address_of(sent.data())), CUDA_SUCCESS);
  std::ranges::fill(sent,
                    2);  // too late: memory that is not pinned is read before the call returns
  EXPECT_EQ(device.clear(device.memory(), kBytes / 2), CUDA_SUCCESS);
  EXPECT_EQ(device.copy(address_of(pinned), device.memory()), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamQuery(device.stream()), CUDA_ERROR_NOT_READY);
  gate.open();
  EXPECT_EQ(device.wait(), CUDA_SUCCESS);
  EXPECT_TRUE(device.is_idle());
  Floats expected(kCount, 1);
  std::fill_n(expected.begin(), kCount / 2, 0.0F);
  EXPECT_EQ(Floats(values, values + kCount), expected);
  EXPECT_EQ(cuMemFreeHost(pinned), CUDA_SUCCESS);
}

TEST(CudaStandinStreams, MakeTheHostWaitForMemoryThatIsNotPinned) {
  const Device device;
  device.put(device.memory(), 1);
  Floats values(kCount);
  std::atomic<bool> opened{false};
  Gate gate{device.stream()};
  std::thread opener{[&] {
    std::this_thread::sleep_for(std::chrono::milliseconds{20});
    opened = true;
    gate.open();
  }};
  EXPECT_EQ(device.copy(address_of(values.data()), device.memory()), CUDA_SUCCESS);
  EXPECT_TRUE(opened);
  opener.join();
  EXPECT_EQ(values, Floats(kCount, 1));
}

TEST(CudaStandinCalls, RejectWrongHandlesAndPlaces) {
  const Device device;
  CUevent event = nullptr;
  EXPECT_EQ(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamQuery(reinterpret_cast<CUstream>(event)), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuEventDestroy(event), CUDA_SUCCESS);
  EXPECT_EQ(cuEventDestroy(event), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuMemFree(device.memory() + 1), CUDA_ERROR_INVALID_VALUE);
  CUresult result = CUDA_SUCCESS;
  const auto query = [](void* to) { *static_cast<CUresult*>(to) = cuStreamQuery(nullptr); };
  EXPECT_EQ(cuLaunchHostFunc(device.stream(), query, &result), CUDA_SUCCESS);
  EXPECT_EQ(device.wait(), CUDA_SUCCESS);
  EXPECT_EQ(result, CUDA_ERROR_NOT_PERMITTED) << "a host function calls the driver";
  EXPECT_EQ(cuCtxSetCurrent(nullptr), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamQuery(device.stream()), CUDA_ERROR_INVALID_CONTEXT);
  const pid_t child = fork();
  if (child == 0) _exit(cuInit(0) == CUDA_ERROR_NOT_INITIALIZED ? 0 : 1);
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0) << "a forked process has a driver";
}

CUresult end_capture(CUstream stream) {
  CUgraph graph = nullptr;
  const CUresult result = cuStreamEndCapture(stream, &graph);
  EXPECT_EQ(graph != nullptr, result == CUDA_SUCCESS);
  if (graph != nullptr) {
    EXPECT_EQ(cuGraphDestroy(graph), CUDA_SUCCESS);
  }
  return result;
}

CUresult allocate() {
  CUdeviceptr memory = 0;
  const CUresult result = cuMemAlloc(&memory, 1);
  if (result == CUDA_SUCCESS) cuMemFree(memory);
  return result;
}

TEST(CudaStandinCaptures, EndWithUnsafeCalls) {
  constexpr auto kUnsupported = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  constexpr auto kInvalidated = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  const Device device;
  for (const auto ask : {cuStreamSynchronize, cuStreamQuery}) {
    EXPECT_EQ(cuStreamBeginCapture(device.stream(), CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
    EXPECT_EQ(ask(device.stream()), kUnsupported);
    EXPECT_EQ(device.clear(device.memory()), kInvalidated);
    EXPECT_EQ(end_capture(device.stream()), kInvalidated);
  }
  struct Case {
    CUstreamCaptureMode mode;
    CUresult here;
    CUresult elsewhere;
  };
  for (const auto& [mode, here, elsewhere] :
       {Case{CU_STREAM_CAPTURE_MODE_GLOBAL, kUnsupported, kUnsupported},
        Case{CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, kUnsupported, CUDA_SUCCESS},
        Case{CU_STREAM_CAPTURE_MODE_RELAXED, CUDA_SUCCESS, CUDA_SUCCESS}}) {
    EXPECT_EQ(cuStreamBeginCapture(device.stream(), mode), CUDA_SUCCESS);
    EXPECT_EQ(allocate(), here);
    EXPECT_EQ(end_capture(device.stream()), here == CUDA_SUCCESS ? here : kInvalidated);
    EXPECT_EQ(cuStreamBeginCapture(device.stream(), mode), CUDA_SUCCESS);
    std::thread{[&, expected = elsewhere] {
      device.use();
      EXPECT_EQ(allocate(), expected);
    }}.join();
    EXPECT_EQ(end_capture(device.stream()), elsewhere == CUDA_SUCCESS ? elsewhere : kInvalidated);
  }
}

TEST(CudaStandinCaptures, JoinForkedStreamsAndStayApart) {
  constexpr auto kMode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  const Device device;
  CUstream other = nullptr;
  CUevent event = nullptr;
  EXPECT_EQ(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  EXPECT_EQ(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamBeginCapture(device.stream(), kMode), CUDA_SUCCESS);
  EXPECT_EQ(cuEventRecord(event, device.stream()), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamWaitEvent(other, event, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuMemsetD8Async(device.memory(), 0, 1, other), CUDA_SUCCESS);
  EXPECT_EQ(end_capture(device.stream()), CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
  EXPECT_EQ(cuEventQuery(event), CUDA_ERROR_CAPTURED_EVENT);
  EXPECT_EQ(cuEventRecord(event, other), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamBeginCapture(device.stream(), kMode), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamWaitEvent(device.stream(), event, 0), CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
  EXPECT_EQ(end_capture(device.stream()), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  EXPECT_EQ(cuEventDestroy(event), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamDestroy(other), CUDA_SUCCESS);
}

TEST(CudaStandinCaptures, MemoryOfAGraphLivesInItsLaunches) {
  const Device device;
  CUdeviceptr memory = 0;
  CUgraph graph = nullptr;
  CUgraphExec executable = nullptr;
  EXPECT_EQ(cuStreamBeginCapture(device.stream(), CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
  EXPECT_EQ(cuMemAllocAsync(&memory, kBytes, device.stream()), CUDA_SUCCESS);
  EXPECT_EQ(device.clear(memory), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamEndCapture(device.stream(), &graph), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphInstantiate(&executable, graph, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphDestroy(graph), CUDA_SUCCESS);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(cuGraphLaunch(executable, device.stream()), CUDA_SUCCESS);
    EXPECT_EQ(device.get(memory), Floats(kCount));
    EXPECT_EQ(cuGraphLaunch(executable, device.stream()), CUDA_ERROR_INVALID_VALUE)
        << "its memory is not freed";
    EXPECT_EQ(cuMemFreeAsync(memory, device.stream()), CUDA_SUCCESS);
  }
  EXPECT_EQ(cuGraphExecDestroy(executable), CUDA_SUCCESS);
  EXPECT_EQ(device.clear(memory), CUDA_SUCCESS);
  EXPECT_EQ(device.wait(), CUDA_ERROR_ILLEGAL_ADDRESS);
}

TEST(CudaStandinPeers, AccessOnlyWhatIsEnabled) {
  const Device first{0};
  const Device second{1};
  const Device fourth{3};
  second.put(second.memory(), 2);
  CUdeviceptr pooled = 0;
  EXPECT_EQ(cuMemAllocAsync(&pooled, kBytes, second.stream()), CUDA_SUCCESS);
  second.put(pooled, 3);
  CUdeviceptr opened = 0;
  CUipcMemHandle handle{};
  EXPECT_EQ(cuIpcGetMemHandle(&handle, pooled), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuIpcGetMemHandle(&handle, second.memory()), CUDA_SUCCESS);
  EXPECT_EQ(cuIpcOpenMemHandle(&opened, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS),
            CUDA_ERROR_INVALID_CONTEXT)
      << "it is of this process";
  first.use();
  EXPECT_EQ(cuCtxEnablePeerAccess(fourth.context(), 0), CUDA_ERROR_PEER_ACCESS_UNSUPPORTED);
  EXPECT_EQ(cuCtxEnablePeerAccess(second.context(), 0), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxEnablePeerAccess(second.context(), 0), CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
  EXPECT_EQ(first.run_copy(first.memory(), second.memory()), CUDA_SUCCESS);
  EXPECT_EQ(first.get(first.memory()), Floats(kCount, 2));
  EXPECT_EQ(first.get(pooled), Floats(kCount, 3)) << "copies need no access";
  EXPECT_EQ(first.run_copy(first.memory(), pooled), CUDA_ERROR_ILLEGAL_ADDRESS)
      << "memory of a stream";
  second.use();
  EXPECT_EQ(second.run_copy(second.memory(), first.memory()), CUDA_ERROR_ILLEGAL_ADDRESS)
      << "the other direction";
}

// A stream sees what another device writes after it waits for that very value, not for one that is
// written later.
TEST(CudaStandinPeers, ReorderTheirWrites) {
  const Device first{0};
  const Device second{1};
  first.use();
  EXPECT_EQ(cuCtxEnablePeerAccess(second.context(), 0), CUDA_SUCCESS);
  second.use();
  std::array<CUdeviceptr, 3> room{};
  for (CUdeviceptr& each : room) EXPECT_EQ(cuMemAlloc(&each, kBytes), CUDA_SUCCESS);
  const auto [before, after, cell] = room;
  const CUdeviceptr flag = cell + sizeof(CUdeviceptr);
  second.put(before, 1);
  second.put(after, 2);
  EXPECT_EQ(cuStreamWriteValue64(second.stream(), cell, before, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamWriteValue64(second.stream(), flag, 0, 0), CUDA_SUCCESS);
  EXPECT_EQ(second.wait(), CUDA_SUCCESS);
  first.use();
  EXPECT_EQ(cuStreamWriteValue64(first.stream(), cell, after, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamWriteValue64(first.stream(), flag, 1, 0), CUDA_SUCCESS);
  second.use();
  EXPECT_EQ(cuStreamWaitValue64(second.stream(), flag, 1, CU_STREAM_WAIT_VALUE_EQ), CUDA_SUCCESS);
  EXPECT_EQ(second.run_copy(second.memory(), cell, 1), CUDA_SUCCESS);
  EXPECT_EQ(second.get(second.memory()), Floats(kCount, 1));
  EXPECT_EQ(cuStreamWaitValue64(second.stream(), cell, after, CU_STREAM_WAIT_VALUE_GEQ),
            CUDA_SUCCESS);
  EXPECT_EQ(second.run_copy(second.memory(), cell, 1), CUDA_SUCCESS);
  EXPECT_EQ(second.get(second.memory()), Floats(kCount, 2));
  for (const CUdeviceptr each : room) EXPECT_EQ(cuMemFree(each), CUDA_SUCCESS);
}

TEST(CudaStandinPools, HaveAllocationsWaitForFreesUnlessSetOtherwise) {
  const Device device;
  CUmemPoolProps properties{};
  properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  CUmemoryPool pool = nullptr;
  CUstream other = nullptr;
  EXPECT_EQ(cuMemPoolCreate(&pool, &properties), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  for (const bool waits : {true, false}) {
    CUdeviceptr memory = 0;
    int may_wait = waits ? 1 : 0;
    EXPECT_EQ(
        cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES, &may_wait),
        CUDA_SUCCESS);
    EXPECT_EQ(cuMemAllocFromPoolAsync(&memory, kBytes, pool, device.stream()), CUDA_SUCCESS);
    EXPECT_EQ(device.wait(), CUDA_SUCCESS);
    Gate gate{device.stream()};
    EXPECT_EQ(cuMemFreeAsync(memory, device.stream()), CUDA_SUCCESS);
    EXPECT_EQ(cuMemAllocFromPoolAsync(&memory, kBytes, pool, other), CUDA_SUCCESS);
    std::this_thread::sleep_for(std::chrono::milliseconds{20});
    EXPECT_EQ(cuStreamQuery(other), waits ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS);
    gate.open();
    EXPECT_EQ(cuMemFreeAsync(memory, other), CUDA_SUCCESS);
    EXPECT_EQ(cuStreamSynchronize(other), CUDA_SUCCESS);
    EXPECT_EQ(device.wait(), CUDA_SUCCESS);
  }
  CUmemAccessDesc access{};
  access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  access.location.id = 3;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  EXPECT_EQ(cuMemPoolSetAccess(pool, &access, 1), CUDA_ERROR_INVALID_VALUE)
      << "nothing joins 0 and 3";
  EXPECT_EQ(cuStreamDestroy(other), CUDA_SUCCESS);
  EXPECT_EQ(cuMemPoolDestroy(pool), CUDA_SUCCESS);
}

// A process reads the variables of the stand-in once, so each of these tests needs a child process.

/// @return a device that is never destroyed.
Device& leaked_device() {
  return *new Device;
}

[[noreturn]] void leave(bool right) {
  std::exit(right ? 0 : 1);
}

// A stream that waits holds up others of its priority.
void share_one_queue() {
  const Device& waiting = leaked_device();
  CUstream usual = nullptr;
  CUstream urgent = nullptr;
  int least = -1;
  int greatest = 0;
  cuCtxGetStreamPriorityRange(&least, &greatest);
  cuStreamCreateWithPriority(&usual, CU_STREAM_NON_BLOCKING, least);
  cuStreamCreateWithPriority(&urgent, CU_STREAM_NON_BLOCKING, greatest);
  waiting.clear(waiting.memory());
  waiting.wait();
  cuStreamWaitValue64(waiting.stream(), waiting.memory(), 1, CU_STREAM_WAIT_VALUE_EQ);
  cuStreamWriteValue64(usual, waiting.memory(), 1, CU_STREAM_WRITE_VALUE_DEFAULT);
  std::this_thread::sleep_for(std::chrono::milliseconds{20});
  bool right = greatest < least && cuStreamQuery(usual) == CUDA_ERROR_NOT_READY;
  cuStreamWriteValue64(urgent, waiting.memory(), 1, CU_STREAM_WRITE_VALUE_DEFAULT);
  for (CUstream stream : {urgent, waiting.stream(), usual})
    right = cuStreamSynchronize(stream) == CUDA_SUCCESS && right;
  leave(right);
}

TEST(CudaStandinProcess, StreamsMayShareAQueue) {
  const Variable queues{"CUDA_STANDIN_QUEUES", "1"};
  EXPECT_EXIT(share_one_queue(), ::testing::ExitedWithCode(0), "");
}

void leave_all_behind() {
  const Device& device = leaked_device();
  CUdeviceptr memory = 0;
  void* pinned = nullptr;
  CUevent event = nullptr;
  CUmodule module = nullptr;
  CUgraph graph = nullptr;
  bool right = cuMemAlloc(&memory, 4096) == CUDA_ERROR_UNKNOWN;
  right = cuMemAlloc(&memory, 4096) == CUDA_SUCCESS && right;
  cuMemAllocAsync(&memory, 32, device.stream());
  cuMemHostAlloc(&pinned, 64, 0);
  cuEventCreate(&event, 0);
  cuModuleLoadData(&module, "image");
  cuStreamBeginCapture(device.stream(), CU_STREAM_CAPTURE_MODE_RELAXED);
  cuStreamEndCapture(device.stream(), &graph);
  leave(right);
}

TEST(CudaStandinProcess, ReportsLeaksAndCallsAndFailsOneCall) {
  const Variable fault{"CUDA_STANDIN_FAULT", "cuMemAlloc_v2:2"};
  const Report leaks{"CUDA_STANDIN_LEAKS"};
  const Report calls{"CUDA_STANDIN_CALLS"};
  EXPECT_EXIT(leave_all_behind(), ::testing::ExitedWithCode(0), "");
  EXPECT_EQ(leaks.text(),
            "cuMemAlloc 4000 bytes\ncuMemAlloc 4096 bytes\ncuMemAllocAsync 32 "
            "bytes\ncuMemHostAlloc 64 bytes\n"
            "cuStreamCreate\ncuEventCreate\ncuModuleLoadData\ncuStreamEndCapture\n");
  EXPECT_NE(calls.text().find("cuMemAllocAsync 1\ncuMemAlloc_v2 3\n"), std::string::npos)
      << calls.text();
}

}  // namespace
}  // namespace tutti::standin
