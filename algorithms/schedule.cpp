#include <tutti/schedule.hpp>

#include <numeric>

#include <tutti/error.hpp>

namespace tutti {

Step Step::refined(std::uint32_t factor) const noexcept {
  Step step = *this;
  step.first_ *= factor;
  step.count_ *= factor;
  if (!has_peer()) step.other_ *= factor;
  return step;
}

Step Step::over(const Slots& slots, std::uint32_t from) const noexcept {
  Step step = *this;
  step.first_ = slots.first;
  step.count_ = slots.count;
  if (kind_ == Kind::reduce || kind_ == Kind::copy) step.other_ = from;
  return step;
}

Step Step::with_peer(Rank peer) const noexcept {
  Step step = *this;
  step.other_ = static_cast<std::uint32_t>(peer);
  return step;
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

Schedule refine(const Schedule& schedule, std::uint32_t units) {
  expects(units % schedule.units() == 0, "units are refined to a multiple");
  const std::uint32_t factor = units / schedule.units();
  Schedule finer{units, schedule.planes()};
  finer.reserve(schedule.steps().size());
  append(finer, schedule, [factor](const Step& step) { return step.refined(factor); });
  return finer;
}

Schedule then(const Schedule& first, const Schedule& second) {
  const std::uint32_t units = std::lcm(first.units(), second.units());
  Schedule both{units, std::max(first.planes(), second.planes())};
  both.reserve(first.steps().size() + second.steps().size());
  for (const Schedule* part : {&first, &second}) {
    const std::uint32_t factor = units / part->units();
    append(both, *part, [factor](const Step& step) { return step.refined(factor); });
  }
  return both;
}

Schedule on(std::span<const Rank> members, const Schedule& schedule) {
  Schedule mapped{schedule.units(), schedule.planes()};
  mapped.reserve(schedule.steps().size());
  append(mapped, schedule, [members](const Step& step) {
    return step.has_peer() ? step.with_peer(members[static_cast<std::size_t>(step.peer())]) : step;
  });
  return mapped;
}

Schedule reverse(const Schedule& schedule, Reversal reversal) {
  Schedule reversed{schedule.units(), schedule.planes()};
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

}  // namespace tutti
