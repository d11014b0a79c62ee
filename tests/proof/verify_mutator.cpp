#include "verify_mutator.hpp"

#include <utility>

namespace tutti::samples {

Step Mutator::changed(const Step& step, const Sample& sample, const Schedule& schedule,
                      std::string& what) {
  Slots slots = step.slots();
  switch (below(4)) {
    case 0:
      if (!step.has_peer()) break;
      what = "peer";
      return step.with_peer(static_cast<Rank>(below(sample.schedules.size())));
    case 1:
      if (step.kind() != Step::Kind::recv_reduce) break;
      what = "side";
      return RecvReduce{step.peer(), slots, step.side() == Side::left ? Side::right : Side::left};
    case 2:
      what = "kind";
      if (step.kind() == Step::Kind::recv) return RecvReduce{step.peer(), slots};
      if (step.kind() == Step::Kind::recv_reduce) return Recv{step.peer(), slots};
      if (step.kind() == Step::Kind::send) slots.space = static_cast<Space>(below(3));
      return with_slots(step, slots);
    default: break;
  }
  what = "unit";
  slots.first = static_cast<std::uint32_t>(below(schedule.units() + 1));
  return with_slots(step, slots);
}

Sample Mutator::mutate(Sample sample, std::string& what) {
  std::size_t rank = below(sample.schedules.size());
  while (sample.schedules[rank].rounds() == 0) rank = below(sample.schedules.size());
  Schedule& schedule = sample.schedules[rank];
  Rounds rounds = rounds_of(schedule);
  const std::size_t round = below(rounds.size());
  const std::size_t index = below(rounds[round].size());
  const auto at = rounds[round].begin() + static_cast<std::ptrdiff_t>(index);
  switch (below(5)) {
    case 0:
      what = "drop";
      rounds[round].erase(at);
      break;
    case 1:
      what = "duplicate";
      rounds[round].push_back(*at);
      break;
    case 2:
      what = "swap";
      std::swap(rounds[round], rounds[below(rounds.size())]);
      break;
    default: *at = changed(*at, sample, schedule, what);
  }
  schedule = schedule_of(rounds, schedule);
  return sample;
}

}  // namespace tutti::samples
