// Collectives and messages.
#include <string>

#include <tutti/byte_count.hpp>
#include <tutti/spi/contract.hpp>
#include <tutti/spi/rejection.hpp>

#include "handles.hpp"

namespace tutti::v0::c {
namespace {

void set_kind(Call& call, tutti_collective collective) {
  if (collective < TUTTI_SEND) {
    call.collective = enumerator_of<Collective>(collective, kCollectives, "tutti_collective");
    return;
  }
  call.point_to_point =
      enumerator_of<PointToPoint>(collective - TUTTI_SEND + static_cast<int>(PointToPoint::send),
                                  kPointToPoints, "tutti_collective");
}

// Numbers of opaque and user are apart, so that they stay when enumerators are added before them.
static_assert(static_cast<int>(Datatype::opaque) == kDatatypes - 1);
static_assert(static_cast<int>(OperatorKind::user) == kOperatorKinds - 1);
OperatorKind kind_of(tutti_op op) {
  return op == TUTTI_USER ? OperatorKind::user
                          : enumerator_of<OperatorKind>(op, kOperatorKinds - 1, "tutti_op");
}

bool has_operator(const Call& call) {
  return call.point_to_point == PointToPoint::none && is_reduction(call.collective);
}

/// Frameworks sum masks: of bool the sum is "or", as NCCL has it.
OperatorKind operator_of_bool(OperatorKind kind) noexcept {
  if (kind == OperatorKind::sum || kind == OperatorKind::max) return OperatorKind::logical_or;
  if (kind == OperatorKind::prod || kind == OperatorKind::min) return OperatorKind::logical_and;
  return kind;
}

/// @return a call of equally many elements for each rank's block.
tutti_call simple(tutti_collective collective, const void* in, void* out, std::size_t count,
                  tutti_datatype type) {
  return {.size = sizeof(tutti_call),
          .collective = collective,
          .type = type,
          .in = in,
          .out = out,
          .in_count = count,
          .out_count = count,
          .element_bytes = 0,
          .op = TUTTI_SUM,
          .root = 0,
          .user_op = nullptr,
          .in_counts = nullptr,
          .out_counts = nullptr,
          .to = 0,
          .from = 0,
          .tag = 0};
}

tutti_status run_simple(tutti_communicator* communicator, const tutti_call& call) {
  return tutti_run(communicator, &call, nullptr);
}

/// @param call whose counts are those of a block. @param totals the counts that become those of
/// all ranks' blocks.
tutti_status run_blocks(tutti_communicator* communicator, tutti_call call,
                        std::initializer_list<size_t tutti_call::*> totals) {
  return guarded(communicator, "communicator", [&] {
    const auto ranks = static_cast<std::size_t>(communicator->world.size());
    const std::size_t element_bytes = std::max<std::size_t>(size_of(datatype_of(call.type)), 1);
    const std::size_t count = call.in_count;
    if (!detail::byte_count(count, ranks * element_bytes))
      throw Error{ErrorCode::invalid_argument,
                  std::string{name_of(enumerator_of<Collective>(call.collective, kCollectives,
                                                                "tutti_collective"))} +
                      ": " + std::to_string(count) + " elements of " +
                      std::to_string(element_bytes) + " bytes for each of " +
                      std::to_string(ranks) + " ranks exceed the address space"};
    for (size_t tutti_call::*const total : totals) call.*total = count * ranks;
    return run_simple(communicator, call);
  });
}

tutti_call read_call_of(const tutti_call* given) {
  require(given, "call");
  tutti_call defaults{};
  tutti_call_defaults(&defaults, sizeof defaults);
  return read(given, defaults);
}

/// @return a call with nothing but its kind and its peers.
Call bare_call_of(const tutti_call& given) {
  Call call;
  set_kind(call, given.collective);
  call.to = given.to;
  call.from = given.from;
  call.tag = given.tag;
  return call;
}

Call call_of(const tutti_call* given, std::size_t ranks, std::optional<Operator>& op) {
  const tutti_call read_call = read_call_of(given);
  Call call = bare_call_of(read_call);
  call.type = datatype_of(read_call.type);
  call.is_bool = read_call.type == TUTTI_BOOL;
  call.element_bytes = call.type == Datatype::opaque ? read_call.element_bytes : size_of(call.type);
  call.in = read_call.in;
  call.out = read_call.out;
  call.in_count = read_call.in_count;
  call.out_count = read_call.out_count;
  call.root = read_call.root;
  if (has_operator(call)) {
    const OperatorKind kind = kind_of(read_call.op);
    if (kind == OperatorKind::user) {
      require(read_call.user_op, "tutti_call::user_op");
      op = read_call.user_op->op;
    } else {
      op.emplace(call.is_bool ? operator_of_bool(kind) : kind);
    }
    call.op = &*op;
  }
  call.own_counts = read_call.in_counts != nullptr || read_call.out_counts != nullptr;
  if (read_call.in_counts != nullptr) call.in_counts = {read_call.in_counts, ranks};
  if (read_call.out_counts != nullptr) call.out_counts = {read_call.out_counts, ranks};
  return call;
}

/// @param call that they are for. @param ranks of the communicator.
Options options_of(const tutti_options* given, const Call& call, int ranks) {
  tutti_options defaults{};
  tutti_options_defaults(&defaults, sizeof defaults);
  const tutti_options read_options = read(given, defaults);
  Options options{.algorithm = view_of(read_options.algorithm),
                  .transport = view_of(read_options.transport),
                  .segment = read_options.segment,
                  .visible = read_options.visible != 0,
                  .timeout = duration_of(read_options.timeout)};
  if (read_options.determinism != TUTTI_DETERMINISM_DEFAULT)
    options.determinism =
        enumerator_of<Determinism>(read_options.determinism, kDeterminisms, "tutti_determinism");
  if (read_options.has_stream != 0) options.stream = Stream{read_options.stream};
  // Counts are not read beyond the blocks of the call, of which a message has one.
  const std::size_t blocks = Contract{call.collective, ranks}.blocks();
  if (read_options.count_of_counts > blocks)
    throw Error{ErrorCode::invalid_argument, "tutti_options::count_of_counts is " +
                                                 std::to_string(read_options.count_of_counts) +
                                                 ", but the number of blocks of the call is " +
                                                 std::to_string(blocks)};
  if (read_options.count_of_counts > 0) require(read_options.counts, "tutti_options::counts");
  if (read_options.counts != nullptr)
    options.counts = {read_options.counts, read_options.count_of_counts};
  return options;
}

}  // namespace

Datatype datatype_of(tutti_datatype type) {
  if (type == TUTTI_BOOL) return Datatype::u8;
  if (type == TUTTI_OPAQUE) return Datatype::opaque;
  return enumerator_of<Datatype>(type, kDatatypes - 1, "tutti_datatype");
}

GivenCall::GivenCall(const tutti_communicator* communicator, const tutti_call* given,
                     const tutti_options* given_options) {
  require(communicator, "communicator");
  const int ranks = communicator->world.size();
  call = call_of(given, static_cast<std::size_t>(ranks), op);
  options = options_of(given_options, call, ranks);
}

}  // namespace tutti::v0::c

