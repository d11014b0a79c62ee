#include "verify_results.hpp"

#include "algorithms/hash.hpp"
#include "verify_slots.hpp"

namespace tutti::verifying {
namespace {

FindingPlace place_of(Rank rank, std::uint32_t unit) {
  return {.rank = rank, .slot = unit};
}

void check_reduced(const Question& question, const DataFlow& flow, Report& report,
                   const FindingPlace& place) {
  const Contract& contract = question.contract;
  const Value value = flow.result(place.rank, static_cast<std::uint32_t>(place.slot));
  if (!value.present()) {
    report.add(CheckKind::wrong_result, place, "a result was never written");
  } else if (const int wanted = contract.contributors(place.rank);
             !flow.values().complete(value, wanted)) {
    Rank missing = 0;
    while (missing < wanted && flow.values().contains(value, missing)) ++missing;
    Rank extra = wanted;
    while (extra < contract.size && !flow.values().contains(value, extra)) ++extra;
    if (missing < wanted)
      report.add(CheckKind::missing_contribution, place,
                 "the result lacks the contribution of rank " + std::to_string(missing));
    else
      report.add(
          CheckKind::wrong_result, place,
          "the result has a contribution of rank " + std::to_string(extra) + ", a later rank");
  } else if (!value.finished() && !contract.idempotent() && contract.size > 1) {
    report.add(CheckKind::not_finished, place, "the result was never finished");
  }
}

void check_moved(const DataFlow& flow, Report& report, const FindingPlace& place, Rank source) {
  const Value value = flow.result(place.rank, static_cast<std::uint32_t>(place.slot));
  const Value wanted = flow.values().leaf(source);
  if (value.present() && value.tree() == wanted.tree()) return;
  report.add(CheckKind::wrong_result, place,
             value.present()
                 ? "the result is not the data of rank " + std::to_string(source)
                 : "the result, data of rank " + std::to_string(source) + ", was never written");
}

/// Calls a function with every rank, block and unit of the results.
template <class Visit>
void for_each_result(const Question& question, const Visit& visit) {
  const Contract& contract = question.contract;
  const std::uint32_t blocks = contract.blocks();
  const std::uint32_t parts = question.schedules[0].units() / blocks;
  for (Rank rank = 0; rank < contract.size; ++rank)
    for (std::uint32_t block = 0; block < blocks; ++block) {
      if (!contract.wants_output(rank, block)) continue;
      for (std::uint32_t part = 0; part < parts; ++part) visit(rank, block, block * parts + part);
    }
}

void refute(Property& property, const FindingPlace& place, const char* why) {
  if (!property.holds) return;
  property = {false, text_of(place) + ": " + why};
}

}  // namespace

void check_results(const Question& question, const DataFlow& flow, Report& report) {
  for_each_result(question, [&](Rank rank, std::uint32_t block, std::uint32_t unit) {
    if (question.contract.reduces()) {
      check_reduced(question, flow, report, place_of(rank, unit));
    } else {
      check_moved(flow, report, place_of(rank, unit), question.contract.source(block));
    }
  });
}

void compare_trees(const Question& question, const DataFlow& flow, Facts& facts) {
  if (!is_reduction(question.contract.collective)) return;  // Nothing is combined: all hold.
  // If every rank wants a different result, only those of one rank can be compared.
  const bool differs = is_prefix(question.contract.collective);
  constexpr std::uint32_t kNone = 0xFFFFFFFF;
  std::vector<std::uint32_t> of_unit(facts.units, kNone);
  std::uint32_t of_all = kNone;
  std::uint32_t of_rank = kNone;
  Rank current = -1;
  for_each_result(question, [&](Rank rank, std::uint32_t, std::uint32_t unit) {
    const Value value = flow.result(rank, unit);
    if (rank != current) {
      of_rank = value.tree();
      facts.tree = detail::combine(facts.tree, flow.values().digest(value));
    }
    current = rank;
    const bool first = of_unit[unit] == kNone;
    if (first) of_unit[unit] = value.tree();
    if (of_all == kNone) of_all = value.tree();
    const FindingPlace place = place_of(rank, unit);
    if (!value.ordered()) refute(facts.ordered, place, "operands are not in the order of ranks");
    if (value.tree() != of_unit[unit] && !differs)
      refute(facts.rank_identical, place,
             "the tree, or its rounding, differs from another rank's of the same unit");
    if (value.tree() != of_rank || (first && !differs && value.tree() != of_all))
      refute(facts.size_invariant, place, "the tree, or its rounding, differs from another unit's");
  });
  if (!facts.ordered.holds && !flow.first_disorder().empty())
    facts.ordered.counterexample += " (first at " + flow.first_disorder() + ")";
}

Property check_own_counts(const Question& question) {
  const Contract& contract = question.contract;
  const std::uint32_t units = question.schedules[0].units();
  const std::uint32_t parts = units / contract.blocks();
  for (Rank rank = 0; rank < contract.size; ++rank) {
    for (const Step& step : question.schedules[static_cast<std::size_t>(rank)].steps()) {
      const Slots slots = step.slots();  // The source of a local step has the same units.
      for (std::uint32_t i = 0; i < slots.count; ++i) {
        const std::uint32_t block = unit_of(slots, i, units) / parts;
        if (contract.has_input(rank, block) || contract.wants_output(rank, block)) continue;
        const FindingPlace place{
            .rank = rank, .slot = std::int64_t{slots.first} + i, .space = slots.space};
        return {false, text_of(place) + ": a block that is neither input nor output of the rank"};
      }
    }
  }
  return {};
}

}  // namespace tutti::verifying
