// Preloaded, it spoils one element of what an MPI gives the last rank of an all_reduce of f32.
// tutti calls the MPI by its PMPI_ names.
#include <dlfcn.h>
#include <mpi.h>

extern "C" int PMPI_Allreduce(const void* in, void* out, int count, MPI_Datatype type, MPI_Op op,
                              MPI_Comm comm) {
  static const auto honest =
      reinterpret_cast<decltype(&PMPI_Allreduce)>(dlsym(RTLD_NEXT, "PMPI_Allreduce"));
  const int status = honest(in, out, count, type, op, comm);
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  if (type == MPI_FLOAT && count > 0 && rank == size - 1) *static_cast<float*>(out) += 1;
  return status;
}
