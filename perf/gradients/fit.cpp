#include "perf/gradients/fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <limits>

#include "perf/failure.hpp"

namespace tutti::perf {

namespace {

constexpr double kGibibyte = 1024.0 * 1024 * 1024;
constexpr double kShareToUse = 0.9;  // of the free memory

// Memory that processes of this host can still allocate; infinite if it is unknown.
double free_memory() {
  std::ifstream file{"/proc/meminfo"};
  for (std::string word; file >> word;) {
    if (word != "MemAvailable:") continue;
    double kibibytes = 0;
    if (file >> kibibytes) return kibibytes * 1024;
  }
  return std::numeric_limits<double>::max();
}

}  // namespace

void check_memory(MeasuredWorld& world, const Context& context, double bytes,
                  const std::string& what) {
  const Rank own = world.communicator().rank();
  const auto has_own = [own](const Host& host) {
    return std::ranges::find(host.ranks, own) != host.ranks.end();
  };
  const auto host = std::ranges::find_if(context.hosts, has_own);
  const auto ranks = static_cast<double>(host->ranks.size());
  const double per_rank = free_memory() * kShareToUse / ranks;
  std::array<double, 1> least{-per_rank};  // the maximum of the negated values
  max_over_ranks(world.communicator(), least);
  if (bytes <= -least[0]) return;
  throw Failure{
      ExitCode::usage,
      fmt::format("{} need {:.1f} GiB on each rank, and the fullest host has {:.1f} GiB free for "
                  "each of its ranks: choose fewer settings at a time (--bucket-bytes 5M,25M "
                  "--storage views), fewer ranks on a host, or a smaller model",
                  what, bytes / kGibibyte, -least[0] / kGibibyte)};
}

}  // namespace tutti::perf
