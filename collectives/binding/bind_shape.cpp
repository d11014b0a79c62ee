#include "bind_shape.hpp"

#include <algorithm>

#include <tutti/communicator.hpp>

#include "algorithms/hash.hpp"

#include "check_call.hpp"

namespace tutti::v0::detail {
namespace {

/// A text lists at most this many counts.
constexpr std::size_t kMostCounts = 16;

/// @return the name of the function that the user called.
std::string_view name_of_call(const Problem& problem) noexcept {
  return problem.name.empty() ? name_of(problem.contract.collective) : problem.name;
}

/// @return a hash of everything that must be equal on all ranks, except the call's number.
std::uint64_t fingerprint_of(const Problem& problem, const Binding& binding) noexcept {
  std::uint64_t hash = combine(0, static_cast<std::uint64_t>(problem.contract.collective));
  hash = combine(hash, static_cast<std::uint64_t>(problem.contract.root));
  hash = combine(hash, static_cast<std::uint64_t>(problem.type));
  hash = combine(hash, problem.element_bytes);
  if (problem.op != nullptr) hash = combine(hash, static_cast<std::uint64_t>(problem.op->kind()));
  const bool has_count = !problem.own_counts && !binding.accepts_shorter;
  hash = combine(hash, has_count ? problem.count : ~std::uint64_t{0});
  for (const std::size_t count : problem.counts) hash = combine(hash, count);
  hash = combine(hash, std::string_view{binding.algorithm});
  if (!problem.name.empty()) hash = combine(hash, problem.name);
  return combine(combine(hash, binding.segments), binding.route);
}

std::string words_of_counts(std::span<const std::size_t> counts) {
  std::string text = std::to_string(counts.size()) + " counts";
  std::uint64_t hash = 0;
  for (const std::size_t count : counts) {
    if (counts.size() <= kMostCounts) text += ' ' + std::to_string(count);
    hash = combine(hash, count);
  }
  return counts.size() <= kMostCounts ? text : text + " of hash " + hexadecimal(hash);
}

bool is_average_of_halves(const Operator& op, Datatype type) noexcept {
  return op.kind() == OperatorKind::average && is_half(type);
}

/// Whether every rank needs data of each other rank, directly or through others, so that none ends
/// the call before all have begun it.
bool awaits_all(const Problem& problem) {
  if (problem.own_counts || !problem.counts.empty() || problem.count == 0) return false;
  const Collective collective = problem.contract.collective;
  return !is_rooted(collective) && !is_prefix(collective);
}

}  // namespace

namespace {

Binding bind_lowered(const Problem& problem, const Candidate& chosen, Rank self, Layout layout,
                     LoweringOptions lowering, int in_flight) {
  const Operator& op = problem.op == nullptr ? sum : *problem.op;
  // The verifier has proved these traits on sample graphs and hierarchies, not on the user's.
  const bool is_seen = !chosen.choice.graph && !chosen.choice.hierarchy;
  lowering.element_bytes = problem.element_bytes;
  lowering.divides = op.kind() == OperatorKind::average;
  lowering.lockstep = is_seen && chosen.choice.algorithm->traits.lockstep;
  if (is_average_of_halves(op, problem.type))
    lowering.contributions = std::make_shared<const Contributions>(
        problem.contract.size, self, is_seen && chosen.choice.algorithm->traits.rotational,
        [&](Rank rank) {
          return chosen.choice.build(problem.contract.size, problem.contract.root, rank);
        });
  Schedule schedule = chosen.choice.build(problem.contract.size, problem.contract.root, self);
  // Parts of a block lie elsewhere if the ranks' counts differ.
  const bool is_whole = lowering.segments == 1 && schedule.units() == problem.contract.blocks();
  Binding binding{
      .programs = std::make_unique<Programs>(std::move(schedule), std::move(layout), lowering),
      .op = op.kind(),
      .type = problem.type,
      .element_bytes = problem.element_bytes,
      .segments = lowering.segments,
      .segment_bytes = lowering.segments == 1 ? 0 : chosen.segment_bytes,
      .algorithm = chosen.choice.text(),
      .route = chosen.route,
      .is_scaled = is_average_of_halves(op, problem.type),
      .name = name_of_call(problem),
      .has_own_counts = problem.own_counts,
      .may_leave_unmatched = problem.own_counts || is_rooted(problem.contract.collective),
      .accepts_shorter = problem.accepts_shorter && is_whole,
      .awaits_all = awaits_all(problem)};
  // The number of segments in flight determines the tags of segments, so ranks must agree on it.
  binding.fingerprint = combine(combine(fingerprint_of(problem, binding), chosen.digest),
                                static_cast<std::uint64_t>(in_flight));
  return binding;
}

}  // namespace

Binding bind_shape(const Problem& problem, const Candidate& chosen, const Transport& transport,
                   int in_flight) {
  const Capabilities& can = transport.capabilities();
  Layout layout = layout_of(problem, transport.self());
  // Ranks that do not know the lengths of the others' blocks could not agree on segments.
  const std::size_t segments =
      problem.own_counts ? 1
                         : segment_count(problem.bytes(), chosen.segment_bytes, layout.largest());
  // A transport may combine on another thread, for which a user's function may not be prepared.
  const bool is_user = problem.op != nullptr && problem.op->kind() == OperatorKind::user;
  return bind_lowered(problem, chosen, transport.self(), std::move(layout),
                      {.segments = segments,
                       .combines = can.combines && !is_user,
                       .visible = can.visible && problem.visible && !is_user},
                      in_flight);
}

Binding bind_for_streams(const Problem& problem, const Candidate& chosen, Rank self) {
  Binding binding = bind_lowered(problem, chosen, self, layout_of(problem, self),
                                 {.visible = problem.visible, .stores_results = false}, 1);
  binding.is_visible = problem.visible;
  binding.fingerprint = combine(binding.fingerprint, problem.visible ? 1U : 0U);
  return binding;
}

Binding bind_native(const Problem& problem, Rank self, const NativeCall& native,
                    std::string_view name) {
  Layout layout = layout_of(problem, self);
  Binding binding{.programs = std::make_unique<Programs>(Schedule{problem.contract.blocks()},
                                                         std::move(layout), LoweringOptions{}),
                  .op = (problem.op == nullptr ? sum : *problem.op).kind(),
                  .type = problem.type,
                  .element_bytes = problem.element_bytes,
                  .algorithm = std::string{name},
                  .name = name_of_call(problem),
                  .native = native};
  binding.fingerprint = fingerprint_of(problem, binding);
  return binding;
}

std::string words_of(const Problem& problem, const Candidate& chosen, const Binding& binding,
                     int in_flight) {
  std::string text{binding.name};
  if (!problem.name.empty()) text.append(", ").append(name_of(problem.contract.collective));
  if (problem.contract.collective != Collective::barrier) {
    text += problem.own_counts ? " of counts of each rank's own"
                               : " of " + std::to_string(problem.bytes()) + " bytes";
    text.append(" of ").append(name_of(problem.type));
    if (problem.type == Datatype::opaque)
      text += " elements of " + std::to_string(problem.element_bytes) + " bytes";
    if (!problem.counts.empty()) text += " in " + words_of_counts(problem.counts);
    if (problem.op != nullptr) text.append(", ").append(name_of(problem.op->kind()));
  }
  if (is_rooted(problem.contract.collective))
    text += ", root " + std::to_string(problem.contract.root);
  text += ", by " + binding.algorithm;
  if (chosen.route != 0) text += ", transport " + std::to_string(chosen.route);
  if (chosen.digest != 0) text += " of digest " + hexadecimal(chosen.digest);
  if (binding.segments > 1) text += " in " + std::to_string(binding.segments) + " segments";
  if (binding.segments > 1 || in_flight != CommunicatorOptions{}.segments_in_flight)
    text += ", " + std::to_string(in_flight) + " segments in flight";
  if (problem.determinism != Determinism::fast)
    text.append(", ").append(name_of(problem.determinism));
  return text;
}

}  // namespace tutti::v0::detail
