#include <tutti/cuda_array.hpp>

#include <algorithm>
#include <new>
#include <vector>

#include "device.hpp"

namespace tutti::v0::cuda::detail {
namespace {

constexpr std::size_t kPiece = std::size_t{1} << 20U;  // bytes; a host's cache has room for it

}  // namespace

/// Memory of a GPU, and the context that it belongs to. No kernels of ours are needed for it.
struct Allocation {
  explicit Allocation(std::size_t bytes) {
    const DriverCalls& calls = driver.calls();
    device = driver.device(driver.choose(-1));
    driver.check(calls.retain_context(&context, device), "make the context of a GPU");
    const CUresult result = in_context([&] { return calls.allocate_now(&data, bytes); });
    if (result == CUDA_SUCCESS) return;
    calls.release_context(device);
    if (result == CUDA_ERROR_OUT_OF_MEMORY) throw std::bad_alloc{};
    driver.check(result, "allocate memory of a GPU");
  }
  Allocation(const Allocation&) = delete;
  Allocation& operator=(const Allocation&) = delete;
  ~Allocation() {
    in_context([this] { return driver.calls().free_now(data); });
    driver.calls().release_context(device);
  }

  /// Copies and waits for it, after what is on the default stream.
  void copy(CUdeviceptr to, CUdeviceptr from, std::size_t bytes) const {
    driver.check(in_context([&] {
                   const CUresult copied = driver.calls().copy(to, from, bytes, nullptr);
                   return copied == CUDA_SUCCESS ? driver.calls().synchronize(nullptr) : copied;
                 }),
                 "copy an array of a GPU");
  }

  template <class Action>
  CUresult in_context(const Action& action) const {
    CUcontext before = nullptr;
    driver.calls().current_context(&before);
    CUresult result = driver.calls().set_context(context);
    if (result != CUDA_SUCCESS) return result;
    result = action();
    driver.calls().set_context(before);
    return result;
  }

  Driver driver{};
  CUdevice device = 0;
  CUcontext context = nullptr;
  CUdeviceptr data = 0;
};

DeviceBytes::DeviceBytes(std::size_t bytes) {
  if (bytes > 0) allocation_ = std::make_shared<Allocation>(bytes);
}

std::byte* DeviceBytes::data() const noexcept {
  return allocation_ ? reinterpret_cast<std::byte*>(allocation_->data) : nullptr;
}

void DeviceBytes::encode(Encoder& to, std::size_t bytes) const {
  std::vector<std::byte> piece(std::min(bytes, kPiece));
  for (std::size_t begin = 0; begin < bytes; begin += piece.size()) {
    const std::size_t size = std::min(bytes - begin, piece.size());
    // What is only counted is not looked at.
    if (!to.is_counted())
      allocation_->copy(address_of(piece.data()), allocation_->data + begin, size);
    to.write(piece.data(), size);
  }
}

void DeviceBytes::decode(Decoder& from, std::size_t bytes) {
  for (std::size_t begin = 0; begin < bytes;) {
    const std::span<const std::byte> part = from.take_some(bytes - begin);
    allocation_->copy(allocation_->data + begin, address_of(part.data()), part.size());
    begin += part.size();
  }
}

}  // namespace tutti::v0::cuda::detail
