// Runs an algorithm of your own beside those of tutti: `tutti run -n 4 own_algorithm`.
#include <iostream>
#include <memory>
#include <vector>

#include <tutti/spi/catalog.hpp>
#include <tutti/tutti.hpp>

extern "C" void tutti_add_algorithms(tutti::Catalog& catalog);  // both_ways.cpp

int main() {
  const auto catalog = std::make_shared<tutti::Catalog>();
  tutti_add_algorithms(*catalog);
  tutti::Communicator world = tutti::init({.communicator = {.catalog = catalog}});

  const std::vector<int> own{world.rank()};
  std::vector<int> all(static_cast<std::size_t>(world.size()));
  world.all_gather(own, all, {.algorithm = "both_ways"});  // proved now, for this number of ranks
  for (int rank = 0; rank < world.size(); ++rank)
    if (all[static_cast<std::size_t>(rank)] != rank) return 1;

  // Without a name, tutti chooses among all algorithms.
  if (world.rank() == 0) std::cout << world.explain(tutti::call::all_gather(own, all)) << "\n";
}
