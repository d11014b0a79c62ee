/// @file
/// What tests of several devices of the stand-in for the CUDA driver share. There are four: NVLink
/// joins 0 and 1, and 2 and 3; nothing joins 0 and 3; PCIe joins all others.
#pragma once

#include <memory>
#include <vector>

#include "tests/cuda/standin_context.hpp"

namespace tutti::standin {

/// A device's context, with a stream and memory, which is current while calls are made of it.
class OnDevice {
 public:
  explicit OnDevice(int device);
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;
  ~OnDevice();

  void use() const { EXPECT_EQ(cuCtxSetCurrent(context_), CUDA_SUCCESS); }
  CUcontext context() const { return context_; }
  CUstream stream() const { return stream_; }
  CUdeviceptr memory() const { return memory_; }
  CUresult wait() const { return cuStreamSynchronize(stream_); }

  void fill(float value) const { put(memory_, value); }
  /// Writes a value kCount times.
  void put(CUdeviceptr to, float value) const;
  std::vector<float> get(CUdeviceptr from) const;
  /// Lets a kernel copy. @return what comes of it.
  CUresult run_copy(CUdeviceptr to, CUdeviceptr from) const { return run_copy(to, from, 0); }
  /// The same from where the address stands that a place in memory holds.
  CUresult run_copy_by(CUdeviceptr to, CUdeviceptr place) const { return run_copy(to, place, 1); }

 private:
  CUresult run_copy(CUdeviceptr to, CUdeviceptr from, std::uint32_t peers) const;

  int device_;
  CUcontext context_ = nullptr;
  CUstream stream_ = nullptr;
  CUdeviceptr memory_ = 0;
  CUmodule module_ = nullptr;
};

}  // namespace tutti::standin
