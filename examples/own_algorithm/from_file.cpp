// Runs an algorithm from a file: `tutti run -n 5 from_file both_ways.json`.
#include <fstream>
#include <iostream>
#include <memory>
#include <sstream>
#include <vector>

#include <tutti/spi/schedule_file.hpp>
#include <tutti/tutti.hpp>

int main(int, char** arguments) try {
  std::ostringstream text;
  text << std::ifstream{arguments[1]}.rdbuf();
  tutti::WrittenSchedules schedules = tutti::read_json_schedules(text.str());
  schedules.name = "from_file";
  tutti::WrittenAlgorithms written;
  written.add(std::move(schedules), arguments[1]);  // proved now
  const auto catalog = std::make_shared<tutti::Catalog>();
  written.add_to(*catalog);

  tutti::Communicator world = tutti::init({.communicator = {.catalog = catalog}});
  const std::vector<int> own{world.rank()};
  std::vector<int> all(static_cast<std::size_t>(world.size()));
  world.all_gather(own, all, {.algorithm = "from_file"});
  for (int rank = 0; rank < world.size(); ++rank)
    if (all[static_cast<std::size_t>(rank)] != rank) return 1;
  if (world.rank() == 0) std::cout << world.explain(tutti::call::all_gather(own, all)) << "\n";
} catch (const tutti::Error& error) {
  std::cerr << error.what() << "\n";
  return 1;
}
