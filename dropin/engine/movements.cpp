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
int to_the_mpi(const State* state, MPI_Comm comm, A... arguments) {
  if (state != nullptr) decline(Reason::arguments);
  return hand_on<kName, Count>(comm, arguments...);
}

Call bytes_call(Collective collective, const Bytes* in, const Bytes* out, Rank root = 0) {
  return {.collective = collective,
          .in = in == nullptr ? nullptr : in->data(),
          .out = out == nullptr ? nullptr : out->data(),
          .in_count = in == nullptr ? 0 : in->size(),
          .out_count = out == nullptr ? 0 : out->size(),
          .root = root};
}

// One block to the root, which has a block of each rank. @param out empty on other ranks.
int run_gather(State& state, MPI_Comm comm, const Block& own, std::span<const Block> out, int root,
               bool own_counts) {
  const bool is_root = state.rank == root;
  const Bytes to{out};
  Bytes from{own};
  from.load(own);
  Call call = bytes_call(Collective::gather, &from, is_root ? &to : nullptr, root);
  call.own_counts = own_counts;
  call.out_counts = to.counts();
  const int code = run(state, comm, call);
  if (code == MPI_SUCCESS) to.store(out);
  return code;
}

// A block to each rank. @param in empty on other ranks than the root.
int run_scatter(State& state, MPI_Comm comm, std::span<const Block> in, const Block& own, int root,
                bool own_counts) {
  const bool is_root = state.rank == root;
  Bytes from{in};
  from.load(in);
  const Bytes to{own};
  Call call = bytes_call(Collective::scatter, is_root ? &from : nullptr, &to, root);
  call.own_counts = own_counts;
  call.in_counts = from.counts();
  const int code = run(state, comm, call);
  if (code == MPI_SUCCESS) to.store(own);
  return code;
}

int run_all_gather(State& state, MPI_Comm comm, const Block& own, std::span<const Block> out,
                   bool is_even) {
  Bytes from{own};
  const Bytes to{out};
  from.load(own);
  Options options;
  if (!is_even) options.counts = to.counts();
  const int code = run(state, comm, bytes_call(Collective::all_gather, &from, &to), options);
  if (code == MPI_SUCCESS) to.store(out);
  return code;
}

// @param in no blocks: in place.
int run_all_to_all(State& state, MPI_Comm comm, std::span<const Block> in,
                   std::span<const Block> out, bool is_even) {
  const std::span<const Block> source = in.empty() ? out : in;
  Bytes from{source};
  const Bytes to{out};
  from.load(source);
  Call call = bytes_call(Collective::all_to_all, &from, &to);
  call.own_counts = !is_even;
  call.in_counts = from.counts();
  call.out_counts = to.counts();
  const int code = run(state, comm, call);
  if (code == MPI_SUCCESS) to.store(out);
  return code;
}

}  // namespace

int barrier(MPI_Comm comm) {
  State* const state = admit(comm, __builtin_return_address(0));
  if (state == nullptr) return PMPI_Barrier(comm);
  return run(*state, comm, {.collective = Collective::barrier});
}

template <class Count>
int bcast(void* inout, Count count, MPI_Datatype type, int root, MPI_Comm comm) {
  State* const state = admit(comm, __builtin_return_address(0));
  if (state == nullptr || !is_valid(inout, count, type) || root < 0 || root >= state->size)
    return to_the_mpi<"Bcast", Count>(state, comm, inout, count, type, root);
  const Block block = block_of(inout, count, type);
  Bytes bytes{block};
  if (state->rank == root) bytes.load(block);
  const int code = run(*state, comm, bytes_call(Collective::broadcast, &bytes, &bytes, root));
  if (code == MPI_SUCCESS && state->rank != root) bytes.store(block);
  return code;
}

template <class Count>
int gather(const void* in, Count in_count, MPI_Datatype in_type, void* out, Count out_count,
           MPI_Datatype out_type, int root, MPI_Comm comm) {
  State* const state = admit(comm, __builtin_return_address(0));
  const bool is_root = state != nullptr && state->rank == root;
  if (state == nullptr || root < 0 || root >= state->size || !is_valid(in, in_count, in_type) ||
      (is_root && !is_valid(out, out_count, out_type)))
    return to_the_mpi<"Gather", Count>(state, comm, in, in_count, in_type, out, out_count, out_type,
                                       root);
  const bool in_place = is_root && in == MPI_IN_PLACE;
  const Block own =
      in_place ? even_block_of(root, out, out_count, out_type) : block_of(in, in_count, in_type);
  if (!is_root) return run_gather(*state, comm, own, {}, root, false);
  const Block all = even_blocks_of(*state, out, out_count, out_type);
  return run_gather(*state, comm, own, {&all, 1}, root, false);
}

