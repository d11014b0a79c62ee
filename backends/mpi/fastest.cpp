#include "fastest.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <vector>

namespace tutti::inline v0::mpi {
namespace {

/// A vector that is measured, and how often: what disturbs a call makes it longer, so the shortest
/// counts.
struct Sample {
  std::size_t bytes;
  int calls;
};
constexpr std::array<Sample, 2> kSamples{Sample{64, 20}, Sample{std::size_t{1} << 20, 4}};

/// The product of both times, so that each counts by the factor that it differs by.
double pace_of(Communicator& world) {
  using Clock = std::chrono::steady_clock;
  double product = 1;
  for (const auto [bytes, calls] : kSamples) {
    std::vector<std::uint8_t> vector(bytes);
    double least = 0;
    for (int call = 0; call < calls; ++call) {
      world.barrier();
      const auto begin = Clock::now();
      world.all_reduce(vector, max);
      const std::chrono::duration<double> time = Clock::now() - begin;
      least = call == 0 ? time.count() : std::min(least, time.count());
    }
    product *= least;
  }
  return product;
}

}  // namespace

bool is_faster(Communicator& one, Communicator& other) {
  const double pace = pace_of(one);
  std::uint8_t is_other = pace_of(other) < pace ? 1 : 0;
  one.broadcast(std::span{&is_other, 1}, 0);  // lest ranks that measured otherwise part
  return is_other != 0;
}

}  // namespace tutti::inline v0::mpi
