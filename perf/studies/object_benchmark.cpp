// Broadcasts maps of strings of 1 MiB each. Usage: object_benchmark, as ranks. object_benchmark.py
// compares it with mpi4py.
#include <chrono>
#include <cstdio>
#include <exception>
#include <map>
#include <string>
#include <vector>

#include <tutti/cereal.hpp>
#include <tutti/objects.hpp>
#include <tutti/tutti.hpp>

#include "perf/statistics.hpp"

namespace tutti::perf {
namespace {

using Map = std::map<std::string, std::string>;

constexpr std::size_t kWorth = std::size_t{1} << 20;
constexpr int kRounds = 30;

/// As make_map of the script.
Map make_map(std::size_t entries) {
  Map map;
  for (std::size_t i = 0; i < entries; ++i) {
    const std::string number = std::to_string(1000000 + i).substr(1);
    map["key " + number] = std::string(kWorth / entries - 10, static_cast<char>('a' + i % 26));
  }
  return map;
}

/// @param fresh whether receivers pass an empty map; else they pass the last one, to reuse its
/// memory. @return the time until the last rank has the map: the median, in microseconds.
double time_broadcast(Communicator& world, std::size_t entries, bool fresh) {
  const bool is_root = world.rank() == 0;
  Map map = is_root ? make_map(entries) : Map{};
  std::vector<double> times;
  for (int round = 0; round < kRounds; ++round) {
    if (fresh && !is_root) map = Map{};
    world.barrier();
    const auto start = std::chrono::steady_clock::now();
    map = objects(world).broadcast(std::move(map));
    const std::chrono::duration<double, std::micro> time = std::chrono::steady_clock::now() - start;
    std::vector<double> longest{time.count()};
    world.all_reduce(longest, max);
    times.push_back(longest[0]);
  }
  if (map != make_map(entries)) throw Error{ErrorCode::bug, "the map came wrong"};
  return median_of(times);
}

}  // namespace
}  // namespace tutti::perf

int main() {
  try {
    tutti::Communicator world = tutti::init();
    for (const std::size_t entries : {16U, 256U, 4096U, 16384U}) {
      const double again = tutti::perf::time_broadcast(world, entries, false);
      const double fresh = tutti::perf::time_broadcast(world, entries, true);
      if (world.rank() == 0) std::printf("%zu %.1f %.1f\n", entries, fresh, again);
    }
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "object_benchmark: %s\n", error.what());
    return 1;
  }
}
