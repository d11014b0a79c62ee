#include "dropin/engine/movements.hpp"

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "dropin/engine/blocks.hpp"
#include "dropin/engine/call.hpp"
#include "dropin/engine/mpi_functions.hpp"

namespace tutti::dropin {
namespace {

using Blocks = std::vector<Block>;  // a block of each rank

template <class Count>
bool is_valid(const void* at, Count count, MPI_Datatype type) {
  return at == MPI_IN_PLACE || (count >= 0 && type != MPI_DATATYPE_NULL);
}

template <class Count>
Block block_of(const void* at, Count count, MPI_Datatype type) {
  return {const_cast<void*>(at), static_cast<std::size_t>(count), type};
}

// Blocks of all ranks: `places` are in extents of the type.
template <class Count>
Blocks blocks_of(const State& state, const void* at, const Count* counts, const Count* places,
                 MPI_Datatype type) {
  Blocks blocks;
  for (std::size_t rank = 0; rank < static_cast<std::size_t>(state.size); ++rank)
    blocks.push_back(block_of(element_at(at, static_cast<std::ptrdiff_t>(places[rank]), type),
                              counts[rank], type));
  return blocks;
}

// Equal blocks of all ranks are one piece.
template <class Count>
Block even_blocks_of(const State& state, const void* at, Count count, MPI_Datatype type) {
  return {const_cast<void*>(at),
          static_cast<std::size_t>(state.size) * static_cast<std::size_t>(count), type};
}

// The block of a rank among equal ones, for calls in place.
template <class Count>
Block even_block_of(Rank rank, const void* all, Count count, MPI_Datatype type) {
  return block_of(element_at(all, rank * static_cast<std::ptrdiff_t>(count), type), count, type);
}

bool are_valid(const Blocks& blocks) {
  return std::ranges::all_of(blocks, [](const Block& block) {
    return static_cast<std::ptrdiff_t>(block.count) >= 0 && block.type != MPI_DATATYPE_NULL;
  });
}

// Hands a call on, for its arguments if tutti serves the communicator.
template <Name kName, class Count, class... A>
int to_the_mpi(const State* state, const Origin& origin, MPI_Comm comm, A... arguments) {
  if (state != nullptr) decline(Reason::arguments);
  return hand_on<kName, Count>(origin.form, comm, arguments...);
}

Task task_of(Collective collective, Rank root = 0) {
  return {.call = {.collective = collective, .root = root}};
}

// The block of this rank among those of all, which are one piece if they are equal.
Block own_block_of(const State& state, std::span<const Block> all) {
  if (all.size() > 1) return all[static_cast<std::size_t>(state.rank)];
  const Block& piece = all.front();
  return even_block_of(state.rank, piece.at, piece.count / static_cast<std::size_t>(state.size),
                       piece.type);
}

// A block of a prepared call changes until the call starts.
bool may_copy(const Origin& origin) {
  return !origin.form.is_prepared;
}

// One block to the root, which has a block of each rank. @param out empty on other ranks.
int run_gather(State& state, const Origin& origin, MPI_Comm comm, Block own,
               std::span<const Block> out, int root, bool own_counts) {
  Task task = task_of(Collective::gather, root);
  if (!out.empty() && puts_shorter(own, own_block_of(state, out), may_copy(origin)))
    own = own_block_of(state, out);
  task.read({&own, 1});
  if (!out.empty()) task.write(out);
  task.call.own_counts = own_counts;
  if (!out.empty()) task.call.out_counts = task.out->counts();
  return run(state, origin, comm, task);
}

// A block to each rank. @param in empty on other ranks than the root.
int run_scatter(State& state, const Origin& origin, MPI_Comm comm, std::span<const Block> in,
                Block own, int root, bool own_counts) {
  Task task = task_of(Collective::scatter, root);
  if (!in.empty() && puts_shorter(own_block_of(state, in), own, may_copy(origin)))
    own = own_block_of(state, in);
  if (!in.empty()) task.read(in);
  task.write({&own, 1});
  task.call.own_counts = own_counts;
  if (!in.empty()) task.call.in_counts = task.in->counts();
  return run(state, origin, comm, task);
}

int run_all_gather(State& state, const Origin& origin, MPI_Comm comm, Block own,
                   std::span<const Block> out, bool is_even) {
  Task task = task_of(Collective::all_gather);
  if (puts_shorter(own, own_block_of(state, out), may_copy(origin))) own = own_block_of(state, out);
  task.read({&own, 1});
  task.write(out);
  if (!is_even) task.counts.assign(task.out->counts().begin(), task.out->counts().end());
  return run(state, origin, comm, task);
}

// @param in no blocks: in place.
int run_all_to_all(State& state, const Origin& origin, MPI_Comm comm, std::span<const Block> in,
                   std::span<const Block> out, bool is_even) {
  Task task = task_of(Collective::all_to_all);
  Blocks sources;
  if (!is_even && !in.empty() &&
      puts_shorter(own_block_of(state, in), own_block_of(state, out), may_copy(origin))) {
    sources.assign(in.begin(), in.end());
    sources[static_cast<std::size_t>(state.rank)] = own_block_of(state, out);
    in = sources;
  }
  task.read(in.empty() ? out : in);
  task.write(out);
  task.call.own_counts = !is_even;
  task.call.in_counts = task.in->counts();
  task.call.out_counts = task.out->counts();
  return run(state, origin, comm, task);
}

}  // namespace

int barrier(const Origin& origin, MPI_Comm comm) {
  State* const state = admit(comm, origin);
  if (state == nullptr) return hand_on<"barrier", int>(origin.form, comm);
  const auto serve = [&] {
    Task task = task_of(Collective::barrier);
    return run(*state, origin, comm, task);
  };
  return choose<"barrier", int>(*state, origin, comm, {Collective::barrier, 0}, serve);
}

template <class Count>
int bcast(const Origin& origin, void* inout, Count count, MPI_Datatype type, int root,
          MPI_Comm comm) {
  State* const state = admit(comm, origin);
  if (state == nullptr || !is_valid(inout, count, type) || root < 0 || root >= state->size)
    return to_the_mpi<"bcast", Count>(state, origin, comm, inout, count, type, root);
  const Block block = block_of(inout, count, type);
  const auto serve = [&] {
    Task task = task_of(Collective::broadcast, root);
    if (state->rank == root) {
      task.read({&block, 1});
      task.call.out = task.in->data();
      task.call.out_count = task.call.in_count;
    } else {
      task.write({&block, 1});
      task.out->load(block);  // the root may send less
      task.call.in = task.call.out;
      task.call.in_count = task.call.out_count;
    }
    return run(*state, origin, comm, task);
  };
  return choose<"bcast", Count>(*state, origin, comm, {Collective::broadcast, block.bytes()}, serve,
                                inout, count, type, root);
}

template <class Count>
int gather(const Origin& origin, const void* in, Count in_count, MPI_Datatype in_type, void* out,
           Count out_count, MPI_Datatype out_type, int root, MPI_Comm comm) {
  State* const state = admit(comm, origin);
  const bool is_root = state != nullptr && state->rank == root;
  if (state == nullptr || root < 0 || root >= state->size || !is_valid(in, in_count, in_type) ||
      (is_root && !is_valid(out, out_count, out_type)))
    return to_the_mpi<"gather", Count>(state, origin, comm, in, in_count, in_type, out, out_count,
                                       out_type, root);
  const bool in_place = is_root && in == MPI_IN_PLACE;
  const Block own =
      in_place ? even_block_of(root, out, out_count, out_type) : block_of(in, in_count, in_type);
  const auto serve = [&] {
    if (!is_root) return run_gather(*state, origin, comm, own, {}, root, false);
    const Block all = even_blocks_of(*state, out, out_count, out_type);
    return run_gather(*state, origin, comm, own, {&all, 1}, root, false);
  };
  return choose<"gather", Count>(*state, origin, comm, {Collective::gather, own.bytes()}, serve, in,
                                 in_count, in_type, out, out_count, out_type, root);
}

template <class Count>
int gatherv(const Origin& origin, const void* in, Count in_count, MPI_Datatype in_type, void* out,
            const Count* counts, const Count* places, MPI_Datatype out_type, int root,
            MPI_Comm comm) {
  State* const state = admit(comm, origin);
  Blocks blocks;
  const bool is_root = state != nullptr && state->rank == root && out_type != MPI_DATATYPE_NULL;
  if (is_root) blocks = blocks_of(*state, out, counts, places, out_type);
  if (state == nullptr || root < 0 || root >= state->size || !is_valid(in, in_count, in_type) ||
      !are_valid(blocks) || blocks.empty() == (state->rank == root))
    return to_the_mpi<"gatherv", Count>(state, origin, comm, in, in_count, in_type, out, counts,
                                        places, out_type, root);
  const auto serve = [&] {
    return run_gather(*state, origin, comm, block_of(in, in_count, in_type), blocks, root, true);
  };
  return choose<"gatherv", Count>(*state, origin, comm, {Collective::gather}, serve, in, in_count,
                                  in_type, out, counts, places, out_type, root);
}

template <class Count>
int scatter(const Origin& origin, const void* in, Count in_count, MPI_Datatype in_type, void* out,
            Count out_count, MPI_Datatype out_type, int root, MPI_Comm comm) {
  State* const state = admit(comm, origin);
  const bool is_root = state != nullptr && state->rank == root;
  if (state == nullptr || root < 0 || root >= state->size || !is_valid(out, out_count, out_type) ||
      (is_root && !is_valid(in, in_count, in_type)))
    return to_the_mpi<"scatter", Count>(state, origin, comm, in, in_count, in_type, out, out_count,
                                        out_type, root);
  const bool in_place = is_root && out == MPI_IN_PLACE;
  const Block own =
      in_place ? even_block_of(root, in, in_count, in_type) : block_of(out, out_count, out_type);
  const auto serve = [&] {
    if (!is_root) return run_scatter(*state, origin, comm, {}, own, root, false);
    const Block all = even_blocks_of(*state, in, in_count, in_type);
    return run_scatter(*state, origin, comm, {&all, 1}, own, root, false);
  };
  return choose<"scatter", Count>(*state, origin, comm, {Collective::scatter, own.bytes()}, serve,
                                  in, in_count, in_type, out, out_count, out_type, root);
}

template <class Count>
int scatterv(const Origin& origin, const void* in, const Count* counts, const Count* places,
             MPI_Datatype in_type, void* out, Count out_count, MPI_Datatype out_type, int root,
             MPI_Comm comm) {
  State* const state = admit(comm, origin);
  Blocks blocks;
  const bool is_root = state != nullptr && state->rank == root && in_type != MPI_DATATYPE_NULL;
  if (is_root) blocks = blocks_of(*state, in, counts, places, in_type);
  if (state == nullptr || root < 0 || root >= state->size || !is_valid(out, out_count, out_type) ||
      !are_valid(blocks) || blocks.empty() == (state->rank == root))
    return to_the_mpi<"scatterv", Count>(state, origin, comm, in, counts, places, in_type, out,
                                         out_count, out_type, root);
  const auto serve = [&] {
    return run_scatter(*state, origin, comm, blocks, block_of(out, out_count, out_type), root,
                       true);
  };
  return choose<"scatterv", Count>(*state, origin, comm, {Collective::scatter}, serve, in, counts,
                                   places, in_type, out, out_count, out_type, root);
}

template <class Count>
int allgather(const Origin& origin, const void* in, Count in_count, MPI_Datatype in_type, void* out,
              Count out_count, MPI_Datatype out_type, MPI_Comm comm) {
  State* const state = admit(comm, origin);
  if (state == nullptr || !is_valid(in, in_count, in_type) || !is_valid(out, out_count, out_type))
    return to_the_mpi<"allgather", Count>(state, origin, comm, in, in_count, in_type, out,
                                          out_count, out_type);
  const Block all = even_blocks_of(*state, out, out_count, out_type);
  const Block own = in == MPI_IN_PLACE ? even_block_of(state->rank, out, out_count, out_type)
                                       : block_of(in, in_count, in_type);
  const auto serve = [&] { return run_all_gather(*state, origin, comm, own, {&all, 1}, true); };
  return choose<"allgather", Count>(*state, origin, comm, {Collective::all_gather, own.bytes()},
                                    serve, in, in_count, in_type, out, out_count, out_type);
}

template <class Count>
int allgatherv(const Origin& origin, const void* in, Count in_count, MPI_Datatype in_type,
               void* out, const Count* counts, const Count* places, MPI_Datatype out_type,
               MPI_Comm comm) {
  State* const state = admit(comm, origin);
  Blocks blocks;
  if (state != nullptr && out_type != MPI_DATATYPE_NULL)
    blocks = blocks_of(*state, out, counts, places, out_type);
  if (blocks.empty() || !is_valid(in, in_count, in_type) || !are_valid(blocks))
    return to_the_mpi<"allgatherv", Count>(state, origin, comm, in, in_count, in_type, out, counts,
                                           places, out_type);
  const auto serve = [&] {
    return run_all_gather(*state, origin, comm, block_of(in, in_count, in_type), blocks, false);
  };
  return choose<"allgatherv", Count>(*state, origin, comm, {Collective::all_gather}, serve, in,
                                     in_count, in_type, out, counts, places, out_type);
}

template <class Count>
int alltoall(const Origin& origin, const void* in, Count in_count, MPI_Datatype in_type, void* out,
             Count out_count, MPI_Datatype out_type, MPI_Comm comm) {
  State* const state = admit(comm, origin);
  if (state == nullptr || !is_valid(in, in_count, in_type) || !is_valid(out, out_count, out_type))
    return to_the_mpi<"alltoall", Count>(state, origin, comm, in, in_count, in_type, out, out_count,
                                         out_type);
  const Block to = even_blocks_of(*state, out, out_count, out_type);
  const auto serve = [&] {
    if (in == MPI_IN_PLACE) return run_all_to_all(*state, origin, comm, {}, {&to, 1}, true);
    const Block from = even_blocks_of(*state, in, in_count, in_type);
    return run_all_to_all(*state, origin, comm, {&from, 1}, {&to, 1}, true);
  };
  return choose<"alltoall", Count>(*state, origin, comm, {Collective::all_to_all, to.bytes()},
                                   serve, in, in_count, in_type, out, out_count, out_type);
}

template <class Count>
int alltoallv(const Origin& origin, const void* in, const Count* in_counts, const Count* in_places,
              MPI_Datatype in_type, void* out, const Count* out_counts, const Count* out_places,
              MPI_Datatype out_type, MPI_Comm comm) {
  State* const state = admit(comm, origin);
  const bool in_place = in == MPI_IN_PLACE;
  Blocks from, to;
  if (state != nullptr && out_type != MPI_DATATYPE_NULL &&
      (in_place || in_type != MPI_DATATYPE_NULL)) {
    if (!in_place) from = blocks_of(*state, in, in_counts, in_places, in_type);
    to = blocks_of(*state, out, out_counts, out_places, out_type);
  }
  if (to.empty() || !are_valid(from) || !are_valid(to))
    return to_the_mpi<"alltoallv", Count>(state, origin, comm, in, in_counts, in_places, in_type,
                                          out, out_counts, out_places, out_type);
  const auto serve = [&] { return run_all_to_all(*state, origin, comm, from, to, false); };
  return choose<"alltoallv", Count>(*state, origin, comm, {Collective::all_to_all}, serve, in,
                                    in_counts, in_places, in_type, out, out_counts, out_places,
                                    out_type);
}

template <class Count>
int alltoallw(const Origin& origin, const void* in, const Count* in_counts, const Count* in_places,
              const MPI_Datatype* in_types, void* out, const Count* out_counts,
              const Count* out_places, const MPI_Datatype* out_types, MPI_Comm comm) {
  State* const state = admit(comm, origin);
  // Places are bytes.
  const auto blocks = [state](const void* at, const Count* counts, const Count* places,
                              const MPI_Datatype* types) {
    Blocks result;
    for (std::size_t rank = 0; rank < static_cast<std::size_t>(state->size); ++rank)
      result.push_back(
          block_of(static_cast<const std::byte*>(at) + places[rank], counts[rank], types[rank]));
    return result;
  };
  Blocks from, to;
  if (state != nullptr) {
    if (in != MPI_IN_PLACE) from = blocks(in, in_counts, in_places, in_types);
    to = blocks(out, out_counts, out_places, out_types);
  }
  if (to.empty() || !are_valid(from) || !are_valid(to))
    return to_the_mpi<"alltoallw", Count>(state, origin, comm, in, in_counts, in_places, in_types,
                                          out, out_counts, out_places, out_types);
  const auto serve = [&] { return run_all_to_all(*state, origin, comm, from, to, false); };
  return choose<"alltoallw", Count>(*state, origin, comm, {Collective::all_to_all}, serve, in,
                                    in_counts, in_places, in_types, out, out_counts, out_places,
                                    out_types);
}

template int bcast<int>(const Origin&, void*, int, MPI_Datatype, int, MPI_Comm);
template int bcast<Large>(const Origin&, void*, Large, MPI_Datatype, int, MPI_Comm);
template int gather<int>(const Origin&, const void*, int, MPI_Datatype, void*, int, MPI_Datatype,
                         int, MPI_Comm);
template int gather<Large>(const Origin&, const void*, Large, MPI_Datatype, void*, Large,
                           MPI_Datatype, int, MPI_Comm);
template int gatherv<int>(const Origin&, const void*, int, MPI_Datatype, void*, const int*,
                          const int*, MPI_Datatype, int, MPI_Comm);
template int gatherv<Large>(const Origin&, const void*, Large, MPI_Datatype, void*, const Large*,
                            const Large*, MPI_Datatype, int, MPI_Comm);
template int scatter<int>(const Origin&, const void*, int, MPI_Datatype, void*, int, MPI_Datatype,
                          int, MPI_Comm);
template int scatter<Large>(const Origin&, const void*, Large, MPI_Datatype, void*, Large,
                            MPI_Datatype, int, MPI_Comm);
template int scatterv<int>(const Origin&, const void*, const int*, const int*, MPI_Datatype, void*,
                           int, MPI_Datatype, int, MPI_Comm);
template int scatterv<Large>(const Origin&, const void*, const Large*, const Large*, MPI_Datatype,
                             void*, Large, MPI_Datatype, int, MPI_Comm);
template int allgather<int>(const Origin&, const void*, int, MPI_Datatype, void*, int, MPI_Datatype,
                            MPI_Comm);
template int allgather<Large>(const Origin&, const void*, Large, MPI_Datatype, void*, Large,
                              MPI_Datatype, MPI_Comm);
template int allgatherv<int>(const Origin&, const void*, int, MPI_Datatype, void*, const int*,
                             const int*, MPI_Datatype, MPI_Comm);
template int allgatherv<Large>(const Origin&, const void*, Large, MPI_Datatype, void*, const Large*,
                               const Large*, MPI_Datatype, MPI_Comm);
template int alltoall<int>(const Origin&, const void*, int, MPI_Datatype, void*, int, MPI_Datatype,
                           MPI_Comm);
template int alltoall<Large>(const Origin&, const void*, Large, MPI_Datatype, void*, Large,
                             MPI_Datatype, MPI_Comm);
template int alltoallv<int>(const Origin&, const void*, const int*, const int*, MPI_Datatype, void*,
                            const int*, const int*, MPI_Datatype, MPI_Comm);
template int alltoallv<Large>(const Origin&, const void*, const Large*, const Large*, MPI_Datatype,
                              void*, const Large*, const Large*, MPI_Datatype, MPI_Comm);
template int alltoallw<int>(const Origin&, const void*, const int*, const int*, const MPI_Datatype*,
                            void*, const int*, const int*, const MPI_Datatype*, MPI_Comm);
template int alltoallw<Large>(const Origin&, const void*, const Large*, const Large*,
                              const MPI_Datatype*, void*, const Large*, const Large*,
                              const MPI_Datatype*, MPI_Comm);

}  // namespace tutti::dropin
