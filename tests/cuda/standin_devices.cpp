#include "standin_devices.hpp"

#include <cstdlib>

namespace tutti::standin {
namespace {

// The driver reads these when it is initialised, and child processes inherit them.
[[maybe_unused]] const int devices_set = setenv("CUDA_STANDIN_DEVICES", "4", 1);
[[maybe_unused]] const int links_set = setenv("CUDA_STANDIN_LINKS", "0-1,3-2,nonsense,3x0", 1);

}  // namespace

OnDevice::OnDevice(int device) : device_{device} {
  EXPECT_EQ(cuInit(0), CUDA_SUCCESS);
  EXPECT_EQ(cuDevicePrimaryCtxRetain(&context_, device), CUDA_SUCCESS);
  use();
  EXPECT_EQ(cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  EXPECT_EQ(cuMemAlloc(&memory_, kBytes), CUDA_SUCCESS);
  EXPECT_EQ(cuModuleLoadData(&module_, "image"), CUDA_SUCCESS);
}

OnDevice::~OnDevice() {
  use();
  cuModuleUnload(module_);
  cuMemFree(memory_);
  cuStreamDestroy(stream_);
  EXPECT_EQ(cuDevicePrimaryCtxRelease(device_), CUDA_SUCCESS);
}

void OnDevice::put(CUdeviceptr to, float value) const {
  const std::vector<float> values(kCount, value);
  EXPECT_EQ(cuMemcpyAsync(to, address_of(values.data()), kBytes, stream_), CUDA_SUCCESS);
  EXPECT_EQ(wait(), CUDA_SUCCESS);
}

std::vector<float> OnDevice::get(CUdeviceptr from) const {
  std::vector<float> values(kCount);
  EXPECT_EQ(cuMemcpyAsync(address_of(values.data()), from, kBytes, stream_), CUDA_SUCCESS);
  return values;
}

CUresult OnDevice::run_copy(CUdeviceptr to, CUdeviceptr from, std::uint32_t peers) const {
  CUfunction kernel = nullptr;
  EXPECT_EQ(cuModuleGetFunction(&kernel, module_, "tutti_fold_f32"), CUDA_SUCCESS);
  cuda::KernelWork work{.op = static_cast<std::uint32_t>(OperatorKind::sum),
                        .operands = 1,
                        .results = 1,
                        .count = kCount,
                        .peers = peers};
  work.addresses[0] = reinterpret_cast<void*>(from);
  work.addresses[1] = reinterpret_cast<void*>(to);
  std::array<void*, 1> parameters{&work};
  EXPECT_EQ(cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, stream_, parameters.data(), nullptr),
            CUDA_SUCCESS);
  return wait();
}

}  // namespace tutti::standin
