#include "perf/studies/side_by_side.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "perf/measured_world.hpp"
#include "perf/statistics.hpp"

namespace tutti::perf {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kShortestSample = 1000;  // microseconds: much longer than clocks and barriers take
constexpr std::int64_t kFewestRounds = 7;
constexpr std::int64_t kMostRounds = 1000;

double sample(Communicator& world, const Contender& contender, std::int64_t times) {
  world.barrier();
  const auto begin = Clock::now();
  for (std::int64_t i = 0; i < times; ++i) contender.run();
  const std::chrono::duration<double, std::micro> elapsed = Clock::now() - begin;
  return elapsed.count() / static_cast<double>(times);
}

}  // namespace

std::vector<double> medians_side_by_side(Communicator& world, std::span<const Contender> contenders,
                                         std::chrono::milliseconds budget) {
  std::vector<std::int64_t> times;
  double round = 0;
  for (const Contender& contender : contenders) {
    (void)sample(world, contender, 3);  // warms connections and caches
    const double once = sample(world, contender, 3);
    times.push_back(std::max<std::int64_t>(1, static_cast<std::int64_t>(kShortestSample / once)));
    round += once * static_cast<double>(times.back());
  }
  const std::chrono::duration<double, std::micro> time = budget;
  times.push_back(
      std::clamp(static_cast<std::int64_t>(time.count() / round), kFewestRounds, kMostRounds));
  from_rank_zero(world, times);
  std::vector<std::vector<double>> samples(contenders.size());
  for (std::int64_t i = 0; i < times.back(); ++i)
    for (std::size_t turn = 0; turn < contenders.size(); ++turn) {
      const std::size_t which = (turn + static_cast<std::size_t>(i)) % contenders.size();
      samples[which].push_back(sample(world, contenders[which], times[which]));
    }
  std::vector<double> medians;
  for (std::vector<double>& all : samples) {
    max_over_ranks(world, all);
    medians.push_back(median_of(all));
  }
  return medians;
}

void print_side_by_side(Communicator& world, std::size_t bytes,
                        std::span<const Contender> contenders, std::span<const double> medians) {
  if (world.rank() != 0) return;
  std::string line = fmt::format("{:>10} bytes", bytes);
  for (std::size_t i = 0; i < medians.size(); ++i)
    line += fmt::format("  {} {:.1f} us ({:.3f})", contenders[i].name, medians[i],
                        medians[i] / medians.front());
  std::puts(line.c_str());
  std::fflush(stdout);
}

std::vector<std::size_t> sizes_of(std::span<char* const> arguments) {
  constexpr std::size_t kFactor = 8;
  const auto number = [&](std::size_t index, std::size_t otherwise) {
    return index < arguments.size() ? std::strtoull(arguments[index], nullptr, 10) : otherwise;
  };
  const std::size_t last = number(2, std::size_t{16} << 20);
  std::vector<std::size_t> sizes;
  for (std::size_t size = std::max<std::size_t>(number(1, 8), sizeof(float)); size < last;
       size *= kFactor)
    sizes.push_back(size);
  sizes.push_back(last);
  return sizes;
}

}  // namespace tutti::perf
