/// @file
/// Frees of memory that wait until no stream waits for a thread of tutti.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "driver.hpp"

namespace tutti::v0::cuda {

/// cuMemFree and cuMemFreeHost wait for all streams of a context, and meanwhile no thread can
/// enqueue anything in it (seen with driver 580 on an H100). A thread of tutti that has to enqueue
/// copies for such a stream would never continue. So memory is freed when no stream waits for one.
/// There is one object for each GPU of a process. Thread-safe.
class DeferredFrees {
 public:
  /// @param driver not null. @return the object of a GPU. Throws Error{transport}.
  [[nodiscard]] static std::shared_ptr<DeferredFrees> of(
      const std::shared_ptr<const Driver>& driver, CUdevice device);
  DeferredFrees(std::shared_ptr<const Driver> driver, CUdevice device);
  DeferredFrees(const DeferredFrees&) = delete;
  DeferredFrees& operator=(const DeferredFrees&) = delete;
  ~DeferredFrees();

  /// While one exists, a stream waits for a thread of tutti, and nothing is freed.
  class Wait {
   public:
    /// Waits for frees by other threads. @param frees not null.
    explicit Wait(std::shared_ptr<DeferredFrees> frees);
    Wait(const Wait&) = delete;
    Wait& operator=(const Wait&) = delete;
    ~Wait();

   private:
    std::shared_ptr<DeferredFrees> frees_;
  };

  /// Frees memory of cuMemAlloc, now or in a later call.
  void free_device(CUdeviceptr data) noexcept;
  /// Frees memory of cuMemHostAlloc, now or in a later call.
  void free_pinned(void* data) noexcept;

 private:
  struct Memory {
    CUdeviceptr device = 0;
    void* pinned = nullptr;
  };
  void free(const Memory& memory) noexcept;
  void free_all() noexcept;

  std::shared_ptr<const Driver> driver_;
  CUdevice device_;
  CUcontext context_ = nullptr;
  std::mutex mutex_{};  // held while memory is freed, so that no wait begins
  int waits_ = 0;
  std::vector<Memory> memory_{};
};

}  // namespace tutti::v0::cuda
