// An MPI program, which knows nothing of tutti: random collectives against results that each rank
// computes by itself. With a seed and a number of calls as arguments; prints one line on rank 0,
// and ends with 1 if anything was wrong.
#include <mpi.h>

#include <array>
#include <cstdio>
#include <cstdlib>

#include "world.hpp"

int main(int count, char** words) {
  using namespace program;
  MPI_Init(&count, &words);
  const unsigned seed = count > 1 ? static_cast<unsigned>(std::atoi(words[1])) : 1;
  const int calls = count > 2 ? std::atoi(words[2]) : 300;
  dice.seed(seed);
  const World world{MPI_COMM_WORLD};
  MPI_Comm backward, halves;
  MPI_Comm_split(MPI_COMM_WORLD, 0, -world.rank, &backward);
  MPI_Comm_split(MPI_COMM_WORLD, world.rank % 2, world.rank, &halves);
  const std::array<World, 4> worlds{world, World{backward}, World{halves}, World{MPI_COMM_SELF}};
  const std::vector<Layout> types = layouts();
  start_first(world);
  renew_types(world);
  free_before_the_end(world);
  start_prepared(world);
  for (long call = 0; call < calls; ++call) {
    dice.seed(seed * 100000 +
              static_cast<unsigned>(call));  // since halves of a world draw different numbers
    const World& here = worlds[static_cast<std::size_t>(below(static_cast<int>(worlds.size())))];
    if (below(2) == 0) move(here, types, call);
    else reduce(here, call);
    if (below(20) == 0) {  // a communicator that is soon freed
      MPI_Comm copy;
      MPI_Comm_dup(here.comm, &copy);
      move(World{copy}, types, call);
      MPI_Comm_free(&copy);
    }
  }
  int sum = 0;
  MPI_Reduce(&wrong, &sum, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (world.rank == 0)
    std::printf("%d ranks, seed %u, %d calls: %d wrong\n", world.size, seed, calls, sum);
  MPI_Comm_free(&backward);
  MPI_Comm_free(&halves);
  MPI_Finalize();
  return sum == 0 ? 0 : 1;
}
