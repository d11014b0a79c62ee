#include <vector>

#include "patterns.hpp"

namespace tutti::v0::algorithms {

Schedule finish_each(const Schedule& schedule) {
  const std::size_t never = schedule.rounds();
  std::vector<std::size_t> last(schedule.units(), never);
  for (std::size_t round = 0; round < schedule.rounds(); ++round)
    for (const Step& step : schedule.round(round))
      if (step.kind() == Step::Kind::recv_reduce)
        std::fill_n(last.begin() + step.slots().first, step.slots().count, round);
  Schedule finished{schedule.units(), schedule.planes(), schedule.paced()};
  for (std::size_t round = 0; round <= never; ++round) {
    if (round < never)
      for (const Step& step : schedule.round(round)) finished.add(step);
    for (std::uint32_t unit = 0; unit < schedule.units(); ++unit)
      if (last[unit] == round) finished.add(Finish{{Space::out, unit}});
    finished.end_round();
  }
  return finished;
}

}  // namespace tutti::v0::algorithms
