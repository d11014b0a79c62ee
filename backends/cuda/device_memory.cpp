#include "device_memory.hpp"

#include <utility>

#include "enqueue.hpp"

namespace tutti::v0::cuda {

DeviceMemory::DeviceMemory(std::shared_ptr<const Device> device)
    : device_{std::move(device)}, stream_{device_->make_stream()} {}

DeviceMemory::~DeviceMemory() {
  device_->destroy(stream_);
}

std::byte* DeviceMemory::allocate(std::size_t bytes) {
  return reinterpret_cast<std::byte*>(device_->allocate(bytes));
}

void DeviceMemory::deallocate(std::byte* data, std::size_t) noexcept {
  device_->free(address_of(data));
}

void DeviceMemory::wait(void* stream) {
  const Device::Current current{*device_};
  device_->driver().check(device_->driver().calls().synchronize(static_cast<CUstream>(stream)),
                          "wait for a stream");
}

void DeviceMemory::copy(std::byte* to, const std::byte* from, std::size_t bytes) {
  const Device::Current current{*device_};
  enqueue_copy(*device_, to, from, bytes, stream_);
  device_->driver().check(device_->driver().calls().synchronize(stream_), "copy on a GPU");
}

void DeviceMemory::fold(const Fold& work) {
  const Device::Current current{*device_};
  enqueue_fold(*device_, work, stream_);
  device_->driver().check(device_->driver().calls().synchronize(stream_), "reduce on a GPU");
}

}  // namespace tutti::v0::cuda
