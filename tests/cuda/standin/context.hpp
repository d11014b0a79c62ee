/// @file
/// A device's primary context. There is one per device, and it is never destroyed: once nobody
/// retains it, it only refuses calls until somebody does again.
#pragma once

#include <atomic>
#include <shared_mutex>

#include <cuda.h>

namespace tutti::standin {

class Context {
 public:
  explicit Context(int device) : device_{device} {}

  int device() const noexcept { return device_; }
  CUcontext handle() noexcept { return reinterpret_cast<CUcontext>(this); }
  bool is_active() const noexcept { return references_ > 0; }

  /// The first owner finds it without an error.
  void retain() noexcept {
    if (references_++ == 0) error_ = CUDA_SUCCESS;
  }
  /// @return false if it has no owner.
  bool release() noexcept {
    int references = references_;
    while (references > 0 && !references_.compare_exchange_weak(references, references - 1)) {
    }
    return references > 0;
  }

  /// From the first failure on, every call of this context returns it.
  void fail(CUresult error) noexcept {
    CUresult none = CUDA_SUCCESS;
    error_.compare_exchange_strong(none, error);
  }
  CUresult error() const noexcept { return error_; }

  /// Held alone by a call that waits for all streams, as cuMemFree does, and shared by all calls
  /// that enqueue something: so it is with driver 580 on an H100.
  std::shared_mutex& enqueuing() noexcept { return enqueuing_; }

 private:
  const int device_;
  std::atomic<int> references_{0};
  std::atomic<CUresult> error_{CUDA_SUCCESS};
  std::shared_mutex enqueuing_;
};

}  // namespace tutti::standin
