#include "deferred_frees.hpp"

#include <map>
#include <new>
#include <utility>

namespace tutti::v0::cuda {

std::shared_ptr<DeferredFrees> DeferredFrees::of(const std::shared_ptr<const Driver>& driver,
                                                 CUdevice device) {
  static std::mutex mutex;
  static std::map<CUdevice, std::weak_ptr<DeferredFrees>> all;
  const std::scoped_lock lock{mutex};
  std::shared_ptr<DeferredFrees> frees = all[device].lock();
  if (frees == nullptr) all[device] = frees = std::make_shared<DeferredFrees>(driver, device);
  return frees;
}

DeferredFrees::DeferredFrees(std::shared_ptr<const Driver> driver, CUdevice device)
    : driver_{std::move(driver)}, device_{device} {
  driver_->check(driver_->calls().retain_context(&context_, device_), "make the context of a GPU");
}

DeferredFrees::~DeferredFrees() {
  free_all();
  driver_->calls().release_context(device_);
}

DeferredFrees::Wait::Wait(std::shared_ptr<DeferredFrees> frees) : frees_{std::move(frees)} {
  const std::scoped_lock lock{frees_->mutex_};
  ++frees_->waits_;
}

DeferredFrees::Wait::~Wait() {
  const std::scoped_lock lock{frees_->mutex_};
  --frees_->waits_;
}

void DeferredFrees::free_device(CUdeviceptr data) noexcept {
  free({.device = data});
}

void DeferredFrees::free_pinned(void* data) noexcept {
  free({.pinned = data});
}

void DeferredFrees::free(const Memory& memory) noexcept {
  const std::scoped_lock lock{mutex_};
  try {
    memory_.push_back(memory);
  } catch (const std::bad_alloc&) {
    return;  // the memory is kept until the process ends
  }
  if (waits_ == 0) free_all();
}

/// Nothing is freed if the context is gone.
void DeferredFrees::free_all() noexcept {
  const DriverCalls& calls = driver_->calls();
  CUcontext before = nullptr;
  calls.current_context(&before);
  if (calls.set_context(context_) == CUDA_SUCCESS)
    for (const Memory& each : memory_) {
      if (each.pinned != nullptr) calls.free_pinned(each.pinned);
      else calls.free_now(each.device);
    }
  calls.set_context(before);
  memory_.clear();
}

}  // namespace tutti::v0::cuda
