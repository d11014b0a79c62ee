#include "dropin/engine/reductions.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "dropin/engine/call.hpp"
#include "dropin/engine/datatypes.hpp"
#include "dropin/engine/mpi_functions.hpp"

namespace tutti::dropin {

// A reduction that tutti serves, or none. Lambdas of functions that others see capture it, so it
// has a name that they see too.
struct Admitted {
  State* state = nullptr;
  std::optional<Reduction> reduction{};

  Admitted(MPI_Comm comm, const Origin& origin, bool is_valid, MPI_Datatype type, MPI_Op op)
      : state{admit(comm, origin)} {
    if (state == nullptr) return;
    const bool is_type = is_valid && type != MPI_DATATYPE_NULL;
    if (is_type) reduction = reduction_of(type, op);
    // The MPI combines elements on the thread of the program only.
    if (reduction && !origin.form.blocks() && reduction->op.kind() == OperatorKind::user)
      reduction.reset();
    if (!reduction) decline(is_type ? Reason::operation : Reason::arguments);
  }
  explicit operator bool() const { return reduction.has_value(); }

  // @param elements of a vector as all ranks know it.
  [[nodiscard]] SimilarCalls calls(Collective collective, std::size_t elements) const {
    return {collective, elements * reduction->element_bytes, reduction->is_exact};
  }
  [[nodiscard]] Task task(Collective collective, const void* in, void* out, std::size_t in_count,
                          std::size_t out_count) const {
    return {.call = {.collective = collective,
                     .in = in == MPI_IN_PLACE ? out : in,
                     .out = out,
                     .in_count = in_count,
                     .out_count = out_count,
                     .type = reduction->type,
                     .element_bytes = reduction->element_bytes,
                     .op = &reduction->op}};
  }
};

namespace {

// A prefix reduction or an all_reduce: one vector in, one out.
template <Name kName, class Count>
int run_vector(const Origin& origin, Collective collective, const void* in, void* out, Count count,
               MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  const Admitted admitted{comm, origin, count >= 0, type, op};
  if (!admitted) return hand_on<kName, Count>(origin.form, comm, in, out, count, type, op);
  const auto elements = static_cast<std::size_t>(count);
  const auto serve = [&] {
    Task task = admitted.task(collective, in, out, elements, elements);
    return run(*admitted.state, origin, comm, task);
  };
  return choose<kName, Count>(*admitted.state, origin, comm, admitted.calls(collective, elements),
                              serve, in, out, count, type, op);
}

// MPI puts the result of a reduce_scatter in place at the front of the vector.
int run_scattered(const Admitted& admitted, const Origin& origin, MPI_Comm comm, const void* in,
                  void* out, std::size_t all, std::size_t own, std::vector<std::size_t> counts) {
  Task task = admitted.task(Collective::reduce_scatter, in, out, all, own);
  task.counts = std::move(counts);
  if (in == MPI_IN_PLACE) {
    task.aside.resize(own * admitted.reduction->element_bytes);
    task.call.out = task.aside.data();
    task.front = out;
  }
  return run(*admitted.state, origin, comm, task);
}

}  // namespace

template <class Count>
int allreduce(const Origin& origin, const void* in, void* out, Count count, MPI_Datatype type,
              MPI_Op op, MPI_Comm comm) {
  return run_vector<"allreduce">(origin, Collective::all_reduce, in, out, count, type, op, comm);
}

template <class Count>
int scan(const Origin& origin, const void* in, void* out, Count count, MPI_Datatype type, MPI_Op op,
         MPI_Comm comm) {
  return run_vector<"scan">(origin, Collective::scan, in, out, count, type, op, comm);
}

template <class Count>
int exscan(const Origin& origin, const void* in, void* out, Count count, MPI_Datatype type,
           MPI_Op op, MPI_Comm comm) {
  return run_vector<"exscan">(origin, Collective::exscan, in, out, count, type, op, comm);
}

template <class Count>
int reduce(const Origin& origin, const void* in, void* out, Count count, MPI_Datatype type,
           MPI_Op op, int root, MPI_Comm comm) {
  const Admitted admitted{comm, origin, count >= 0 && root >= 0, type, op};
  const bool has_root = admitted && root < admitted.state->size;
  if (admitted && !has_root) decline(Reason::arguments);
  if (!has_root) return hand_on<"reduce", Count>(origin.form, comm, in, out, count, type, op, root);
  const auto elements = static_cast<std::size_t>(count);
  const auto serve = [&] {
    Task task = admitted.task(Collective::reduce, in, out, elements, elements);
    task.call.root = root;
    return run(*admitted.state, origin, comm, task);
  };
  return choose<"reduce", Count>(*admitted.state, origin, comm,
                                 admitted.calls(Collective::reduce, elements), serve, in, out,
                                 count, type, op, root);
}

template <class Count>
int reduce_scatter_block(const Origin& origin, const void* in, void* out, Count count,
                         MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  const Admitted admitted{comm, origin, count >= 0, type, op};
  if (!admitted)
    return hand_on<"reduce_scatter_block", Count>(origin.form, comm, in, out, count, type, op);
  const auto own = static_cast<std::size_t>(count);
  const std::size_t all = own * static_cast<std::size_t>(admitted.state->size);
  const auto serve = [&] { return run_scattered(admitted, origin, comm, in, out, all, own, {}); };
  return choose<"reduce_scatter_block", Count>(*admitted.state, origin, comm,
                                               admitted.calls(Collective::reduce_scatter, all),
                                               serve, in, out, count, type, op);
}

template <class Count>
int reduce_scatter(const Origin& origin, const void* in, void* out, const Count* counts,
                   MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  const Admitted admitted{comm, origin, counts != nullptr, type, op};
  if (!admitted)
    return hand_on<"reduce_scatter", Count>(origin.form, comm, in, out, counts, type, op);
  const std::span given{counts, static_cast<std::size_t>(admitted.state->size)};
  if (std::ranges::any_of(given, [](Count count) { return count < 0; }))
    return hand_on<"reduce_scatter", Count>(origin.form, comm, in, out, counts, type, op);
  const std::vector<std::size_t> all(given.begin(), given.end());
  std::size_t total = 0;
  for (const std::size_t count : all) total += count;
  const auto serve = [&] {
    return run_scattered(admitted, origin, comm, in, out, total,
                         all[static_cast<std::size_t>(admitted.state->rank)], all);
  };
  return choose<"reduce_scatter", Count>(*admitted.state, origin, comm,
                                         admitted.calls(Collective::reduce_scatter, total), serve,
                                         in, out, counts, type, op);
}

template int allreduce<int>(const Origin&, const void*, void*, int, MPI_Datatype, MPI_Op, MPI_Comm);
template int allreduce<Large>(const Origin&, const void*, void*, Large, MPI_Datatype, MPI_Op,
                              MPI_Comm);
template int reduce<int>(const Origin&, const void*, void*, int, MPI_Datatype, MPI_Op, int,
                         MPI_Comm);
template int reduce<Large>(const Origin&, const void*, void*, Large, MPI_Datatype, MPI_Op, int,
                           MPI_Comm);
template int reduce_scatter<int>(const Origin&, const void*, void*, const int*, MPI_Datatype,
                                 MPI_Op, MPI_Comm);
template int reduce_scatter<Large>(const Origin&, const void*, void*, const Large*, MPI_Datatype,
                                   MPI_Op, MPI_Comm);
template int reduce_scatter_block<int>(const Origin&, const void*, void*, int, MPI_Datatype, MPI_Op,
                                       MPI_Comm);
template int reduce_scatter_block<Large>(const Origin&, const void*, void*, Large, MPI_Datatype,
                                         MPI_Op, MPI_Comm);
template int scan<int>(const Origin&, const void*, void*, int, MPI_Datatype, MPI_Op, MPI_Comm);
template int scan<Large>(const Origin&, const void*, void*, Large, MPI_Datatype, MPI_Op, MPI_Comm);
template int exscan<int>(const Origin&, const void*, void*, int, MPI_Datatype, MPI_Op, MPI_Comm);
template int exscan<Large>(const Origin&, const void*, void*, Large, MPI_Datatype, MPI_Op,
                           MPI_Comm);

}  // namespace tutti::dropin
