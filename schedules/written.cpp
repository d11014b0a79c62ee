#include "schedules/written.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <span>

#include <tutti/error.hpp>
#include <tutti/spi/contract.hpp>

#include "proof/verify.hpp"

namespace tutti::v0::written {
namespace {

constexpr std::int64_t kMostRanks = 4096;
/// The most slots on all ranks together. A proof needs some tens of bytes for each.
constexpr std::int64_t kMostSlots = std::int64_t{1} << 22;

void need(std::string_view what, std::int64_t is, std::int64_t least, std::int64_t most) {
  if (is < least || is > most)
    reject_written(fmt::format("{} {} is not in {} .. {}", what, is, least, most));
}

std::size_t index_in(std::span<const std::string_view> words, std::string_view word,
                     std::string_view what) {
  const auto found = std::ranges::find(words, word);
  if (found != words.end()) return static_cast<std::size_t>(found - words.begin());
  reject_written(fmt::format("'{}' is not a {}", word.substr(0, 40), what));
}

Slots slots_of(std::string_view space, std::int64_t first, std::int64_t count,
               const WrittenShape& shape) {
  constexpr std::array<std::string_view, 3> kSpaces{"in", "out", "scratch"};
  const auto where =
      static_cast<Space>(index_in(kSpaces, space, "space; expected in, out, scratch"));
  const std::int64_t most = shape.units * (where == Space::scratch ? shape.planes : 1);
  need("first slot", first, 0, std::max<std::int64_t>(most - 1, 0));
  need("count of slots", count, 1, most - first);
  return {where, static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(count)};
}

bool touches(const Slots& slots, const Finding& finding) {
  return slots.space == finding.space && slots.first <= finding.slot &&
         finding.slot < std::int64_t{slots.first} + slots.count;
}

/// The place in the file of a finding's step; empty if it is not known.
std::string place_of(const Finding& finding, const WrittenSchedules& written) {
  const auto rank = static_cast<std::size_t>(finding.rank);
  if (finding.rank < 0 || rank >= written.places.size() || finding.round < 0) return {};
  const Schedule& schedule = written.schedules[rank];
  const auto round = static_cast<std::size_t>(finding.round);
  if (round >= schedule.rounds()) return {};
  const std::span<const Step> steps = schedule.round(round);
  const auto first = static_cast<std::size_t>(steps.data() - schedule.steps().data());
  for (std::size_t i = 0; i < steps.size() && first + i < written.places[rank].size(); ++i) {
    const bool has_source =
        steps[i].kind() == Step::Kind::copy || steps[i].kind() == Step::Kind::reduce;
    if (touches(steps[i].slots(), finding) || (has_source && touches(steps[i].from(), finding)))
      return " (" + text_of_place(rank, written.places[rank][first + i]) + ")";
  }
  return {};
}

}  // namespace

void reject_written(const std::string& message) {
  throw Error{ErrorCode::invalid_argument, message};
}

void check(const WrittenShape& shape) {
  need("size", shape.size, 1, kMostRanks);
  need("root", shape.root, 0, shape.size - 1);
  need("units", shape.units, 1, kMostSlots);
  need("planes", shape.planes, 0, kMostSlots / shape.units);
  if (shape.units * (shape.planes + 1) > kMostSlots / shape.size)
    reject_written(fmt::format("{} ranks with {} units and {} planes of scratch are too many slots",
                               shape.size, shape.units, shape.planes));
}

Step step_of(const WrittenStep& step, const WrittenShape& shape) {
  constexpr std::array<std::string_view, 6> kKinds{"send",   "recv", "recv_reduce",
                                                   "reduce", "copy", "finish"};
  constexpr std::array<std::string_view, 2> kSides{"left", "right"};
  const auto kind = static_cast<Step::Kind>(index_in(kKinds, step.kind, "step"));
  const Slots slots = slots_of(step.space, step.first, step.count, shape);
  const auto side = static_cast<Side>(index_in(kSides, step.side, "side; expected left, right"));
  const auto peer = static_cast<Rank>(step.peer);
  if (kind <= Step::Kind::recv_reduce) need("peer", step.peer, 0, shape.size - 1);
  switch (kind) {
    case Step::Kind::send: return Send{peer, slots};
    case Step::Kind::recv: return Recv{peer, slots};
    case Step::Kind::recv_reduce: return RecvReduce{peer, slots, side};
    case Step::Kind::finish: return Finish{slots};
    case Step::Kind::reduce:
    case Step::Kind::copy: break;
  }
  const Slots from = slots_of(step.from_space, step.from_first, step.count, shape);
  if (kind == Step::Kind::copy) return Copy{from, slots};
  return Reduce{from, slots, side};
}

bool is_own_copy(const Step& step) noexcept {
  return step.kind() == Step::Kind::copy && step.from().space != Space::scratch &&
         step.slots().space == Space::out && step.from().first == step.slots().first;
}

std::string text_of_place(std::size_t gpu, const WrittenPlace& place) {
  return fmt::format("gpu {}, tb {}, step {}", gpu, place.block, place.step);
}

Collective written_collective(std::string_view name) {
  for (int index = 0; index < kCollectives; ++index)
    if (name_of(static_cast<Collective>(index)) == name) return static_cast<Collective>(index);
  reject_written(fmt::format("'{}' is not a collective", name.substr(0, 40)));
}

Traits proved_traits(const WrittenSchedules& written) {
  const Contract contract{written.collective, static_cast<int>(written.schedules.size()),
                          written.root};
  const tutti::Verdict verdict = verify_schedules(contract, written.schedules);
  if (!verdict.proved()) {
    const Finding& finding = verdict.findings.front();
    reject_written(finding.message + place_of(finding, written));
  }
  const auto when = [](const Property& property) {
    return property.holds ? When::always : When::never;
  };
  const Facts& facts = verdict.facts;
  return {.ordered = when(facts.ordered),
          .rank_identical = when(facts.rank_identical),
          .size_invariant = when(facts.size_invariant),
          .rotational = facts.rotational.holds,
          .own_counts_only = facts.own_counts_only.holds,
          .lockstep = facts.lockstep.holds};
}

}  // namespace tutti::v0::written
