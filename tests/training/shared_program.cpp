// Processes that share an array. Usage: shared_program RANKS, under a launcher. Prints and fails
// where one sees other elements than another one wrote.
#include <algorithm>
#include <cstdio>
#include <numeric>
#include <string>
#include <vector>

#include <tutti/training.hpp>
#include <tutti/tutti.hpp>

int main(int, char** arguments) try {
  tutti::Communicator world = tutti::init();
  tutti::SharedArray<int> array{world, 100'000};
  tutti::once_per_node(world, "fill", [&] { std::iota(array.begin(), array.end(), 7); });
  std::vector<int> expected(array.size());
  std::iota(expected.begin(), expected.end(), 7);
  bool is_right =
      std::to_string(world.size()) == arguments[1] && std::ranges::equal(array, expected);
  world.barrier();
  const auto own = static_cast<std::size_t>(world.rank());
  array[own] = -world.rank();
  world.barrier();
  for (int rank = 0; rank < world.size(); ++rank)
    is_right = is_right && array[static_cast<std::size_t>(rank)] == -rank;
  if (!is_right) std::printf("rank %d of %d sees other elements\n", world.rank(), world.size());
  return is_right ? 0 : 1;
} catch (const std::exception& error) {
  std::printf("%s\n", error.what());
  return 1;
}
