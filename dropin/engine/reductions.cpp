#include "dropin/engine/reductions.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include <tutti/spi/copy.hpp>

#include "dropin/engine/call.hpp"
#include "dropin/engine/datatypes.hpp"
#include "dropin/engine/mpi_functions.hpp"

namespace tutti::dropin {
namespace {

// A reduction that tutti serves, or none.
struct Admitted {
  State* state = nullptr;
  std::optional<Reduction> reduction{};

  Admitted(MPI_Comm comm, const void* caller, bool is_valid, MPI_Datatype type, MPI_Op op)
      : state{admit(comm, caller)} {
    if (state == nullptr) return;
    const bool is_type = is_valid && type != MPI_DATATYPE_NULL;
    if (is_type) reduction = reduction_of(type, op);
    if (!reduction) decline(is_type ? Reason::operation : Reason::arguments);
  }
  explicit operator bool() const { return reduction.has_value(); }

  [[nodiscard]] Call call(Collective collective, const void* in, void* out, std::size_t in_count,
                          std::size_t out_count) const {
    return {.collective = collective,
            .in = in == MPI_IN_PLACE ? out : in,
            .out = out,
            .in_count = in_count,
            .out_count = out_count,
            .type = reduction->type,
            .element_bytes = reduction->element_bytes,
            .op = &reduction->op};
  }
};

// A prefix reduction or an all_reduce: one vector in, one out.
template <Name kName, class Count>
int run_vector(const void* caller, Collective collective, const void* in, void* out, Count count,
               MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  const Admitted admitted{comm, caller, count >= 0, type, op};
  if (!admitted) return hand_on<kName, Count>(comm, in, out, count, type, op);
  const auto elements = static_cast<std::size_t>(count);
  return run(*admitted.state, comm, admitted.call(collective, in, out, elements, elements));
}

// MPI puts the result of a reduce_scatter in place at the front of the vector.
int run_scattered(const Admitted& admitted, MPI_Comm comm, const void* in, void* out,
                  std::size_t all, std::size_t own, std::span<const std::size_t> counts) {
  if (in != MPI_IN_PLACE)
    return run(*admitted.state, comm, admitted.call(Collective::reduce_scatter, in, out, all, own),
               {.counts = counts});
  std::vector<std::byte> result(own * admitted.reduction->element_bytes);
  Call call = admitted.call(Collective::reduce_scatter, out, result.data(), all, own);
  const int code = run(*admitted.state, comm, call, {.counts = counts});
  if (code == MPI_SUCCESS) copy_bytes(out, result.data(), result.size());
  return code;
}

}  // namespace

template <class Count>
int allreduce(const void* in, void* out, Count count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  return run_vector<"Allreduce">(__builtin_return_address(0), Collective::all_reduce, in, out,
                                 count, type, op, comm);
}

template <class Count>
int scan(const void* in, void* out, Count count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  return run_vector<"Scan">(__builtin_return_address(0), Collective::scan, in, out, count, type, op,
                            comm);
}

template <class Count>
int exscan(const void* in, void* out, Count count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  return run_vector<"Exscan">(__builtin_return_address(0), Collective::exscan, in, out, count, type,
                              op, comm);
}

template <class Count>
int reduce(const void* in, void* out, Count count, MPI_Datatype type, MPI_Op op, int root,
           MPI_Comm comm) {
  const Admitted admitted{comm, __builtin_return_address(0), count >= 0 && root >= 0, type, op};
  const bool has_root = admitted && root < admitted.state->size;
  if (admitted && !has_root) decline(Reason::arguments);
  if (!has_root) return hand_on<"Reduce", Count>(comm, in, out, count, type, op, root);
  const auto elements = static_cast<std::size_t>(count);
  Call call = admitted.call(Collective::reduce, in, out, elements, elements);
  call.root = root;
  return run(*admitted.state, comm, call);
}

template <class Count>
int reduce_scatter_block(const void* in, void* out, Count count, MPI_Datatype type, MPI_Op op,
                         MPI_Comm comm) {
  const Admitted admitted{comm, __builtin_return_address(0), count >= 0, type, op};
  if (!admitted) return hand_on<"Reduce_scatter_block", Count>(comm, in, out, count, type, op);
  const auto own = static_cast<std::size_t>(count);
  return run_scattered(admitted, comm, in, out,
                       own * static_cast<std::size_t>(admitted.state->size), own, {});
}

template <class Count>
int reduce_scatter(const void* in, void* out, const Count* counts, MPI_Datatype type, MPI_Op op,
                   MPI_Comm comm) {
  const Admitted admitted{comm, __builtin_return_address(0), counts != nullptr, type, op};
  if (!admitted) return hand_on<"Reduce_scatter", Count>(comm, in, out, counts, type, op);
  const std::span given{counts, static_cast<std::size_t>(admitted.state->size)};
  if (std::ranges::any_of(given, [](Count count) { return count < 0; }))
    return hand_on<"Reduce_scatter", Count>(comm, in, out, counts, type, op);
  const std::vector<std::size_t> all(given.begin(), given.end());
  std::size_t total = 0;
  for (const std::size_t count : all) total += count;
  return run_scattered(admitted, comm, in, out, total,
                       all[static_cast<std::size_t>(admitted.state->rank)], all);
}

template int allreduce<int>(const void*, void*, int, MPI_Datatype, MPI_Op, MPI_Comm);
template int allreduce<Large>(const void*, void*, Large, MPI_Datatype, MPI_Op, MPI_Comm);
template int reduce<int>(const void*, void*, int, MPI_Datatype, MPI_Op, int, MPI_Comm);
template int reduce<Large>(const void*, void*, Large, MPI_Datatype, MPI_Op, int, MPI_Comm);
template int reduce_scatter<int>(const void*, void*, const int*, MPI_Datatype, MPI_Op, MPI_Comm);
template int reduce_scatter<Large>(const void*, void*, const Large*, MPI_Datatype, MPI_Op,
                                   MPI_Comm);
template int reduce_scatter_block<int>(const void*, void*, int, MPI_Datatype, MPI_Op, MPI_Comm);
template int reduce_scatter_block<Large>(const void*, void*, Large, MPI_Datatype, MPI_Op, MPI_Comm);
template int scan<int>(const void*, void*, int, MPI_Datatype, MPI_Op, MPI_Comm);
template int scan<Large>(const void*, void*, Large, MPI_Datatype, MPI_Op, MPI_Comm);
template int exscan<int>(const void*, void*, int, MPI_Datatype, MPI_Op, MPI_Comm);
template int exscan<Large>(const void*, void*, Large, MPI_Datatype, MPI_Op, MPI_Comm);

}  // namespace tutti::dropin
