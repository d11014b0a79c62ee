/// @file
/// The collectives of MPI that move data, of the functions of these names, blocking or not.
/// Data is moved as bytes, since ranks may describe it by different datatypes.
/// @tparam Count int, or Large in the functions that end in _c, whose displacements are as wide.
#pragma once

#include <mpi.h>

#include "dropin/engine/call.hpp"

namespace tutti::dropin {

int barrier(const Origin& origin, MPI_Comm comm);
template <class Count>
int bcast(const Origin& origin, void* inout, Count count, MPI_Datatype type, int root,
          MPI_Comm comm);
template <class Count>
int gather(const Origin& origin, const void* in, Count in_count, MPI_Datatype in_type, void* out,
           Count out_count, MPI_Datatype out_type, int root, MPI_Comm comm);
template <class Count>
int gatherv(const Origin& origin, const void* in, Count in_count, MPI_Datatype in_type, void* out,
            const Count* counts, const Count* places, MPI_Datatype out_type, int root,
            MPI_Comm comm);
template <class Count>
int scatter(const Origin& origin, const void* in, Count in_count, MPI_Datatype in_type, void* out,
            Count out_count, MPI_Datatype out_type, int root, MPI_Comm comm);
template <class Count>
int scatterv(const Origin& origin, const void* in, const Count* counts, const Count* places,
             MPI_Datatype in_type, void* out, Count out_count, MPI_Datatype out_type, int root,
             MPI_Comm comm);
template <class Count>
int allgather(const Origin& origin, const void* in, Count in_count, MPI_Datatype in_type, void* out,
              Count out_count, MPI_Datatype out_type, MPI_Comm comm);
template <class Count>
int allgatherv(const Origin& origin, const void* in, Count in_count, MPI_Datatype in_type,
               void* out, const Count* counts, const Count* places, MPI_Datatype out_type,
               MPI_Comm comm);
template <class Count>
int alltoall(const Origin& origin, const void* in, Count in_count, MPI_Datatype in_type, void* out,
             Count out_count, MPI_Datatype out_type, MPI_Comm comm);
template <class Count>
int alltoallv(const Origin& origin, const void* in, const Count* in_counts, const Count* in_places,
              MPI_Datatype in_type, void* out, const Count* out_counts, const Count* out_places,
              MPI_Datatype out_type, MPI_Comm comm);
template <class Count>
int alltoallw(const Origin& origin, const void* in, const Count* in_counts, const Count* in_places,
              const MPI_Datatype* in_types, void* out, const Count* out_counts,
              const Count* out_places, const MPI_Datatype* out_types, MPI_Comm comm);

}  // namespace tutti::dropin
