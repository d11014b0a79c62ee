#include "enqueue.hpp"

#include <tutti/error.hpp>

#include "fold_work.hpp"

namespace tutti::v0::cuda {
namespace {

/// Memory that is allocated and freed in the order of a stream.
class Scratch {
 public:
  Scratch(const Device& device, std::size_t bytes, CUstream stream)
      : device_{device}, stream_{stream}, data_{device.allocate(bytes, stream)} {}
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() { device_.free(data_, stream_); }

  [[nodiscard]] void* data() const noexcept { return reinterpret_cast<void*>(data_); }

 private:
  const Device& device_;
  CUstream stream_;
  CUdeviceptr data_;
};

std::size_t bytes_of(const Fold& fold) {
  return fold.count * (fold.type == Datatype::opaque ? fold.element_bytes : size_of(fold.type));
}

/// A user's function takes two operands at a time. More operands go through scratch, since the
/// destination may be an operand that was not read yet.
void enqueue_user_fold(const Device& device, const Fold& fold, CUstream stream) {
  const DeviceFunction* const function = fold.op->device_function();
  if (function == nullptr)
    throw Error{ErrorCode::invalid_argument,
                "a user's operator is a function of the host, which a GPU cannot run"};
  expects(fold.divisor == 1 && fold.copies.empty(), "a user's reduction has one result, undivided");
  const Device::Current current{device};
  const void* left = fold.operands.front();
  if (fold.operands.size() == 2)
    return (*function)(left, fold.operands.back(), fold.destination, fold.count, stream);
  const Scratch between{device, fold.count * fold.element_bytes, stream};
  for (const void* const operand : fold.operands.subspan(1, fold.operands.size() - 2)) {
    (*function)(left, operand, between.data(), fold.count, stream);
    left = between.data();
  }
  (*function)(left, fold.operands.back(), fold.destination, fold.count, stream);
}

/// @param fold with an operator that is defined for its datatype.
void launch_kernels(const Device& device, const Fold& fold, CUstream stream,
                    std::span<const PeerAddress> peers) {
  const std::size_t launches = launches_of(fold);
  if (launches == 1) {
    FoldWork work = work_of(fold);
    put_peers(work.kernel, peers);
    return device.launch(work.type, work.kernel, stream);
  }
  expects(peers.empty(), "a fold with operands of peers takes one launch");
  const Scratch carried{device, fold.count * carried_bytes(fold.type), stream};
  for (std::size_t i = 0; i < launches; ++i) {
    const FoldWork work = work_of(fold, i, carried.data());
    device.launch(work.type, work.kernel, stream);
  }
}

}  // namespace

void enqueue_copy(const Device& device, std::byte* to, const std::byte* from, std::size_t bytes,
                  CUstream stream) {
  if (bytes == 0 || to == from) return;
  device.call("copy on a GPU", &DriverCalls::copy, address_of(to), address_of(from), bytes, stream);
}

void enqueue_fold(const Device& device, const Fold& fold, CUstream stream,
                  std::span<const PeerAddress> peers) {
  expects(!fold.operands.empty() && fold.divisor >= 1, "a fold has operands and a divisor");
  if (fold.count == 0) return;
  const bool is_copy = fold.operands.size() == 1 && fold.divisor == 1;
  if (is_copy && peers.empty()) {
    const auto* const from = static_cast<const std::byte*>(fold.operands.front());
    const std::size_t bytes = bytes_of(fold);
    enqueue_copy(device, static_cast<std::byte*>(fold.destination), from, bytes, stream);
    for (void* const copy : fold.copies)
      enqueue_copy(device, static_cast<std::byte*>(copy), from, bytes, stream);
    return;
  }
  if (is_copy) {  // a kernel copies bytes
    Fold bytes = fold;
    bytes.count = bytes_of(fold);
    bytes.type = Datatype::u8;
    bytes.op = &bit_or;
    return launch_kernels(device, bytes, stream, peers);
  }
  if (fold.op != nullptr && fold.op->kind() == OperatorKind::user)
    return enqueue_user_fold(device, fold, stream);
  expects(fold.op != nullptr && is_defined(fold.op->kind(), fold.type),
          "a fold's operator fits its datatype");
  launch_kernels(device, fold, stream, peers);
}

}  // namespace tutti::v0::cuda
