#include "perf/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace tutti::perf {

namespace {

constexpr double kTail = 0.025;  // each tail of a 95% interval
constexpr std::size_t kExactBinomial =
    200;  // above it the normal approximation is accurate to 1e-3
constexpr std::size_t kExactSignedRank = 30;

std::vector<double> sorted(std::span<const double> samples) {
  std::vector<double> copy{samples.begin(), samples.end()};
  std::sort(copy.begin(), copy.end());
  return copy;
}

// The nearest-rank percentile of sorted samples.
double percentile(const std::vector<double>& ordered, double share) {
  const double rank = std::ceil(share * static_cast<double>(ordered.size()));
  const auto index = static_cast<std::size_t>(std::max(rank, 1.0)) - 1;
  return ordered[std::min(index, ordered.size() - 1)];
}

double middle(const std::vector<double>& ordered) {
  const std::size_t half = ordered.size() / 2;
  return ordered.size() % 2 == 1 ? ordered[half] : (ordered[half - 1] + ordered[half]) / 2;
}

// A difference and twice its rank, so that averaged ranks of ties are whole numbers.
struct Ranked {
  bool positive;
  std::size_t twice_rank;
};

std::vector<Ranked> rank_by_magnitude(std::span<const double> differences) {
  std::vector<double> kept;
  for (const double d : differences)
    if (d != 0) kept.push_back(d);
  std::sort(kept.begin(), kept.end(), [](double a, double b) { return std::abs(a) < std::abs(b); });
  std::vector<Ranked> ranked;
  for (std::size_t first = 0; first < kept.size();) {
    std::size_t last = first;
    while (last + 1 < kept.size() && std::abs(kept[last + 1]) == std::abs(kept[first])) ++last;
    for (std::size_t i = first; i <= last; ++i) ranked.push_back({kept[i] > 0, first + last + 2});
    first = last + 1;
  }
  return ranked;
}

// The probability that a random choice of signs gives a sum of positive ranks of at most `sum`.
double exact_tail(const std::vector<Ranked>& ranked, std::size_t sum) {
  std::size_t total = 0;
  for (const Ranked& r : ranked) total += r.twice_rank;
  std::vector<double> probability(total + 1, 0.0);
  probability[0] = 1;
  for (const Ranked& r : ranked) {
    for (std::size_t s = total + 1; s-- > 0;) {
      const double with = s >= r.twice_rank ? probability[s - r.twice_rank] : 0.0;
      probability[s] = (probability[s] + with) / 2;
    }
  }
  double tail = 0;
  for (std::size_t s = 0; s <= sum; ++s) tail += probability[s];
  return tail;
}

double normal_tail(const std::vector<Ranked>& ranked, double sum) {
  double mean = 0;
  double variance = 0;
  for (const Ranked& r : ranked) {
    const auto rank = static_cast<double>(r.twice_rank);
    mean += rank / 2;
    variance += rank * rank / 4;
  }
  const double deviation = (mean - sum - 1) / std::sqrt(variance);  // 1: continuity, doubled ranks
  return std::erfc(std::max(deviation, 0.0) / std::sqrt(2.0)) / 2;
}

}  // namespace

OrderRanks median_ranks(std::size_t samples) {
  if (samples < kFewestForInterval) return {0, samples - 1};
  const auto n = static_cast<double>(samples);
  std::size_t low = 0;
  if (samples > kExactBinomial) {
    low = static_cast<std::size_t>(n / 2 - 0.98 * std::sqrt(n));
  } else {
    // The median lies below order statistic `low` with probability P(Binomial(n, 1/2) <= low).
    double term = std::exp2(-n);
    double tail = term;
    while (tail <= kTail) {
      ++low;
      term *= (n - static_cast<double>(low) + 1) / static_cast<double>(low);
      tail += term;
    }
    --low;
  }
  return {low, samples - 1 - low};
}

double median_of(std::span<const double> samples) {
  return middle(sorted(samples));
}

Summary summarize(std::span<const double> samples) {
  const std::vector<double> ordered = sorted(samples);
  const OrderRanks ranks = median_ranks(ordered.size());
  return {.samples = ordered.size(),
          .min = ordered.front(),
          .p10 = percentile(ordered, 0.10),
          .median = middle(ordered),
          .interval = {ordered[ranks.low], ordered[ranks.high]},
          .p90 = percentile(ordered, 0.90),
          .p99 = percentile(ordered, 0.99),
          .max = ordered.back()};
}

double signed_rank_p(std::span<const double> differences) {
  const std::vector<Ranked> ranked = rank_by_magnitude(differences);
  if (ranked.empty()) return 1;
  std::size_t positive = 0;
  std::size_t negative = 0;
  for (const Ranked& r : ranked) (r.positive ? positive : negative) += r.twice_rank;
  const std::size_t least = std::min(positive, negative);
  const double tail = ranked.size() <= kExactSignedRank
                          ? exact_tail(ranked, least)
                          : normal_tail(ranked, static_cast<double>(least));
  return std::min(1.0, 2 * tail);
}

Comparison compare(std::span<const double> times, std::span<const double> reference) {
  const std::size_t pairs = std::min(times.size(), reference.size());
  if (pairs == 0) return {};
  std::vector<double> logarithms(pairs);
  for (std::size_t i = 0; i < pairs; ++i) logarithms[i] = std::log(times[i] / reference[i]);
  const Summary summary = summarize(logarithms);
  return {.pairs = pairs,
          .ratio = std::exp(summary.median),
          .interval = {std::exp(summary.interval.low), std::exp(summary.interval.high)},
          .p = signed_rank_p(logarithms)};
}

double geometric_mean(std::span<const double> values) {
  if (values.empty()) return 1;
  double sum = 0;
  for (const double value : values) sum += std::log(value);
  return std::exp(sum / static_cast<double>(values.size()));
}

}  // namespace tutti::perf
