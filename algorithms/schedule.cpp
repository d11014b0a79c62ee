#include <tutti/spi/schedule.hpp>

#include <algorithm>
#include <numeric>

#include <tutti/error.hpp>

namespace tutti::v0 {

Step Step::refined(std::uint32_t factor) const noexcept {
  Step step = *this;
  step.first_ *= factor;
  step.count_ *= factor;
  if (!has_peer()) step.other_ *= factor;
  return step;
}

Step Step::with_peer(Rank peer) const noexcept {
  Step step = *this;
  step.other_ = static_cast<std::uint32_t>(peer);
  return step;
}

Schedule& Schedule::append(const Schedule& other) {
  expects(units_ == other.units_, "schedules are joined over one vector");
  end_round();
  planes_ = std::max(planes_, other.planes_);
  paced_ = paced_ || other.paced_;
  const std::size_t before = steps_.size();
  for (const std::size_t end : other.ends_) ends_.push_back(before + end);
  if (other.rounds() > 0)
    steps_.insert(steps_.end(), other.steps_.begin(),
                  other.steps_.begin() + static_cast<std::ptrdiff_t>(other.ends_.back()));
  return *this;
}

namespace {

/// Appends the rounds of `part`, each step passed through `change`.
template <class Change>
void append(Schedule& schedule, const Schedule& part, Change change) {
  for (std::size_t index = 0; index < part.rounds(); ++index) {
    for (const Step& step : part.round(index)) schedule.add(change(step));
    schedule.end_round();
  }
}

}  // namespace

Schedule refine(Schedule schedule, std::uint32_t units) {
  expects(units % schedule.units() == 0, "units are refined to a multiple");
  const std::uint32_t factor = units / schedule.units();
  if (factor == 1) return schedule;
  Schedule finer{units, schedule.planes(), schedule.paced()};
  finer.reserve(schedule.steps().size());
  append(finer, schedule, [factor](const Step& step) { return step.refined(factor); });
  return finer;
}

Schedule then(Schedule first, Schedule second) {
  const std::uint32_t units = std::lcm(first.units(), second.units());
  Schedule both = refine(std::move(first), units);
  both.reserve(both.steps().size() + second.steps().size());
  both.append(refine(std::move(second), units));
  return both;
}

Schedule on(std::span<const Rank> members, const Schedule& schedule) {
  Schedule mapped{schedule.units(), schedule.planes(), schedule.paced()};
  mapped.reserve(schedule.steps().size());
  append(mapped, schedule, [members](const Step& step) {
    return step.has_peer() ? step.with_peer(members[static_cast<std::size_t>(step.peer())]) : step;
  });
  return mapped;
}

Schedule reverse(const Schedule& schedule, Reversal reversal) {
  Schedule reversed{schedule.units(), schedule.planes(), schedule.paced()};
  for (std::size_t index = schedule.rounds(); index-- > 0;) {
    for (const Step& step : schedule.round(index)) {
      expects(step.kind() == Step::Kind::send || step.kind() == Step::Kind::recv,
              "only sends and receives are reversed");
      if (step.kind() == Step::Kind::recv) reversed.add(Send{step.peer(), step.slots()});
      else if (reversal == Reversal::move) reversed.add(Recv{step.peer(), step.slots()});
      else reversed.add(RecvReduce{step.peer(), step.slots(), Side::right});
    }
    reversed.end_round();
  }
  return reversed;
}

}  // namespace tutti::v0
