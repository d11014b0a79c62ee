/// @file
/// The collectives of MPI that move data, in the place of the MPI's functions of the same names.
/// Data is moved as bytes, since ranks may describe it by different datatypes.
/// @tparam Count int, or Large in the functions that end in _c, whose displacements are as wide.
#pragma once

#include <mpi.h>

namespace tutti::dropin {

int barrier(MPI_Comm comm);
template <class Count>
int bcast(void* inout, Count count, MPI_Datatype type, int root, MPI_Comm comm);
template <class Count>
int gather(const void* in, Count in_count, MPI_Datatype in_type, void* out, Count out_count,
           MPI_Datatype out_type, int root, MPI_Comm comm);
template <class Count>
int gatherv(const void* in, Count in_count, MPI_Datatype in_type, void* out, const Count* counts,
            const Count* places, MPI_Datatype out_type, int root, MPI_Comm comm);
template <class Count>
int scatter(const void* in, Count in_count, MPI_Datatype in_type, void* out, Count out_count,
            MPI_Datatype out_type, int root, MPI_Comm comm);
template <class Count>
int scatterv(const void* in, const Count* counts, const Count* places, MPI_Datatype in_type,
             void* out, Count out_count, MPI_Datatype out_type, int root, MPI_Comm comm);
template <class Count>
int allgather(const void* in, Count in_count, MPI_Datatype in_type, void* out, Count out_count,
              MPI_Datatype out_type, MPI_Comm comm);
template <class Count>
int allgatherv(const void* in, Count in_count, MPI_Datatype in_type, void* out, const Count* counts,
               const Count* places, MPI_Datatype out_type, MPI_Comm comm);
template <class Count>
int alltoall(const void* in, Count in_count, MPI_Datatype in_type, void* out, Count out_count,
             MPI_Datatype out_type, MPI_Comm comm);
template <class Count>
int alltoallv(const void* in, const Count* in_counts, const Count* in_places, MPI_Datatype in_type,
              void* out, const Count* out_counts, const Count* out_places, MPI_Datatype out_type,
              MPI_Comm comm);
template <class Count>
int alltoallw(const void* in, const Count* in_counts, const Count* in_places,
              const MPI_Datatype* in_types, void* out, const Count* out_counts,
              const Count* out_places, const MPI_Datatype* out_types, MPI_Comm comm);

}  // namespace tutti::dropin
