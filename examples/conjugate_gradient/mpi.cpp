// As main.cpp, with MPI in place of tutti: `mpirun -n 4 conjugate_gradient_mpi 128`.
#include <mpi.h>

#include "solve.hpp"

namespace {

// Two calls. Each sends in one direction and receives from the other. MPI_PROC_NULL is no rank.
void exchange(int rank, int size, poisson::Field& field) {
  const int above = rank > 0 ? rank - 1 : MPI_PROC_NULL;
  const int below = rank + 1 < size ? rank + 1 : MPI_PROC_NULL;
  MPI_Sendrecv(field.row(0).data(), field.side(), MPI_DOUBLE, above, 0,
               field.row(field.rows()).data(), field.side(), MPI_DOUBLE, below, 0, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  MPI_Sendrecv(field.row(field.rows() - 1).data(), field.side(), MPI_DOUBLE, below, 0,
               field.row(-1).data(), field.side(), MPI_DOUBLE, above, 0, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
}

double all_reduce(double part) {
  double all = 0;
  MPI_Allreduce(&part, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  return all;
}

}  // namespace

int main(int count, char** words) {
  MPI_Init(&count, &words);
  int rank = 0, size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int side = poisson::side_of(count, words, size);
  const poisson::Outcome outcome = poisson::solve(
      side, rank, size, [&](poisson::Field& field) { exchange(rank, size, field); },
      [&](double part) { return all_reduce(part); });
  if (rank == 0) poisson::print(outcome);
  MPI_Finalize();
}
