// Preloaded, it makes an MPI's all_reduce of more than 1 KiB take 15 ms longer than it does. tutti
// calls the MPI by its PMPI_ names.
#include <dlfcn.h>
#include <mpi.h>

#include <chrono>

extern "C" int PMPI_Allreduce(const void* in, void* out, int count, MPI_Datatype type, MPI_Op op,
                              MPI_Comm comm) {
  using Clock = std::chrono::steady_clock;
  static const auto quick =
      reinterpret_cast<decltype(&PMPI_Allreduce)>(dlsym(RTLD_NEXT, "PMPI_Allreduce"));
  int size = 0;
  MPI_Type_size(type, &size);
  if (count * size > 1024)
    for (const auto start = Clock::now(); Clock::now() - start < std::chrono::milliseconds{15};) {
    }
  return quick(in, out, count, type, op, comm);
}
