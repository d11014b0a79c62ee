#include "pinned.hpp"

#include <atomic>
#include <cstring>
#include <utility>

namespace tutti::v0::cuda {
namespace {

/// Behind all numbers, and not so far that it counts as before them, since what a stream compares
/// wraps around.
constexpr std::uint64_t kAll = std::uint64_t{1} << 62U;

void store(std::byte* place, std::uint64_t number) noexcept {
  std::atomic_ref<std::uint64_t>{*reinterpret_cast<std::uint64_t*>(place)}.store(
      number, std::memory_order_release);
}

}  // namespace

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
  driver.check(result, "find where a GPU sees pinned memory");
  std::memset(data, 0, bytes);
}

PinnedMemory::~PinnedMemory() {
  if (!is_kept_) device_->within([this] { device_->driver().calls().free_pinned(data_); });
}

Milestone::Milestone(std::shared_ptr<const Device> device)
    : device_{std::move(device)}, memory_{device_, sizeof(std::uint64_t)} {}

void Milestone::hold(std::uint64_t number, CUstream stream) const {
  const Driver& driver = device_->driver();
  driver.check(driver.calls().wait_64(stream, memory_.seen(), number, CU_STREAM_WAIT_VALUE_GEQ),
               "have a stream wait for messages");
}

void Milestone::reach(std::uint64_t number) noexcept {
  store(memory_.data(), number);
}

void Milestone::reach_all() noexcept {
  store(memory_.data(), kAll);
}

}  // namespace tutti::v0::cuda
