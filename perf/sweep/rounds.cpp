#include "perf/sweep/rounds.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "perf/statistics.hpp"

namespace tutti::perf {

namespace {

bool is_precise(std::span<const double> times_us) {
  const Summary summary = summarize(times_us);
  return summary.samples >= kFewestPrecise &&
         summary.interval.high - summary.interval.low <= 2 * kPrecise * summary.median;
}

// The rule uses widths of intervals, never the order of candidates. Otherwise the race of two equal
// candidates would end when one of them happens to lead.
bool is_decided(std::span<const double> times_us, std::span<const double> best_us) {
  const Comparison comparison = compare(times_us, best_us);
  return comparison.interval.low > kCloseRace ||
         comparison.interval.high - comparison.interval.low <= 2 * kPreciseRatio * comparison.ratio;
}

std::size_t best_of(const std::vector<CandidateProgress>& runs) {
  std::size_t best = 0;
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (runs[i].times_us.empty()) continue;
    const double median = median_of(runs[i].times_us);
    if (median < least) {
      least = median;
      best = i;
    }
  }
  return best;
}

}  // namespace

std::vector<bool> unfinished(const std::vector<CandidateProgress>& runs,
                             const SweepOptions& options) {
  std::vector<bool> active(runs.size());
  if (options.rounds) {
    for (std::size_t i = 0; i < runs.size(); ++i)
      active[i] = runs[i].active && runs[i].times_us.size() < *options.rounds;
    return active;
  }
  const std::size_t best = best_of(runs);
  bool others = false;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const CandidateProgress& run = runs[i];
    const std::size_t rounds = run.times_us.size();
    active[i] = run.active;
    if (!run.active || rounds < kFewestRounds) continue;
    const bool done = run.spent_s >= options.budget_s ||
                      (is_precise(run.times_us) && is_decided(run.times_us, runs[best].times_us));
    if (done) active[i] = false;
    // The others are compared with the best, so it continues as long as one of them does.
    if (i == best && run.spent_s < options.budget_s) active[i] = true;
  }
  for (std::size_t i = 0; i < runs.size(); ++i) others = others || (active[i] && i != best);
  if (!others && active[best] && is_precise(runs[best].times_us)) active[best] = false;
  return active;
}

std::int64_t calls_per_sample(double call_us, double quickest_us, double sample_us) {
  const double own = std::ceil(sample_us / call_us);
  const double shared = std::ceil(sample_us / quickest_us);
  const double bearable = std::max(own, std::floor(kMostSample_us / call_us));
  return static_cast<std::int64_t>(std::clamp(std::min(shared, bearable), 1.0, kMostCalls));
}

}  // namespace tutti::perf
