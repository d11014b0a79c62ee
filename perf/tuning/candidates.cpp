#include "perf/tuning/candidates.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "collectives/binding/select_for.hpp"
#include "perf/sweep/buffers.hpp"
#include "perf/units.hpp"

namespace tutti::perf {

namespace {

// The segments that the model tries, and the whole vector.
std::vector<std::size_t> segments_of(const detail::Candidate& candidate) {
  if (candidate.segment_bytes == 0) return {Options::kWhole};
  return {candidate.segment_bytes, Options::kWhole};
}

Candidate tried(const Choice& choice, std::size_t segment) {
  const std::string suffix =
      segment == Options::kWhole ? std::string{} : "/" + format_bytes(segment);
  return {.label = choice.text() + suffix,
          .algorithm = choice.name(),
          .parameters = choice.parameters(),
          .choice = choice.text(),
          .segment = segment};
}

}  // namespace

std::vector<Candidate> doubtful_candidates(MeasuredWorld& world, const Workload& workload,
                                           bool visible) {
  const Buffers buffers{workload, world.communicator().rank()};
  const detail::Selection selection =
      select_for(world.communicator(), buffers.calls().front(), {.visible = visible});
  auto least = std::numeric_limits<Femtoseconds>::max();
  for (const detail::Candidate& candidate : selection.candidates)
    if (candidate.refusal.empty()) least = std::min(least, candidate.predicted);
  std::vector<Candidate> candidates;
  for (const detail::Candidate& candidate : selection.candidates) {
    const bool is_doubtful = static_cast<double>(candidate.predicted) <=
                             kDoubtful * static_cast<double>(std::max<Femtoseconds>(least, 1));
    if (!candidate.refusal.empty() || !is_doubtful) continue;
    for (const std::size_t segment : segments_of(candidate)) {
      Candidate next = tried(candidate.choice, segment);
      if (std::ranges::find(candidates, next.label, &Candidate::label) == candidates.end())
        candidates.push_back(std::move(next));
    }
  }
  candidates.push_back({.label = "auto", .algorithm = "auto", .kind = CandidateType::automatic});
  return candidates;
}

}  // namespace tutti::perf