using namespace tutti::c;

extern "C" {

void tutti_call_defaults(tutti_call* call, size_t size) {
  write(call, size, simple(TUTTI_ALL_REDUCE, nullptr, nullptr, 0, TUTTI_U8));
}

void tutti_options_defaults(tutti_options* options, size_t size) {
  tutti_options values{};
  values.determinism = TUTTI_DETERMINISM_DEFAULT;
  write(options, size, values);
}

tutti_status tutti_run(tutti_communicator* communicator, const tutti_call* call,
                       const tutti_options* options) {
  return guarded([&] {
    const GivenCall given{communicator, call, options};
    communicator->world.run(given.call, given.options);
  });
}

tutti_status tutti_start(tutti_communicator* communicator, const tutti_call* call,
                         const tutti_options* options, tutti_request** result) {
  return made(result, [&] {
    const GivenCall given{communicator, call, options};
    return communicator->world.async().run(given.call, given.options);
  });
}

tutti_status tutti_run_for(tutti_communicator* communicator, const tutti_call* call,
                           const tutti_options* options, int64_t slice, tutti_request** pending) {
  clear(pending);
  return guarded(pending, "pending", [&] {
    const GivenCall given{communicator, call, options};
    tutti::Request request = communicator->world.async().run(given.call, given.options);
    if (request.wait_for(tutti::Duration{slice})) return TUTTI_OK;
    *pending = new tutti_request{std::move(request)};
    return TUTTI_PENDING;
  });
}

tutti_status tutti_reject_call(tutti_communicator* communicator, const tutti_call* call,
                               const char* reason) {
  return guarded(communicator, "communicator", [&] {
    require(reason, "reason");
    reject_call(communicator->world, bare_call_of(read_call_of(call)), reason);
  });
}

tutti_status tutti_all_reduce(tutti_communicator* communicator, const void* in, void* out,
                              size_t count, tutti_datatype type, tutti_op op) {
  tutti_call call = simple(TUTTI_ALL_REDUCE, in, out, count, type);
  call.op = op;
  return run_simple(communicator, call);
}

tutti_status tutti_reduce(tutti_communicator* communicator, const void* in, void* out, size_t count,
                          tutti_datatype type, tutti_op op, int32_t root) {
  tutti_call call = simple(TUTTI_REDUCE, in, out, count, type);
  call.op = op;
  call.root = root;
  return run_simple(communicator, call);
}

tutti_status tutti_broadcast(tutti_communicator* communicator, void* inout, size_t count,
                             tutti_datatype type, int32_t root) {
  tutti_call call = simple(TUTTI_BROADCAST, inout, inout, count, type);
  call.root = root;
  return run_simple(communicator, call);
}

tutti_status tutti_scatter(tutti_communicator* communicator, const void* in, void* out,
                           size_t count, tutti_datatype type, int32_t root) {
  tutti_call call = simple(TUTTI_SCATTER, in, out, count, type);
  call.root = root;
  return run_blocks(communicator, call, {&tutti_call::in_count});
}

tutti_status tutti_gather(tutti_communicator* communicator, const void* in, void* out, size_t count,
                          tutti_datatype type, int32_t root) {
  tutti_call call = simple(TUTTI_GATHER, in, out, count, type);
  call.root = root;
  return run_blocks(communicator, call, {&tutti_call::out_count});
}

tutti_status tutti_all_gather(tutti_communicator* communicator, const void* in, void* out,
                              size_t count, tutti_datatype type) {
  return run_blocks(communicator, simple(TUTTI_ALL_GATHER, in, out, count, type),
                    {&tutti_call::out_count});
}

tutti_status tutti_reduce_scatter(tutti_communicator* communicator, const void* in, void* out,
                                  size_t count, tutti_datatype type, tutti_op op) {
  tutti_call call = simple(TUTTI_REDUCE_SCATTER, in, out, count, type);
  call.op = op;
  return run_blocks(communicator, call, {&tutti_call::in_count});
}

tutti_status tutti_all_to_all(tutti_communicator* communicator, const void* in, void* out,
                              size_t count, tutti_datatype type) {
  return run_blocks(communicator, simple(TUTTI_ALL_TO_ALL, in, out, count, type),
                    {&tutti_call::in_count, &tutti_call::out_count});
}

tutti_status tutti_scan(tutti_communicator* communicator, const void* in, void* out, size_t count,
                        tutti_datatype type, tutti_op op) {
  tutti_call call = simple(TUTTI_SCAN, in, out, count, type);
  call.op = op;
  return run_simple(communicator, call);
}

tutti_status tutti_exscan(tutti_communicator* communicator, const void* in, void* out, size_t count,
                          tutti_datatype type, tutti_op op) {
  tutti_call call = simple(TUTTI_EXSCAN, in, out, count, type);
  call.op = op;
  return run_simple(communicator, call);
}

tutti_status tutti_barrier(tutti_communicator* communicator) {
  return run_simple(communicator, simple(TUTTI_BARRIER, nullptr, nullptr, 0, TUTTI_U8));
}

tutti_status tutti_send(tutti_communicator* communicator, const void* in, size_t count,
                        tutti_datatype type, int32_t to, int32_t tag) {
  tutti_call call = simple(TUTTI_SEND, in, nullptr, count, type);
  call.to = to;
  call.tag = tag;
  return run_simple(communicator, call);
}

tutti_status tutti_recv(tutti_communicator* communicator, void* out, size_t count,
                        tutti_datatype type, int32_t from, int32_t tag) {
  tutti_call call = simple(TUTTI_RECV, nullptr, out, count, type);
  call.from = from;
  call.tag = tag;
  return run_simple(communicator, call);
}

}  // extern "C"
