#include "perf/sweep/verdict.hpp"

#include <algorithm>

namespace tutti::perf {

namespace {

using Indices = std::vector<std::size_t>;

std::optional<std::size_t> find(const SizeResult& result, CandidateType kind) {
  for (std::size_t i = 0; i < result.measured.size(); ++i)
    if (result.measured[i].candidate.kind == kind && !result.measured[i].times_us.empty()) return i;
  return {};
}

// tutti's own algorithms. auto represents the algorithm that it runs if that one was not measured,
// for example the library's own call on GPUs.
Indices find_ours(const SizeResult& result) {
  Indices ours;
  for (std::size_t i = 0; i < result.measured.size(); ++i)
    if (result.measured[i].candidate.kind == CandidateType::forced &&
        !result.measured[i].times_us.empty())
      ours.push_back(i);
  const auto automatic = find(result, CandidateType::automatic);
  if (!automatic) return ours;
  Indices named = ours;
  if (const auto native = find(result, CandidateType::native)) named.push_back(*native);
  const bool is_named = std::ranges::any_of(named, [&](std::size_t i) {
    return result.measured[i].runs == result.measured[*automatic].runs;
  });
  if (!is_named) ours.push_back(*automatic);
  return ours;
}

std::optional<std::size_t> fastest(const Indices& indices, const std::vector<Summary>& summaries) {
  if (indices.empty()) return {};
  return *std::min_element(indices.begin(), indices.end(), [&](std::size_t a, std::size_t b) {
    return summaries[a].median < summaries[b].median;
  });
}

}  // namespace

std::string_view name_of(Standing standing) noexcept {
  switch (standing) {
    case Standing::best: return "best";
    case Standing::tie: return "tie";
    case Standing::slower: return "slower";
    case Standing::absent: return "absent";
  }
  return "absent";
}

Verdict judge(const SizeResult& result) {
  Verdict verdict;
  for (const Measured& measured : result.measured)
    verdict.summaries.push_back(measured.times_us.empty() ? Summary{}
                                                          : summarize(measured.times_us));
  verdict.standings.assign(result.measured.size(), Standing::absent);
  verdict.against_best.resize(result.measured.size());
  const Indices ours = find_ours(result);
  const auto native = find(result, CandidateType::native);
  const auto automatic = find(result, CandidateType::automatic);
  Indices race = ours;
  if (native) race.push_back(*native);
  verdict.ours = fastest(ours, verdict.summaries);
  verdict.best = fastest(race, verdict.summaries);
  if (!verdict.best) return verdict;

  const auto ratio = [&](std::size_t a, std::size_t b) {
    return compare(result.measured[a].times_us, result.measured[b].times_us);
  };
  for (std::size_t i = 0; i < result.measured.size(); ++i) {
    if (result.measured[i].times_us.empty()) continue;
    verdict.against_best[i] = ratio(i, *verdict.best);
    const bool is_probe =
        result.measured[i].candidate.kind == CandidateType::probe;  // not in the race
    verdict.standings[i] =
        is_probe || verdict.against_best[i].slower() ? Standing::slower : Standing::tie;
  }
  verdict.standings[*verdict.best] = Standing::best;
  for (const std::size_t i : race)
    if (verdict.standings[i] == Standing::tie) verdict.equals.push_back(i);
  if (automatic && verdict.ours && *automatic != *verdict.ours) {
    const Comparison loss = ratio(*automatic, *verdict.ours);
    verdict.auto_loss = loss.slower() ? loss.ratio - 1 : 0;
  }
  if (native && verdict.ours) verdict.ours_vs_native = ratio(*native, *verdict.ours).ratio;
  if (native && automatic) verdict.auto_vs_native = ratio(*native, *automatic).ratio;
  return verdict;
}

}  // namespace tutti::perf
