/// @file
/// Both tests of the stand-ins for CUDA and NCCL use these: a device with a stream and memory, and
/// the reports of child processes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <cuda.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <tutti/types.hpp>
#include "backends/cuda/kernel_work.hpp"

namespace tutti::standin {

inline constexpr std::size_t kCount = 1000;
inline constexpr std::size_t kBytes = kCount * sizeof(float);
using Floats = std::vector<float>;

inline CUdeviceptr address_of(const void* pointer) {
  return reinterpret_cast<CUdeviceptr>(pointer);
}

/// The context of a device, which becomes current for this thread, with a stream and kBytes of
/// memory.
class Device {
 public:
  explicit Device(int number = 0) : number_{number} {
    EXPECT_EQ(cuInit(0), CUDA_SUCCESS);
    EXPECT_EQ(cuDevicePrimaryCtxRetain(&context_, number), CUDA_SUCCESS);
    use();
    EXPECT_EQ(cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    EXPECT_EQ(cuMemAlloc(&memory_, kBytes), CUDA_SUCCESS);
  }
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  ~Device() {
    use();
    cuMemFree(memory_);
    cuStreamDestroy(stream_);
    EXPECT_EQ(cuDevicePrimaryCtxRelease(number_), CUDA_SUCCESS);
  }

  void use() const { EXPECT_EQ(cuCtxSetCurrent(context_), CUDA_SUCCESS); }
  CUcontext context() const { return context_; }
  CUstream stream() const { return stream_; }
  CUdeviceptr memory() const { return memory_; }
  float* data() const { return reinterpret_cast<float*>(memory_); }
  CUresult wait() const { return cuStreamSynchronize(stream_); }
  bool is_idle() const { return cuStreamQuery(stream_) == CUDA_SUCCESS; }

  CUresult copy(CUdeviceptr to, CUdeviceptr from) const {
    return cuMemcpyAsync(to, from, kBytes, stream_);
  }
  CUresult clear(CUdeviceptr memory, std::size_t bytes = kBytes) const {
    return cuMemsetD8Async(memory, 0, bytes, stream_);
  }
  void put(CUdeviceptr to, const Floats& values) const {
    EXPECT_EQ(copy(to, address_of(values.data())), CUDA_SUCCESS);
    EXPECT_EQ(wait(), CUDA_SUCCESS);
  }
  void put(CUdeviceptr to, float value) const { put(to, Floats(kCount, value)); }
  Floats get(CUdeviceptr from) const {
    Floats values(kCount);
    EXPECT_EQ(copy(address_of(values.data()), from), CUDA_SUCCESS);
    EXPECT_EQ(wait(), CUDA_SUCCESS);
    return values;
  }

  /// Runs a kernel that copies.
  /// @param peers 1 if the address to copy from is stored at @p from.
  /// @return the stream's state after it.
  CUresult run_copy(CUdeviceptr to, CUdeviceptr from, std::uint32_t peers = 0) const {
    CUmodule module = nullptr;
    CUfunction kernel = nullptr;
    EXPECT_EQ(cuModuleLoadData(&module, "image"), CUDA_SUCCESS);
    EXPECT_EQ(cuModuleGetFunction(&kernel, module, "tutti_fold_f32"), CUDA_SUCCESS);
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
    const CUresult result = wait();
    cuModuleUnload(module);
    return result;
  }

 private:
  int number_;
  CUcontext context_ = nullptr;
  CUstream stream_ = nullptr;
  CUdeviceptr memory_ = 0;
};

/// A variable of the environment for child processes. A child keeps its parent's value.
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

/// A file that a stand-in writes when a child process ends.
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

}  // namespace tutti::standin
