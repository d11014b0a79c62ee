#include <tutti/cuda_array.hpp>

#include <algorithm>
#include <new>
#include <vector>

#include "context.hpp"

namespace tutti::v0::cuda::detail {
namespace {

constexpr std::size_t kPiece = std::size_t{1} << 20U;  // bytes, which fit into a host's cache

}  // namespace

/// Memory of a GPU, which needs none of tutti's kernels.
struct Allocation {
  explicit Allocation(std::size_t bytes,
                      const std::shared_ptr<const Driver>& driver = std::make_shared<Driver>())
      : context{driver, driver->choose(-1)} {
    const Context::Current current{context};
    const CUresult result = context.driver().calls().allocate_now(&data, bytes);
    if (result == CUDA_ERROR_OUT_OF_MEMORY) throw std::bad_alloc{};
    context.driver().check(result, "allocate memory of a GPU");
  }
  Allocation(const Allocation&) = delete;
  Allocation& operator=(const Allocation&) = delete;
  ~Allocation() { context.frees()->free_device(data); }

  /// Copies after the work of the default stream, and waits.
  void copy(CUdeviceptr to, CUdeviceptr from, std::size_t bytes) const {
    constexpr const char* kWhat = "copy an array of a GPU";
    context.call(kWhat, &DriverCalls::copy, to, from, bytes, nullptr);
    context.call(kWhat, &DriverCalls::synchronize, nullptr);
  }

  Context context;
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
    if (!to.is_counted())  // an encoder that only counts reads no bytes
      allocation_->copy(address_of(piece.data()), allocation_->data + begin, size);
    to.write(piece.data(), size);
  }
}

void DeviceBytes::decode(Decoder& from, std::size_t bytes) {
  for (std::size_t begin = 0; begin < bytes;) {
    const std::span<const std::byte> part = from.pop_some(bytes - begin);
    allocation_->copy(allocation_->data + begin, address_of(part.data()), part.size());
    begin += part.size();
  }
}

}  // namespace tutti::v0::cuda::detail
