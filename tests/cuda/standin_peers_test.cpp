// Devices that access each other's memory, in the stand-in for the CUDA driver, and what joins
// them.
#include "tests/cuda/standin_devices.hpp"

namespace tutti::standin {
namespace {

TEST(CudaStandinPeers, AreJoinedAsTheEnvironmentSays) {
  const OnDevice any{0};
  const auto attribute = [](CUdevice_P2PAttribute which, int a, int b) {
    int value = -1;
    EXPECT_EQ(cuDeviceGetP2PAttribute(&value, which, a, b), CUDA_SUCCESS);
    return value;
  };
  struct Case {
    int a, b, access, atomics;
  };
  for (const auto& [a, b, access, atomics] :
       {Case{0, 1, 1, 1}, Case{2, 3, 1, 1}, Case{0, 3, 0, 0}, Case{0, 2, 1, 0}, Case{3, 1, 1, 0}}) {
    int can = -1;
    EXPECT_EQ(cuDeviceCanAccessPeer(&can, b, a), CUDA_SUCCESS);
    EXPECT_EQ(can, access);
    EXPECT_EQ(attribute(CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, a, b), access);
    EXPECT_EQ(attribute(CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED, b, a), atomics);
  }
  constexpr auto kRank = CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK;
  EXPECT_LT(attribute(kRank, 0, 1), attribute(kRank, 0, 2)) << "less is faster";
  int value = -1;
  EXPECT_EQ(cuDeviceCanAccessPeer(&value, 1, 1), CUDA_SUCCESS);
  EXPECT_EQ(value, 0);
  EXPECT_EQ(cuDeviceCanAccessPeer(&value, 0, 4), CUDA_ERROR_INVALID_DEVICE);
  EXPECT_EQ(cuDeviceGetP2PAttribute(&value, kRank, 1, 1), CUDA_ERROR_INVALID_DEVICE);
  EXPECT_EQ(cuDeviceGetP2PAttribute(nullptr, kRank, 0, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuDeviceGetP2PAttribute(&value, static_cast<CUdevice_P2PAttribute>(7), 0, 1),
            CUDA_ERROR_INVALID_VALUE);
}

TEST(CudaStandinPeers, HavePlacesAndNumbers) {
  const OnDevice any{0};
  const auto attribute = [](CUdevice_attribute which, int device) {
    int value = -1;
    EXPECT_EQ(cuDeviceGetAttribute(&value, which, device), CUDA_SUCCESS);
    return value;
  };
  EXPECT_EQ(attribute(CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID, 3), 0);
  EXPECT_EQ(attribute(CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID, 3), 0);
  EXPECT_NE(attribute(CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, 0),
            attribute(CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, 3));
  EXPECT_EQ(attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0), 9);
  EXPECT_GT(attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0), 0);
}

TEST(CudaStandinPeers, MayBeEnabledAndDisabled) {
  const OnDevice first{0};
  const OnDevice second{1};
  const OnDevice fourth{3};
  second.fill(2);
  first.use();
  EXPECT_EQ(cuCtxDisablePeerAccess(second.context()), CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
  EXPECT_EQ(cuCtxEnablePeerAccess(second.context(), 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuCtxEnablePeerAccess(first.context(), 0), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(cuCtxEnablePeerAccess(nullptr, 0), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(cuCtxEnablePeerAccess(fourth.context(), 0), CUDA_ERROR_PEER_ACCESS_UNSUPPORTED);
  EXPECT_EQ(cuCtxEnablePeerAccess(second.context(), 0), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxEnablePeerAccess(second.context(), 0), CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
  EXPECT_EQ(first.run_copy(first.memory(), second.memory()), CUDA_SUCCESS);
  EXPECT_EQ(first.get(first.memory()), std::vector<float>(kCount, 2));
  EXPECT_EQ(cuStreamWriteValue32(first.stream(), second.memory(), 0, 0), CUDA_SUCCESS);
  EXPECT_EQ(first.wait(), CUDA_SUCCESS);
  EXPECT_EQ(second.get(second.memory()).front(), 0);
  EXPECT_EQ(cuCtxDisablePeerAccess(second.context()), CUDA_SUCCESS);
  EXPECT_EQ(first.run_copy(first.memory(), second.memory()), CUDA_ERROR_ILLEGAL_ADDRESS);
}

// What another device writes is seen behind a wait for that very value, not for one written later.
TEST(CudaStandinPeers, ReorderWhatOthersWrite) {
  const OnDevice first{0};
  const OnDevice second{1};
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
  EXPECT_EQ(second.run_copy_by(second.memory(), cell), CUDA_SUCCESS);
  EXPECT_EQ(second.get(second.memory()), std::vector<float>(kCount, 1));
  EXPECT_EQ(cuStreamWaitValue64(second.stream(), cell, after, CU_STREAM_WAIT_VALUE_GEQ),
            CUDA_SUCCESS);
  EXPECT_EQ(second.run_copy_by(second.memory(), cell), CUDA_SUCCESS);
  EXPECT_EQ(second.get(second.memory()), std::vector<float>(kCount, 2));
  for (const CUdeviceptr each : room) EXPECT_EQ(cuMemFree(each), CUDA_SUCCESS);
}

TEST(CudaStandinPeers, AccessGoesOneWay) {
  const OnDevice first{0};
  const OnDevice second{1};
  first.use();
  EXPECT_EQ(cuCtxEnablePeerAccess(second.context(), 0), CUDA_SUCCESS);
  second.use();
  EXPECT_EQ(second.run_copy(second.memory(), first.memory()), CUDA_ERROR_ILLEGAL_ADDRESS);
  first.use();
  EXPECT_EQ(first.run_copy(first.memory(), second.memory()), CUDA_SUCCESS);
}

TEST(CudaStandinPeers, AccessEndsWithTheContext) {
  {
    const OnDevice first{0};
    const OnDevice second{1};
    first.use();
    EXPECT_EQ(cuCtxEnablePeerAccess(second.context(), 0), CUDA_SUCCESS);
  }
  const OnDevice first{0};
  const OnDevice second{1};
  first.use();
  EXPECT_EQ(cuStreamWriteValue32(first.stream(), second.memory(), 0, 0), CUDA_SUCCESS);
  EXPECT_EQ(first.wait(), CUDA_ERROR_ILLEGAL_ADDRESS);
}

TEST(CudaStandinPeers, MemoryOfAStreamIsNotOpenToThem) {
  const OnDevice first{0};
  const OnDevice second{1};
  CUdeviceptr memory = 0;
  EXPECT_EQ(cuMemAllocAsync(&memory, kBytes, second.stream()), CUDA_SUCCESS);
  second.put(memory, 3);
  first.use();
  EXPECT_EQ(cuCtxEnablePeerAccess(second.context(), 0), CUDA_SUCCESS);
  EXPECT_EQ(first.get(memory), std::vector<float>(kCount, 3)) << "copies need no access";
  EXPECT_EQ(first.run_copy(first.memory(), memory), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(cuMemFreeAsync(memory, second.stream()), CUDA_ERROR_ILLEGAL_ADDRESS);
}

TEST(CudaStandinPeers, CopiesNeedNoAccess) {
  const OnDevice first{0};
  const OnDevice fourth{3};
  first.use();
  first.fill(4);
  EXPECT_EQ(cuMemcpyAsync(fourth.memory(), first.memory(), kBytes, first.stream()), CUDA_SUCCESS);
  EXPECT_EQ(first.get(fourth.memory()), std::vector<float>(kCount, 4));
}

TEST(CudaStandinPeers, EventsOrderStreamsOfTwoDevices) {
  const OnDevice first{0};
  const OnDevice second{1};
  first.use();
  CUevent event = nullptr;
  EXPECT_EQ(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING), CUDA_SUCCESS);
  EXPECT_EQ(cuEventRecord(event, second.stream()), CUDA_ERROR_INVALID_HANDLE);
  Gate gate;
  gate.close(first.stream());
  EXPECT_EQ(cuMemsetD8Async(first.memory(), 0, kBytes, first.stream()), CUDA_SUCCESS);
  EXPECT_EQ(cuEventRecord(event, first.stream()), CUDA_SUCCESS);
  second.use();
  EXPECT_EQ(cuStreamWaitEvent(second.stream(), event, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuMemcpyAsync(second.memory(), first.memory(), kBytes, second.stream()), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamQuery(second.stream()), CUDA_ERROR_NOT_READY);
  gate.open();
  EXPECT_EQ(second.get(second.memory()), std::vector<float>(kCount));
  EXPECT_EQ(cuEventDestroy(event), CUDA_SUCCESS);
}

// The work of a graph runs in the contexts that it was recorded in.
TEST(CudaStandinPeers, AGraphMaySpanTwoDevices) {
  const OnDevice first{0};
  const OnDevice second{1};
  second.fill(6);
  std::array<CUevent, 2> events{};
  first.use();
  EXPECT_EQ(cuEventCreate(&events[0], CU_EVENT_DISABLE_TIMING), CUDA_SUCCESS);
  second.use();
  EXPECT_EQ(cuEventCreate(&events[1], CU_EVENT_DISABLE_TIMING), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamBeginCapture(first.stream(), CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
  EXPECT_EQ(cuEventRecord(events[0], first.stream()), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamWaitEvent(second.stream(), events[0], 0), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamWriteValue32(second.stream(), second.memory(), 0, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuEventRecord(events[1], second.stream()), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamWaitEvent(first.stream(), events[1], 0), CUDA_SUCCESS);
  CUgraph graph = nullptr;
  CUgraphExec executable = nullptr;
  EXPECT_EQ(cuStreamEndCapture(first.stream(), &graph), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphInstantiate(&executable, graph, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphDestroy(graph), CUDA_SUCCESS);
  first.use();
  EXPECT_EQ(cuGraphLaunch(executable, first.stream()), CUDA_SUCCESS);
  EXPECT_EQ(first.wait(), CUDA_SUCCESS);
  EXPECT_EQ(second.get(second.memory()).front(), 0);
  EXPECT_EQ(cuGraphExecDestroy(executable), CUDA_SUCCESS);
  for (CUevent event : events) EXPECT_EQ(cuEventDestroy(event), CUDA_SUCCESS);
}

}  // namespace
}  // namespace tutti::standin
