// Devices that access each other's memory, in the stand-in for the CUDA driver, and what joins
// them.
#include "tests/cuda/standin_devices.hpp"

namespace tutti::standin {
namespace {

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

TEST(CudaStandinIpc, AProcessDoesNotOpenItsOwn) {
  const OnDevice own{0};
  CUdeviceptr opened = 0;
  CUdeviceptr pooled = 0;
  CUipcMemHandle handle{};
  EXPECT_EQ(cuIpcGetMemHandle(&handle, own.memory()), CUDA_SUCCESS);
  EXPECT_EQ(cuIpcOpenMemHandle(&opened, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS),
            CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(cuMemAllocAsync(&pooled, 8, own.stream()), CUDA_SUCCESS);
  EXPECT_EQ(cuIpcGetMemHandle(&handle, pooled), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuIpcGetMemHandle(&handle, address_of(&handle)), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuIpcGetMemHandle(nullptr, own.memory()), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemFreeAsync(pooled, own.stream()), CUDA_SUCCESS);
}

}  // namespace
}  // namespace tutti::standin
