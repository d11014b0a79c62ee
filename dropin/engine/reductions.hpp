/// @file
/// The reductions of MPI, in the place of the MPI's functions of the same names.
/// @tparam Count int, or Large in the functions that end in _c.
#pragma once

#include <mpi.h>

namespace tutti::dropin {

template <class Count>
int allreduce(const void* in, void* out, Count count, MPI_Datatype type, MPI_Op op, MPI_Comm comm);
template <class Count>
int reduce(const void* in, void* out, Count count, MPI_Datatype type, MPI_Op op, int root,
           MPI_Comm comm);
template <class Count>
int reduce_scatter(const void* in, void* out, const Count* counts, MPI_Datatype type, MPI_Op op,
                   MPI_Comm comm);
template <class Count>
int reduce_scatter_block(const void* in, void* out, Count count, MPI_Datatype type, MPI_Op op,
                         MPI_Comm comm);
template <class Count>
int scan(const void* in, void* out, Count count, MPI_Datatype type, MPI_Op op, MPI_Comm comm);
template <class Count>
int exscan(const void* in, void* out, Count count, MPI_Datatype type, MPI_Op op, MPI_Comm comm);

}  // namespace tutti::dropin
