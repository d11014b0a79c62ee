// A launcher of another MPI starts several worlds of one rank, in which tests of several ranks
// would test nothing.
#include <mpi.h>

#include <cstdio>

int main(int argument_count, char** arguments) {
  MPI_Init(&argument_count, &arguments);
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (size != 2)
    std::printf(
        "a world of %d ranks: the launcher belongs to another MPI, see TUTTI_MPI_*_LAUNCHER\n",
        size);
  MPI_Finalize();
  return size == 2 ? 0 : 1;
}
