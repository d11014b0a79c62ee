// NCCL's own collectives.
#include <memory>
#include <optional>

#include "enqueue.hpp"
#include "nccl_streams.hpp"

namespace tutti::v0::cuda {
namespace {

/// @return NCCL's type; that of their parts for complex numbers.
std::optional<ncclDataType_t> native_type(Datatype type) noexcept {
  switch (type) {
    case Datatype::i8: return ncclInt8;
    case Datatype::u8: return ncclUint8;
    case Datatype::i32: return ncclInt32;
    case Datatype::u32: return ncclUint32;
    case Datatype::i64: return ncclInt64;
    case Datatype::u64: return ncclUint64;
    case Datatype::f16: return ncclFloat16;
    case Datatype::bf16: return ncclBfloat16;
    case Datatype::f32:
    case Datatype::c32: return ncclFloat32;
    case Datatype::f64:
    case Datatype::c64: return ncclFloat64;
    case Datatype::i16:
    case Datatype::u16:
    case Datatype::i32_index:
    case Datatype::i64_index:
    case Datatype::f32_index:
    case Datatype::f64_index:
    case Datatype::opaque: break;
  }
  return {};
}

/// @return NCCL's operator. None for averages of integers, which NCCL rounds differently.
std::optional<ncclRedOp_t> native_operator(OperatorKind kind, Datatype type) noexcept {
  if (kind == OperatorKind::sum) return ncclSum;
  if (kind == OperatorKind::average && !is_integer(type)) return ncclAvg;
  if (is_any_of(type, ElementKind::complex)) return {};
  if (kind == OperatorKind::prod) return ncclProd;
  if (kind == OperatorKind::min) return ncclMin;
  if (kind == OperatorKind::max) return ncclMax;
  return {};
}

/// The arguments of a call of NCCL.
struct NativeArguments {
  ncclDataType_t type;
  ncclRedOp_t op;
  std::size_t count;
};

/// @return the arguments of a call. Without an operator, elements are bytes.
std::optional<NativeArguments> arguments_of(const NativeCall& call) noexcept {
  if (!call.op) return NativeArguments{ncclInt8, ncclSum, call.count * call.element_bytes};
  const std::optional<ncclDataType_t> type = native_type(call.type);
  const std::optional<ncclRedOp_t> op = native_operator(*call.op, call.type);
  if (!type || !op) return {};
  return NativeArguments{*type, *op,
                         is_any_of(call.type, ElementKind::complex) ? 2 * call.count : call.count};
}

}  // namespace

bool NcclStreams::has_native(const NativeCall& call) const {
  const NcclCalls& calls = config_.nccl->calls();
  switch (call.collective) {
    case Collective::all_reduce:
    case Collective::reduce:
    case Collective::reduce_scatter:
    case Collective::broadcast:
    case Collective::all_gather: return arguments_of(call).has_value();
    case Collective::all_to_all: return calls.all_to_all != nullptr;
    case Collective::gather: return calls.gather != nullptr;
    case Collective::scatter: return calls.scatter != nullptr;
    case Collective::scan:
    case Collective::exscan:
    case Collective::barrier: break;
  }
  return false;
}

void NcclStreams::run_native(const NativeCall& call, const std::byte* in, std::byte* out,
                             Stream stream) {
  const NcclCalls& calls = config_.nccl->calls();
  const std::optional<NativeArguments> arguments = arguments_of(call);
  expects(has_native(call) && arguments, "NCCL has this call");
  // Not structured bindings, which lambdas of C++20 cannot capture in clang 14.
  const ncclDataType_t type = arguments->type;
  const ncclRedOp_t op = arguments->op;
  const std::size_t count = arguments->count;
  const auto on = of(stream);
  // NCCL does not exchange blocks in place. Input and output are both scratch then: in a graph NCCL
  // would register the other one.
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
      case Collective::scatter: return calls.scatter(from, into, count, type, call.root, by, on);
      case Collective::scan:
      case Collective::exscan:
      case Collective::barrier: break;  // has_native
    }
    return ncclInternalError;
  };
  const bool are_registered =
      (from == nullptr || is_registered(from)) && (into == nullptr || is_registered(into));
  enqueue(are_registered && registered_ ? *registered_ : *messages_, "enqueue a collective", stream,
          enqueued);
  if (copies) copy(out, into, bytes, stream);
}

}  // namespace tutti::v0::cuda
