#include "enqueue.hpp"

#include <tutti/error.hpp>

#include "fold_work.hpp"

namespace tutti::v0::cuda {
namespace {

/// Memory of a device, from where it is made until where it ends in the stream.
class Scratch {
 public:
  Scratch(const Device& device, std::size_t bytes, CUstream stream)
      : calls_{device.driver().calls()}, stream_{stream}, data_{device.allocate(bytes, stream)} {}
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() { calls_.free(data_, stream_); }

  [[nodiscard]] CUdeviceptr data() const noexcept { return data_; }

 private:
  const DriverCalls& calls_;
  CUstream stream_;
  CUdeviceptr data_;
};

/// A user's function takes two operands at a time. More of them go through scratch, since the
/// destination may be an operand that is still to be read.
void enqueue_user_fold(const Device& device, const Fold& fold, CUstream stream) {
  const DeviceFunction* const function = fold.op->device_function();
  if (function == nullptr)
    throw Error{ErrorCode::invalid_argument,
                "a user's operator is a function of the host, which a GPU cannot run"};
  expects(fold.divisor == 1 && fold.copies.empty(), "a user's reduction is that alone");
  const void* left = fold.operands.front();
  if (fold.operands.size() == 2)
    return (*function)(left, fold.operands.back(), fold.destination, fold.count, stream);
  const Scratch scratch{device, fold.count * fold.element_bytes, stream};
  auto* const between = reinterpret_cast<void*>(scratch.data());
  for (const void* const operand : fold.operands.subspan(1, fold.operands.size() - 2)) {
    (*function)(left, operand, between, fold.count, stream);
    left = between;
  }
  (*function)(left, fold.operands.back(), fold.destination, fold.count, stream);
}

}  // namespace

void enqueue_copy(const Device& device, std::byte* to, const std::byte* from, std::size_t bytes,
                  CUstream stream) {
  if (bytes == 0 || to == from) return;
  device.driver().check(
      device.driver().calls().copy(address_of(to), address_of(from), bytes, stream),
      "copy on a GPU");
}

void enqueue_fold(const Device& device, const Fold& fold, CUstream stream) {
  expects(!fold.operands.empty() && fold.divisor >= 1, "a fold has operands and a divisor");
  if (fold.count == 0) return;
  if (fold.operands.size() == 1 && fold.divisor == 1) {
    const std::size_t bytes =
        fold.count * (fold.type == Datatype::opaque ? fold.element_bytes : size_of(fold.type));
    const auto* const from = static_cast<const std::byte*>(fold.operands.front());
    enqueue_copy(device, static_cast<std::byte*>(fold.destination), from, bytes, stream);
    for (void* const also : fold.copies)
      enqueue_copy(device, static_cast<std::byte*>(also), from, bytes, stream);
    return;
  }
  if (fold.op != nullptr && fold.op->kind() == OperatorKind::user)
    return enqueue_user_fold(device, fold, stream);
  expects(fold.op != nullptr && is_defined(fold.op->kind(), fold.type),
          "a fold's operator fits its datatype");
  const std::size_t launches = launches_of(fold);
  if (launches == 1) {
    const FoldWork work = work_of(fold);
    return device.launch(work.type, work.kernel, stream);
  }
  const Scratch carried{device, fold.count * carried_bytes(fold.type), stream};
  for (std::size_t i = 0; i < launches; ++i) {
    const FoldWork work = work_of(fold, i, reinterpret_cast<void*>(carried.data()));
    device.launch(work.type, work.kernel, stream);
  }
}

/// A copy is one of bytes.
void enqueue_fold(const Device& device, const Fold& fold, std::span<const PeerPlace> peers,
                  CUstream stream) {
  if (peers.empty()) return enqueue_fold(device, fold, stream);
  if (fold.count == 0) return;
  Fold told = fold;
  const bool is_copy = fold.operands.size() == 1 && fold.divisor == 1;
  if (is_copy) {
    told.count *= fold.type == Datatype::opaque ? fold.element_bytes : size_of(fold.type);
    told.type = Datatype::u8;
    told.op = &bit_or;
  }
  expects(launches_of(told) == 1, "operands of peers are passed with a launch");
  FoldWork work = work_of(told);
  put_peers(work.kernel, peers);
  device.launch(work.type, work.kernel, stream);
}

}  // namespace tutti::v0::cuda