template <class Count>
int gatherv(const void* in, Count in_count, MPI_Datatype in_type, void* out, const Count* counts,
            const Count* places, MPI_Datatype out_type, int root, MPI_Comm comm) {
  State* const state = admit(comm, __builtin_return_address(0));
  Blocks blocks;
  const bool is_root = state != nullptr && state->rank == root && out_type != MPI_DATATYPE_NULL;
  if (is_root) blocks = blocks_of(*state, out, counts, places, out_type);
  if (state == nullptr || root < 0 || root >= state->size || !is_valid(in, in_count, in_type) ||
      !are_valid(blocks) || blocks.empty() == (state->rank == root))
    return to_the_mpi<"Gatherv", Count>(state, comm, in, in_count, in_type, out, counts, places,
                                        out_type, root);
  const bool in_place = is_root && in == MPI_IN_PLACE;
  return run_gather(
      *state, comm,
      in_place ? blocks[static_cast<std::size_t>(root)] : block_of(in, in_count, in_type), blocks,
      root, true);
}

template <class Count>
int scatter(const void* in, Count in_count, MPI_Datatype in_type, void* out, Count out_count,
            MPI_Datatype out_type, int root, MPI_Comm comm) {
  State* const state = admit(comm, __builtin_return_address(0));
  const bool is_root = state != nullptr && state->rank == root;
  if (state == nullptr || root < 0 || root >= state->size || !is_valid(out, out_count, out_type) ||
      (is_root && !is_valid(in, in_count, in_type)))
    return to_the_mpi<"Scatter", Count>(state, comm, in, in_count, in_type, out, out_count,
                                        out_type, root);
  const bool in_place = is_root && out == MPI_IN_PLACE;
  const Block own =
      in_place ? even_block_of(root, in, in_count, in_type) : block_of(out, out_count, out_type);
  if (!is_root) return run_scatter(*state, comm, {}, own, root, false);
  const Block all = even_blocks_of(*state, in, in_count, in_type);
  return run_scatter(*state, comm, {&all, 1}, own, root, false);
}

template <class Count>
int scatterv(const void* in, const Count* counts, const Count* places, MPI_Datatype in_type,
             void* out, Count out_count, MPI_Datatype out_type, int root, MPI_Comm comm) {
  State* const state = admit(comm, __builtin_return_address(0));
  Blocks blocks;
  const bool is_root = state != nullptr && state->rank == root && in_type != MPI_DATATYPE_NULL;
  if (is_root) blocks = blocks_of(*state, in, counts, places, in_type);
  if (state == nullptr || root < 0 || root >= state->size || !is_valid(out, out_count, out_type) ||
      !are_valid(blocks) || blocks.empty() == (state->rank == root))
    return to_the_mpi<"Scatterv", Count>(state, comm, in, counts, places, in_type, out, out_count,
                                         out_type, root);
  const bool in_place = is_root && out == MPI_IN_PLACE;
  return run_scatter(
      *state, comm, blocks,
      in_place ? blocks[static_cast<std::size_t>(root)] : block_of(out, out_count, out_type), root,
      true);
}

template <class Count>
int allgather(const void* in, Count in_count, MPI_Datatype in_type, void* out, Count out_count,
              MPI_Datatype out_type, MPI_Comm comm) {
  State* const state = admit(comm, __builtin_return_address(0));
  if (state == nullptr || !is_valid(in, in_count, in_type) || !is_valid(out, out_count, out_type))
    return to_the_mpi<"Allgather", Count>(state, comm, in, in_count, in_type, out, out_count,
                                          out_type);
  const Block all = even_blocks_of(*state, out, out_count, out_type);
  const Block own = in == MPI_IN_PLACE ? even_block_of(state->rank, out, out_count, out_type)
                                       : block_of(in, in_count, in_type);
  return run_all_gather(*state, comm, own, {&all, 1}, true);
}

template <class Count>
int allgatherv(const void* in, Count in_count, MPI_Datatype in_type, void* out, const Count* counts,
               const Count* places, MPI_Datatype out_type, MPI_Comm comm) {
  State* const state = admit(comm, __builtin_return_address(0));
  Blocks blocks;
  if (state != nullptr && out_type != MPI_DATATYPE_NULL)
    blocks = blocks_of(*state, out, counts, places, out_type);
  if (blocks.empty() || !is_valid(in, in_count, in_type) || !are_valid(blocks))
    return to_the_mpi<"Allgatherv", Count>(state, comm, in, in_count, in_type, out, counts, places,
                                           out_type);
  const Block own = in == MPI_IN_PLACE ? blocks[static_cast<std::size_t>(state->rank)]
                                       : block_of(in, in_count, in_type);
  return run_all_gather(*state, comm, own, blocks, false);
}

