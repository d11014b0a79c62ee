// Says where it runs. One write per rank, so that lines of several ranks do not mix.
#include <mpi.h>

#include <cstdio>

int main(int argument_count, char** arguments) {
  MPI_Init(&argument_count, &arguments);
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  std::printf("rank %d of %d\n", rank, size);
  std::fflush(stdout);
  MPI_Finalize();
}
