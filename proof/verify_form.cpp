#include "verify_form.hpp"

#include <algorithm>

#include "verify_slots.hpp"

namespace tutti::verifying {

bool FormCheck::check_shape(const Question& question, Report& report) {
  const Contract& contract = question.contract;
  const auto size = static_cast<std::size_t>(std::max(contract.size, 0));
  if (contract.size < 1 || question.schedules.size() != size) {
    report.add(CheckKind::shape, "there are " + std::to_string(question.schedules.size()) +
                                     " schedules; there must be one per rank");
    return false;
  }
  if (contract.root < 0 || contract.root >= contract.size) {
    report.add(CheckKind::shape, "the root is not a rank");
    return false;
  }
  const std::uint32_t units = question.schedules[0].units();
  if (units == 0 || units % contract.blocks() != 0)
    report.add(CheckKind::shape, std::to_string(units) + " units do not cut " +
                                     std::to_string(contract.blocks()) +
                                     " blocks into equally many parts");
  for (std::size_t rank = 0; rank < size; ++rank) {
    const Schedule& schedule = question.schedules[rank];
    const FindingPlace place{.rank = static_cast<Rank>(rank)};
    if (schedule.units() != units)
      report.add(CheckKind::shape, place,
                 "has " + std::to_string(schedule.units()) + " units, rank 0 has " +
                     std::to_string(units) + "; all must agree");
    std::size_t closed = 0;
    for (std::size_t round = 0; round < schedule.rounds(); ++round)
      closed += schedule.round(round).size();
    if (closed != schedule.steps().size())
      report.add(CheckKind::shape, place, "the last round was not closed; call end_round()");
  }
  return report.empty();
}

bool FormCheck::check_slots(const Position& at, const Slots& slots) {
  const std::uint64_t units = at.schedule.units();
  const std::uint64_t limit = slots.space == Space::scratch ? units * at.schedule.planes() : units;
  const std::uint64_t end = std::uint64_t{slots.first} + slots.count;
  if (end <= limit) {
    if (slots.count == 0 || slots.first / units == (end - 1) / units) return true;
    at.report.add(CheckKind::plane_crossed, at.place(slots.space, slots.first),
                  "the run of slots crosses into the next plane of scratch");
    return false;
  }
  const std::uint64_t offender = std::max<std::uint64_t>(slots.first, limit);
  at.report.add(CheckKind::bounds, at.place(slots.space, static_cast<std::int64_t>(offender)),
                "there are only " + std::to_string(limit) + " such slots");
  return false;
}

bool FormCheck::check_step(const Position& at, const Step& step) {
  const Contract& contract = at.question.contract;
  if (step.has_peer() &&
      (step.peer() < 0 || step.peer() >= contract.size || step.peer() == at.rank)) {
    at.report.add(CheckKind::peer, at.place(),
                  "the peer is " + std::to_string(step.peer()) +
                      "; it must be another rank below " + std::to_string(contract.size));
    return false;
  }
  const Slots slots = step.slots();
  if (!check_slots(at, slots)) return false;
  if (step.kind() != Step::Kind::send && slots.space == Space::in) {
    at.report.add(CheckKind::input_written, at.place(Space::in, slots.first),
                  "a step writes the input, which is read-only");
    return false;
  }
  if (step.kind() == Step::Kind::finish && !contract.reduces()) {
    at.report.add(CheckKind::finish_without_reduction, at.place(slots.space, slots.first),
                  "nothing is reduced here, so there is nothing to finish");
    return false;
  }
  if (!is_local(step.kind())) return true;
  const Slots from = step.from();
  if (!check_slots(at, from)) return false;
  const std::uint32_t units = at.schedule.units();
  if (slots.count == 0 || unit_of(from, 0, units) == unit_of(slots, 0, units)) return true;
  at.report.add(CheckKind::unit_changed, at.place(slots.space, slots.first),
                "a local step puts " + text_of(from.space, from.first) +
                    " here, which is shaped like another unit");
  return false;
}

void FormCheck::start_rank(const Schedule& schedule) {
  const std::size_t cells = std::size_t{schedule.units()} * (1 + std::size_t{schedule.planes()});
  if (marks_.size() < cells) {
    marks_.resize(cells);
    overwritten_.resize(cells, 0);
  }
  ++rank_epoch_;
  units_sent_ = 0;
  scratch_slots_ = 0;
}

bool FormCheck::check_writes(const Position& at, std::span<const Step> steps) {
  for (const Step& step : steps) {
    if (step.kind() == Step::Kind::send || step.kind() == Step::Kind::finish) continue;
    const bool fold = is_fold(step.kind());
    const Slots slots = step.slots();
    Mark* mark = marks_.data() + cell_of(slots, at.schedule.units());
    for (std::uint32_t i = 0; i < slots.count; ++i, ++mark) {
      if (mark->round == round_epoch_ && !(fold && mark->fold)) {
        at.report.add(CheckKind::race, at.place(slots.space, slots.first + i),
                      "two steps of the round write it and are not one fold");
        return false;
      }
      *mark = {round_epoch_, fold};
    }
  }
  return true;
}

bool FormCheck::check_source(const Position& at, const Slots& slots, bool local) {
  const std::size_t cell = cell_of(slots, at.schedule.units());
  for (std::uint32_t i = 0; i < slots.count; ++i) {
    if (local && marks_[cell + i].round == round_epoch_) {
      at.report.add(CheckKind::race, at.place(slots.space, slots.first + i),
                    "a local step reads it (in place, `in` and `out` are the same memory) in the "
                    "round in which it is written");
      return false;
    }
    if (slots.space == Space::in && overwritten_[cell + i] == rank_epoch_) {
      at.report.add(CheckKind::stale_input, at.place(slots.space, slots.first + i),
                    "read after the `out` slot, in place the same memory, was written");
      return false;
    }
  }
  return true;
}

bool FormCheck::check_reads(const Position& at, std::span<const Step> steps) {
  for (const Step& step : steps) {
    if (step.kind() == Step::Kind::send && !check_source(at, step.slots(), false)) return false;
    if (is_local(step.kind()) && !check_source(at, step.from(), true)) return false;
  }
  return true;
}

void FormCheck::remember_writes(std::span<const Step> steps, std::uint32_t units) {
  for (const Step& step : steps) {
    if (step.kind() == Step::Kind::send) continue;
    const Slots slots = step.slots();
    std::uint32_t* cell = overwritten_.data() + cell_of(slots, units);
    for (std::uint32_t i = 0; i < slots.count; ++i, ++cell) {
      if (*cell != rank_epoch_ && slots.space == Space::scratch) ++scratch_slots_;
      *cell = rank_epoch_;
    }
  }
}

void FormCheck::count_round(const Position& at, std::span<const Step> steps, Facts& facts) {
  for (const Step& step : steps) {
    if (!step.has_peer()) continue;
    const bool sends = step.kind() == Step::Kind::send;
    if (sends) units_sent_ += step.slots().count;
    std::uint32_t& seen = peers_[static_cast<std::size_t>(step.peer()) + (sends ? 0 : size_)];
    if (seen == round_epoch_) continue;  // All steps of a round towards one peer are one message.
    seen = round_epoch_;
    if (sends) {
      ++pair(at.rank, step.peer()).sent;
      ++facts.messages;
    } else {
      ++pair(step.peer(), at.rank).received;
    }
  }
}

void FormCheck::check_pairs(const Question& question, Report& report) const {
  for (Rank from = 0; from < question.contract.size; ++from) {
    for (Rank to = 0; to < question.contract.size; ++to) {
      const Pair& messages =
          pairs_[static_cast<std::size_t>(from) * size_ + static_cast<std::size_t>(to)];
      if (messages.sent == messages.received) continue;
      const bool lost = messages.sent > messages.received;
      report.add(lost ? CheckKind::unmatched_send : CheckKind::unmatched_receive,
                 "rank " + std::to_string(from) + " sends " + std::to_string(messages.sent) +
                     " messages to rank " + std::to_string(to) + ", which receives " +
                     std::to_string(messages.received) + " from it");
    }
  }
}

void FormCheck::check(const Question& question, Report& report, Facts& facts) {
  if (!check_shape(question, report)) return;
  size_ = question.schedules.size();
  const Collective collective = question.contract.collective;
  const std::size_t rows = is_between_pairs(collective) ? size_ : 1;
  facts.units = question.schedules[0].units() / static_cast<std::uint32_t>(rows);
  pairs_.assign(size_ * size_, {});
  if (peers_.size() < 2 * size_) peers_.resize(2 * size_, 0);
  for (std::size_t rank = 0; rank < size_; ++rank) {
    const Schedule& schedule = question.schedules[rank];
    start_rank(schedule);
    facts.rounds = std::max(facts.rounds, schedule.rounds());
    for (std::size_t round = 0; round < schedule.rounds(); ++round) {
      const Position at{question, schedule, report, static_cast<Rank>(rank),
                        static_cast<std::int64_t>(round)};
      const auto steps = schedule.round(round);
      ++round_epoch_;
      const bool sound = std::all_of(steps.begin(), steps.end(),
                                     [&](const Step& step) { return check_step(at, step); });
      if (!sound || !check_writes(at, steps) || !check_reads(at, steps)) break;
      count_round(at, steps, facts);
      remember_writes(steps, schedule.units());
    }
    facts.units_sent = std::max(facts.units_sent, units_sent_);
    facts.scratch_slots = std::max(facts.scratch_slots, scratch_slots_);
  }
  if (report.empty()) check_pairs(question, report);
}

}  // namespace tutti::verifying
