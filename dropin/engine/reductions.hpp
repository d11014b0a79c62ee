/// @file
/// The reductions of MPI, of the functions of these names, blocking or not.
/// @tparam Count int, or Large in the functions that end in _c.
#pragma once

#include <mpi.h>

#include "dropin/engine/call.hpp"

namespace tutti::dropin {

template <class Count>
int allreduce(const Origin& origin, const void* in, void* out, Count count, MPI_Datatype type,
              MPI_Op op, MPI_Comm comm);
template <class Count>
int reduce(const Origin& origin, const void* in, void* out, Count count, MPI_Datatype type,
           MPI_Op op, int root, MPI_Comm comm);
template <class Count>
int reduce_scatter(const Origin& origin, const void* in, void* out, const Count* counts,
                   MPI_Datatype type, MPI_Op op, MPI_Comm comm);
template <class Count>
int reduce_scatter_block(const Origin& origin, const void* in, void* out, Count count,
                         MPI_Datatype type, MPI_Op op, MPI_Comm comm);
template <class Count>
int scan(const Origin& origin, const void* in, void* out, Count count, MPI_Datatype type, MPI_Op op,
         MPI_Comm comm);
template <class Count>
int exscan(const Origin& origin, const void* in, void* out, Count count, MPI_Datatype type,
           MPI_Op op, MPI_Comm comm);

}  // namespace tutti::dropin
