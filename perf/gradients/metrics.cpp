#include "perf/gradients/metrics.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace tutti::perf {

Quartiles quartiles_of(std::span<const double> samples) {
  std::vector<double> sorted{samples.begin(), samples.end()};
  std::ranges::sort(sorted);
  const auto at = [&](double share) {
    const double place = share * static_cast<double>(sorted.size() - 1);
    const auto below = static_cast<std::size_t>(place);
    const std::size_t above = std::min(below + 1, sorted.size() - 1);
    return std::lerp(sorted[below], sorted[above], place - std::floor(place));
  };
  return {.low = at(0.25), .median = at(0.5), .high = at(0.75)};
}

double ideal_step(double computing, std::span<const BucketCost> buckets) {
  double end = 0;
  for (const BucketCost& bucket : buckets) end = std::max(end, bucket.ready) + bucket.alone;
  return std::max(computing, end);
}

double exposed(const StepTimes& times) noexcept {
  return times.overlapped - times.computing;
}

std::optional<double> hidden_share(const StepTimes& times) noexcept {
  const double communication = times.serial - times.computing;
  if (communication <= 0) return {};
  return (times.serial - times.overlapped) / communication;
}

std::optional<double> overlap_efficiency(const StepTimes& times) noexcept {
  const double possible = times.serial - times.ideal;
  if (possible <= 0) return {};
  return (times.serial - times.overlapped) / possible;
}

}  // namespace tutti::perf
