// Preloaded, it spoils one element of what an MPI gives the last rank of an all_reduce of f32.
#include <mpi.h>

extern "C" int MPI_Allreduce(const void* in, void* out, int count, MPI_Datatype type, MPI_Op op,
                             MPI_Comm comm) {
  const int status = PMPI_Allreduce(in, out, count, type, op, comm);
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  if (type == MPI_FLOAT && count > 0 && rank == size - 1) *static_cast<float*>(out) += 1;
  return status;
}
