#include "pinned.hpp"

#include <atomic>
#include <cstring>
#include <utility>

namespace tutti::v0::cuda {

PinnedMemory::PinnedMemory(std::shared_ptr<const Device> device, std::size_t bytes)
    : device_{std::move(device)} {
  const Device::Current current{*device_};
  const Driver& driver = device_->driver();
  void* data = nullptr;
  driver.check(driver.calls().allocate_pinned(&data, bytes,
                                              CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP),
               "allocate pinned memory");
  data_ = static_cast<std::byte*>(data);
  const CUresult result = driver.calls().pinned_address(&seen_, data, 0);
  if (result != CUDA_SUCCESS) driver.calls().free_pinned(data);
  driver.check(result, "find the address of pinned memory on a GPU");
  std::memset(data, 0, bytes);
}

PinnedMemory::~PinnedMemory() {
  if (!is_kept_) device_->frees()->free_pinned(data_);
}

Milestone::Milestone(std::shared_ptr<const Device> device)
    : device_{std::move(device)}, memory_{device_, sizeof(std::uint64_t)} {}

void Milestone::hold(std::uint64_t number, CUstream stream) const {
  device_->call("have a stream wait for messages", &DriverCalls::wait_64, stream, memory_.seen(),
                number, unsigned{CU_STREAM_WAIT_VALUE_GEQ});
}

void Milestone::reach(std::uint64_t number) noexcept {
  std::atomic_ref{*reinterpret_cast<std::uint64_t*>(memory_.data())}.store(
      number, std::memory_order_release);
}

}  // namespace tutti::v0::cuda
