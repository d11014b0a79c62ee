// NCCL's own collectives.
#include <memory>
#include <optional>

#include "enqueue.hpp"
#include "nccl_streams.hpp"

namespace tutti::v0::cuda {
namespace {

/// Elements of a reduction as NCCL has them; complex numbers are two where they are added.
struct Elements {
  ncclDataType_t type;
  std::size_t each = 1;
};

std::optional<Elements> elements_of(Datatype type) noexcept {
  switch (type) {
    case Datatype::i8: return Elements{ncclInt8};
    case Datatype::u8: return Elements{ncclUint8};
    case Datatype::i32: return Elements{ncclInt32};
    case Datatype::u32: return Elements{ncclUint32};
    case Datatype::i64: return Elements{ncclInt64};
    case Datatype::u64: return Elements{ncclUint64};
    case Datatype::f16: return Elements{ncclFloat16};
    case Datatype::bf16: return Elements{ncclBfloat16};
    case Datatype::f32: return Elements{ncclFloat32};
    case Datatype::f64: return Elements{ncclFloat64};
    case Datatype::c32: return Elements{ncclFloat32, 2};
    case Datatype::c64: return Elements{ncclFloat64, 2};
    default: return {};
  }
}

std::optional<ncclRedOp_t> operator_of(OperatorKind kind, Datatype type) noexcept {
  switch (kind) {
    case OperatorKind::sum: return ncclSum;
    // Ours rounds the quotient of integers as C++ does.
    case OperatorKind::average:
      if (is_integer(type)) return {};
      return ncclAvg;
    case OperatorKind::prod:
    case OperatorKind::min:
    case OperatorKind::max: break;
    default: return {};
  }
  if (is_any_of(type, ElementKind::complex)) return {};
  if (kind == OperatorKind::prod) return ncclProd;
  return kind == OperatorKind::min ? ncclMin : ncclMax;
}

/// A call in NCCL's terms.
struct Translated {
  ncclDataType_t type = ncclInt8;
  ncclRedOp_t op = ncclSum;
  std::size_t count = 0;
};

/// What is only moved is bytes.
std::optional<Translated> translated(const NativeCall& call) noexcept {
  if (!call.op) return Translated{.count = call.count * call.element_bytes};
  const std::optional<Elements> elements = elements_of(call.type);
  const std::optional<ncclRedOp_t> op = operator_of(*call.op, call.type);
  if (!elements || !op) return {};
  return Translated{elements->type, *op, call.count * elements->each};
}

}  // namespace

bool NcclStreams::has_native(const NativeCall& call) const {
  const NcclCalls& calls = parts_.nccl->calls();
  switch (call.collective) {
    case Collective::all_reduce:
    case Collective::reduce:
    case Collective::reduce_scatter:
    case Collective::broadcast:
    case Collective::all_gather: return translated(call).has_value();
    case Collective::all_to_all: return calls.all_to_all != nullptr;
    case Collective::gather: return calls.gather != nullptr;
    case Collective::scatter: return calls.scatter != nullptr;
    default: return false;
  }
}

void NcclStreams::run_native(const NativeCall& call, const std::byte* in, std::byte* out,
                             Stream stream) {
  const Device::Current current{*parts_.device};
  const NcclCalls& calls = parts_.nccl->calls();
  const std::optional<Translated> known = translated(call);
  expects(has_native(call) && known, "a call is NCCL's own where it has one");
  const ncclDataType_t type = known->type;
  const ncclRedOp_t op = known->op;
  const std::size_t count = known->count;
  const auto on = static_cast<CUstream>(stream.handle());
  // NCCL does not exchange blocks in place.
  const bool copies = call.collective == Collective::all_to_all && in == out;
  const std::size_t bytes = copies ? count * static_cast<std::size_t>(ranks_.size()) : 0;
  const auto give_back = [&](std::byte* data) { deallocate(data, stream); };
  const std::unique_ptr<std::byte, decltype(give_back)> copied{
      copies ? allocate(bytes, stream) : nullptr, give_back};
  if (copies) copy(copied.get(), in, bytes, stream);
  if (copies) in = copied.get();
  const auto enqueued = [&] {
    switch (call.collective) {
      case Collective::all_reduce:
        return calls.all_reduce(in, out, count, type, op, communicator_, on);
      case Collective::reduce:
        return calls.reduce(in, out, count, type, op, call.root, communicator_, on);
      case Collective::reduce_scatter:
        return calls.reduce_scatter(in, out, count, type, op, communicator_, on);
      case Collective::broadcast:
        return calls.broadcast(in, out, count, type, call.root, communicator_, on);
      case Collective::all_gather: return calls.all_gather(in, out, count, type, communicator_, on);
      case Collective::all_to_all: return calls.all_to_all(in, out, count, type, communicator_, on);
      case Collective::gather:
        return calls.gather(in, out, count, type, call.root, communicator_, on);
      default: return calls.scatter(in, out, count, type, call.root, communicator_, on);
    }
  };
  complete(enqueued(), "enqueue a collective");
}

}  // namespace tutti::v0::cuda
