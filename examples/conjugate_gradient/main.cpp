// Solves a Poisson problem on many ranks: `tutti run -n 4 conjugate_gradient 128`.
#include <cstdio>

#include <tutti/tutti.hpp>

#include "solve.hpp"

namespace {

// All four messages of a rank start together, so that none waits for another.
void exchange(tutti::Communicator& world, poisson::Field& field) {
  const tutti::Rank above = world.rank() - 1, below = world.rank() + 1;
  tutti::batch([&] {
    if (above >= 0) world.send(field.row(0), above), world.recv(field.row(-1), above);
    if (below < world.size()) {
      world.send(field.row(field.rows() - 1), below);
      world.recv(field.row(field.rows()), below);
    }
  });
}

}  // namespace

int main(int count, char** words) try {
  tutti::Communicator world = tutti::init();
  const int side = poisson::side_of(count, words, world.size());
  const poisson::Outcome outcome = poisson::solve(
      side, world.rank(), world.size(), [&](poisson::Field& field) { exchange(world, field); },
      [&](double part) { return world.all_reduce(part); });
  if (world.rank() == 0) poisson::print(outcome);
} catch (const tutti::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
