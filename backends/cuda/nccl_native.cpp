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

/// Ours rounds the quotient of integers as C++ does.
std::optional<ncclRedOp_t> operator_of(OperatorKind kind, Datatype type) noexcept {
  const bool is_complex = is_any_of(type, ElementKind::complex);
  if (kind == OperatorKind::sum) return ncclSum;
  if (kind == OperatorKind::average && !is_integer(type)) return ncclAvg;
  if (kind == OperatorKind::prod && !is_complex) return ncclProd;
  if (kind == OperatorKind::min && !is_complex) return ncclMin;
  if (kind == OperatorKind::max && !is_complex) return ncclMax;
  return {};
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
  const NcclCalls& calls = parts_.nccl->calls();
  const std::optional<Translated> known = translated(call);
  expects(has_native(call) && known, "a call is NCCL's own where it has one");
  const auto [type, op, count] = *known;
  const auto on = of(stream);
  // NCCL does not exchange blocks in place. Both buffers are scratch then: in a graph NCCL would
  // register the other one.
  const bool copies = call.collective == Collective::all_to_all && in == out;
  const std::size_t bytes = copies ? count * static_cast<std::size_t>(ranks_.size()) : 0;
  const auto give_back = [&](std::byte* data) { deallocate(data, stream); };
  const std::unique_ptr<std::byte, decltype(give_back)> copied{
      copies ? allocate(2 * bytes, stream) : nullptr, give_back};
  if (copies) copy(copied.get(), in, bytes, stream);
  const std::byte* const from = copies ? copied.get() : in;
  std::byte* const into = copies ? copied.get() + bytes : out;
  const auto enqueued = [&](ncclComm_t by) {
    switch (call.collective) {
      case Collective::all_reduce: return calls.all_reduce(from, into, count, type, op, by, on);
      case Collective::reduce: return calls.reduce(from, into, count, type, op, call.root, by, on);
      case Collective::reduce_scatter:
        return calls.reduce_scatter(from, into, count, type, op, by, on);
      case Collective::broadcast:
        return calls.broadcast(from, into, count, type, call.root, by, on);
      case Collective::all_gather: return calls.all_gather(from, into, count, type, by, on);
      case Collective::all_to_all: return calls.all_to_all(from, into, count, type, by, on);
      case Collective::gather: return calls.gather(from, into, count, type, call.root, by, on);
      default: return calls.scatter(from, into, count, type, call.root, by, on);
    }
  };
  const bool knows =
      (from == nullptr || is_registered(from)) && (into == nullptr || is_registered(into));
  enqueue(knows && registered_ ? *registered_ : *messages_, "enqueue a collective", stream,
          enqueued);
  if (copies) copy(out, into, bytes, stream);
}

}  // namespace tutti::v0::cuda
