// Streams of threads and of green contexts, and memory that the host may touch too, in the stand-in
// for the CUDA driver.
#include <thread>

#include "tests/cuda/standin_context.hpp"

namespace tutti::standin {
namespace {

TEST_F(CudaStandin, EachThreadHasADefaultStreamOfItsOwn) {
  Gate gate;
  gate.close(CU_STREAM_PER_THREAD);
  EXPECT_EQ(cuStreamQuery(CU_STREAM_PER_THREAD), CUDA_ERROR_NOT_READY);
  std::thread{[this] {
    EXPECT_EQ(cuCtxSetCurrent(context_), CUDA_SUCCESS);
    EXPECT_EQ(cuStreamQuery(CU_STREAM_PER_THREAD), CUDA_SUCCESS);
  }}.join();
  gate.open();
  EXPECT_EQ(cuStreamSynchronize(CU_STREAM_PER_THREAD), CUDA_SUCCESS);
  CUcontext context = nullptr;
  EXPECT_EQ(cuStreamGetCtx(CU_STREAM_PER_THREAD, &context), CUDA_SUCCESS);
  EXPECT_EQ(context, context_);
}

TEST_F(CudaStandin, AGreenContextHasStreamsOfItsOwn) {
  CUdevResource resource{};
  CUdevResourceDesc description = nullptr;
  CUgreenCtx green = nullptr;
  CUstream stream = nullptr;
  CUcontext context = nullptr;
  CUcontext of_stream = nullptr;
  EXPECT_EQ(cuDeviceGetDevResource(0, &resource, CU_DEV_RESOURCE_TYPE_SM), CUDA_SUCCESS);
  EXPECT_EQ(cuDevResourceGenerateDesc(&description, &resource, 1), CUDA_SUCCESS);
  EXPECT_EQ(cuGreenCtxCreate(&green, description, 0, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGreenCtxCreate(&green, description, 0, CU_GREEN_CTX_DEFAULT_STREAM), CUDA_SUCCESS);
  EXPECT_EQ(cuGreenCtxStreamCreate(&stream, green, CU_STREAM_DEFAULT, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGreenCtxStreamCreate(&stream, green, CU_STREAM_NON_BLOCKING, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxFromGreenCtx(&context, green), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamGetCtx(stream, &of_stream), CUDA_SUCCESS);
  EXPECT_EQ(of_stream, context);
  EXPECT_NE(of_stream, context_);
  EXPECT_EQ(cuMemsetD8Async(memory_, 0, kBytes, stream), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(stream), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxSetCurrent(context), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamGetCtx(nullptr, &of_stream), CUDA_SUCCESS);
  EXPECT_EQ(of_stream, context);
  EXPECT_EQ(cuStreamDestroy(stream), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxSetCurrent(context_), CUDA_SUCCESS);
}

TEST_F(CudaStandinKernels, ManagedMemoryIsTheHostsToo) {
  CUdeviceptr managed = 0;
  EXPECT_EQ(cuMemAllocManaged(&managed, kBytes, CU_MEM_ATTACH_HOST), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemAllocManaged(&managed, kBytes, CU_MEM_ATTACH_GLOBAL), CUDA_SUCCESS);
  auto* const floats = reinterpret_cast<float*>(managed);
  std::fill_n(floats, kCount, 7.0F);
  EXPECT_EQ(launch(sum_into(managed)), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(stream_), CUDA_SUCCESS);
  EXPECT_EQ(std::vector<float>(floats, floats + kCount), std::vector<float>(kCount, 3));
  unsigned char is_managed = 0;
  EXPECT_EQ(cuPointerGetAttribute(&is_managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, managed + 1),
            CUDA_SUCCESS);
  EXPECT_EQ(is_managed, 1);
  EXPECT_EQ(known_of(managed).type, CU_MEMORYTYPE_DEVICE);
  CUipcMemHandle handle{};
  EXPECT_EQ(cuIpcGetMemHandle(&handle, managed), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemFree(managed), CUDA_SUCCESS);
  EXPECT_EQ(cuMemFree(managed), CUDA_ERROR_INVALID_VALUE);
}

}  // namespace
}  // namespace tutti::standin
