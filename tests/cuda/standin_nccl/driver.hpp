/// @file
/// The functions of the CUDA driver that the stand-in needs; the driver is a stand-in as well.
#pragma once

#include <array>
#include <cstddef>

#include <cuda.h>

#include "tests/cuda/standin/hooks.hpp"

namespace tutti::nccl_standin {

/// A device and the context that is used for it.
struct Device {
  int number = 0;
  CUcontext context = nullptr;
  std::array<char, sizeof(CUuuid)> uuid{};
};

/// @return the device that is current for this thread; throws Failure if there is none.
Device current_device();

/// Throws Failure if no context is current for this thread: the CUDA runtime, by which NCCL looks
/// at its device, would make one of device 0.
void require_context();

/// Throws Failure if a call of the driver has failed. @param call its name.
void check(CUresult result, const char* call);

/// Makes a context current as long as it lives.
class ContextScope {
 public:
  explicit ContextScope(CUcontext context);
  ContextScope(const ContextScope&) = delete;
  ContextScope& operator=(const ContextScope&) = delete;
  ~ContextScope();

 private:
  CUcontext before_ = nullptr;
};

/// @return whether a stream records what it is asked for. Throws Failure if it cannot.
bool records(CUstream stream);

/// @return the host's pointer to these bytes, for writing; null for no bytes. Throws Failure if
/// they are not in memory.
std::byte* reach(void* address, std::size_t bytes);
/// The same for bytes to be read.
inline const std::byte* reach(const void* address, std::size_t bytes) {
  return reach(const_cast<void*>(address), bytes);
}

}  // namespace tutti::nccl_standin