template <class Count>
int alltoall(const void* in, Count in_count, MPI_Datatype in_type, void* out, Count out_count,
             MPI_Datatype out_type, MPI_Comm comm) {
  State* const state = admit(comm, __builtin_return_address(0));
  if (state == nullptr || !is_valid(in, in_count, in_type) || !is_valid(out, out_count, out_type))
    return to_the_mpi<"Alltoall", Count>(state, comm, in, in_count, in_type, out, out_count,
                                         out_type);
  const Block to = even_blocks_of(*state, out, out_count, out_type);
  if (in == MPI_IN_PLACE) return run_all_to_all(*state, comm, {}, {&to, 1}, true);
  const Block from = even_blocks_of(*state, in, in_count, in_type);
  return run_all_to_all(*state, comm, {&from, 1}, {&to, 1}, true);
}

template <class Count>
int alltoallv(const void* in, const Count* in_counts, const Count* in_places, MPI_Datatype in_type,
              void* out, const Count* out_counts, const Count* out_places, MPI_Datatype out_type,
              MPI_Comm comm) {
  State* const state = admit(comm, __builtin_return_address(0));
  const bool in_place = in == MPI_IN_PLACE;
  Blocks from, to;
  if (state != nullptr && out_type != MPI_DATATYPE_NULL &&
      (in_place || in_type != MPI_DATATYPE_NULL)) {
    if (!in_place) from = blocks_of(*state, in, in_counts, in_places, in_type);
    to = blocks_of(*state, out, out_counts, out_places, out_type);
  }
  if (to.empty() || !are_valid(from) || !are_valid(to))
    return to_the_mpi<"Alltoallv", Count>(state, comm, in, in_counts, in_places, in_type, out,
                                          out_counts, out_places, out_type);
  return run_all_to_all(*state, comm, from, to, false);
}

template <class Count>
int alltoallw(const void* in, const Count* in_counts, const Count* in_places,
              const MPI_Datatype* in_types, void* out, const Count* out_counts,
              const Count* out_places, const MPI_Datatype* out_types, MPI_Comm comm) {
  State* const state = admit(comm, __builtin_return_address(0));
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
    return to_the_mpi<"Alltoallw", Count>(state, comm, in, in_counts, in_places, in_types, out,
                                          out_counts, out_places, out_types);
  return run_all_to_all(*state, comm, from, to, false);
}

template int bcast<int>(void*, int, MPI_Datatype, int, MPI_Comm);
template int bcast<Large>(void*, Large, MPI_Datatype, int, MPI_Comm);
template int gather<int>(const void*, int, MPI_Datatype, void*, int, MPI_Datatype, int, MPI_Comm);
template int gather<Large>(const void*, Large, MPI_Datatype, void*, Large, MPI_Datatype, int,
                           MPI_Comm);
template int gatherv<int>(const void*, int, MPI_Datatype, void*, const int*, const int*,
                          MPI_Datatype, int, MPI_Comm);
template int gatherv<Large>(const void*, Large, MPI_Datatype, void*, const Large*, const Large*,
                            MPI_Datatype, int, MPI_Comm);
template int scatter<int>(const void*, int, MPI_Datatype, void*, int, MPI_Datatype, int, MPI_Comm);
template int scatter<Large>(const void*, Large, MPI_Datatype, void*, Large, MPI_Datatype, int,
                            MPI_Comm);
template int scatterv<int>(const void*, const int*, const int*, MPI_Datatype, void*, int,
                           MPI_Datatype, int, MPI_Comm);
template int scatterv<Large>(const void*, const Large*, const Large*, MPI_Datatype, void*, Large,
                             MPI_Datatype, int, MPI_Comm);
template int allgather<int>(const void*, int, MPI_Datatype, void*, int, MPI_Datatype, MPI_Comm);
template int allgather<Large>(const void*, Large, MPI_Datatype, void*, Large, MPI_Datatype,
                              MPI_Comm);
template int allgatherv<int>(const void*, int, MPI_Datatype, void*, const int*, const int*,
                             MPI_Datatype, MPI_Comm);
template int allgatherv<Large>(const void*, Large, MPI_Datatype, void*, const Large*, const Large*,
                               MPI_Datatype, MPI_Comm);
template int alltoall<int>(const void*, int, MPI_Datatype, void*, int, MPI_Datatype, MPI_Comm);
template int alltoall<Large>(const void*, Large, MPI_Datatype, void*, Large, MPI_Datatype,
                             MPI_Comm);
template int alltoallv<int>(const void*, const int*, const int*, MPI_Datatype, void*, const int*,
                            const int*, MPI_Datatype, MPI_Comm);
template int alltoallv<Large>(const void*, const Large*, const Large*, MPI_Datatype, void*,
                              const Large*, const Large*, MPI_Datatype, MPI_Comm);
template int alltoallw<int>(const void*, const int*, const int*, const MPI_Datatype*, void*,
                            const int*, const int*, const MPI_Datatype*, MPI_Comm);
template int alltoallw<Large>(const void*, const Large*, const Large*, const MPI_Datatype*, void*,
                              const Large*, const Large*, const MPI_Datatype*, MPI_Comm);

}  // namespace tutti::dropin
