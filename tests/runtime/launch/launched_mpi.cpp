#include <mpi.h>

#include "tests/runtime/launch/launched.hpp"

namespace tutti::runtime {

void begin_mpi() {
  MPI_Init(nullptr, nullptr);
  MPI_Barrier(MPI_COMM_WORLD);
}

void end_mpi() {
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
}

}  // namespace tutti::runtime
