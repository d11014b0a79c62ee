#include "enqueue.hpp"

#include <string>
#include <vector>

#include <tutti/error.hpp>

#include "fold_work.hpp"

namespace tutti::inline v0::cuda {
namespace {

/// Addresses in memory of a device, from where it is made until where it ends in the stream.
class Table {
 public:
  Table(const Device& device, const std::vector<void*>& places, CUstream stream)
      : calls_{device.driver().calls()}, stream_{stream} {
    const std::size_t bytes = places.size() * sizeof(void*);
    device.driver().check(calls_.allocate(&data_, bytes, stream), "allocate memory of a GPU");
    // A graph that captures this keeps the addresses, but would keep no memory of the host.
    CUresult result = CUDA_SUCCESS;
    for (std::size_t i = 0; i < places.size() && result == CUDA_SUCCESS; ++i)
      result = calls_.write_64(stream, data_ + i * sizeof(void*), address_of(places[i]),
                               CU_STREAM_WRITE_VALUE_DEFAULT);
    if (result != CUDA_SUCCESS) calls_.free(data_, stream_);
    device.driver().check(result, "write to memory of a GPU");
  }
  Table(const Table&) = delete;
  Table& operator=(const Table&) = delete;
  ~Table() { calls_.free(data_, stream_); }

  [[nodiscard]] void* const* data() const noexcept { return reinterpret_cast<void* const*>(data_); }

 private:
  const DriverCalls& calls_;
  CUstream stream_;
  CUdeviceptr data_ = 0;
};

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
  if (fold.op != nullptr && fold.op->kind() == OperatorKind::user)
    throw Error{ErrorCode::invalid_argument,
                "a user's operator is a function of the host, which a GPU cannot run"};
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
  expects(fold.op != nullptr && is_defined(fold.op->kind(), fold.type),
          "a fold's operator fits its datatype");
  FoldWork work = work_of(fold);
  if (work.places.size() <= kPassedPlaces) return device.launch(fold.type, work.kernel, stream);
  const Table table{device, work.places, stream};
  work.kernel.table = table.data();
  device.launch(fold.type, work.kernel, stream);
}

}  // namespace tutti::inline v0::cuda
