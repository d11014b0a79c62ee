// Schedules on a part of a vector, for algorithms that combine others.
#include <tutti/spi/schedule.hpp>

#include <algorithm>

#include <tutti/error.hpp>

namespace tutti::v0 {
namespace {

/// The places of a vector's units in another vector: `offset` further for units below `end`, none
/// for others.
struct Move {
  std::uint32_t from_units;
  std::uint32_t to_units;
  std::uint32_t offset;
  std::uint32_t end;

  [[nodiscard]] Slots operator()(const Slots& slots) const {
    const std::uint32_t plane = slots.first / from_units;
    const std::uint32_t unit = slots.first % from_units;
    const std::uint32_t count = unit < end ? std::min(slots.count, end - unit) : 0;
    return {slots.space, plane * to_units + offset + unit, count};
  }
};

Schedule moved(const Schedule& schedule, const Move& move) {
  Schedule other{move.to_units, schedule.planes(), schedule.paced()};
  for (std::size_t index = 0; index < schedule.rounds(); ++index) {
    for (const Step& step : schedule.round(index)) {
      const Slots slots = move(step.slots());
      if (slots.count > 0) other.add(step.over(slots, move(step.from()).first));
    }
    other.end_round();
  }
  return other;
}

}  // namespace

Schedule on_piece(const Schedule& schedule, std::uint32_t piece, std::uint32_t pieces) {
  expects(piece < pieces, "a piece is one of the pieces");
  const std::uint32_t units = schedule.units();
  return moved(schedule, {units, units * pieces, units * piece, units});
}

Schedule first_blocks(const Schedule& schedule, std::uint32_t kept, std::uint32_t blocks) {
  expects(kept > 0 && kept <= blocks && schedule.units() % blocks == 0,
          "a schedule keeps some of its blocks");
  const std::uint32_t units = schedule.units() / blocks * kept;
  return moved(schedule, {schedule.units(), units, 0, units});
}

Schedule unfinished(const Schedule& schedule) {
  Schedule other{schedule.units(), schedule.planes(), schedule.paced()};
  for (std::size_t index = 0; index < schedule.rounds(); ++index) {
    for (const Step& step : schedule.round(index))
      if (step.kind() != Step::Kind::finish) other.add(step);
    other.end_round();
  }
  return other;
}

Schedule continued(const Schedule& schedule) {
  const auto result = [](Slots slots) {
    if (slots.space == Space::in) slots.space = Space::out;
    return slots;
  };
  Schedule other{schedule.units(), schedule.planes(), schedule.paced()};
  for (std::size_t index = 0; index < schedule.rounds(); ++index) {
    for (const Step& step : schedule.round(index)) {
      if (step.kind() == Step::Kind::send) other.add(Send{step.peer(), result(step.slots())});
      else if (step.kind() == Step::Kind::copy) other.add(Copy{result(step.from()), step.slots()});
      else if (step.kind() == Step::Kind::reduce)
        other.add(Reduce{result(step.from()), step.slots(), step.side()});
      else other.add(step);
    }
    other.end_round();
  }
  return other;
}

Schedule side_by_side(std::span<const Schedule> parts) {
  std::uint32_t planes = 0;
  std::size_t rounds = 0;
  bool paced = false;
  for (const Schedule& part : parts) {
    expects(part.units() == parts.front().units(), "schedules at once are over one vector");
    planes = std::max(planes, part.planes());
    rounds = std::max(rounds, part.rounds());
    paced = paced || part.paced();
  }
  Schedule all{parts.front().units(), planes, paced};
  for (std::size_t index = 0; index < rounds; ++index) {
    for (const Schedule& part : parts)
      if (index < part.rounds())
        for (const Step& step : part.round(index)) all.add(step);
    all.end_round();
  }
  return all;
}

}  // namespace tutti::v0
