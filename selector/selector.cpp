#include "selector.hpp"

#include <algorithm>

#include <tutti/error.hpp>

namespace tutti::inline v0::detail {
namespace {

/// Why an algorithm does not keep what is asked of the bits; empty if it does.
std::string looseness_of(const Algorithm& row, const Problem& problem) {
  const auto [collective, size, root] = problem.contract;
  const Determinism level = problem.determinism;
  const std::string asked = ", and " + std::string{name_of(level)} + " is asked for";
  if (level >= Determinism::rank_identical && collective == Collective::all_reduce &&
      !holds(row.traits.rank_identical, size, root))
    return "it gives ranks different bits" + asked;
  if (level >= Determinism::size_invariant && !holds(row.traits.size_invariant, size, root))
    return "an element's bits depend on its place in the vector" + asked;
  if (level >= Determinism::layout_invariant && !has_default(row.parameter))
    return "its expression tree follows the network or groups that it is given" + asked;
  return {};
}

/// Whose expression tree a row has.
std::string_view tree_of(const Algorithm& row) noexcept {
  return row.traits.same_tree_as.empty() ? row.name : row.traits.same_tree_as;
}

/// So that no size runs another expression tree than the others: leaves those candidates that have
/// that of the first one in the catalog that can serve. Nothing here depends on a size.
void keep_one_tree(std::vector<Candidate>& candidates, Determinism level) {
  const auto first = std::ranges::find_if(
      candidates, [](const Candidate& candidate) { return candidate.refusal.empty(); });
  if (first == candidates.end()) return;
  const std::string_view tree = tree_of(*first->choice.algorithm);
  for (Candidate& candidate : candidates)
    if (candidate.refusal.empty() && tree_of(*candidate.choice.algorithm) != tree)
      candidate.refusal = "its expression tree is not that of " + std::string{tree} + ", which " +
                          std::string{name_of(level)} + " keeps to";
}

/// Why an algorithm cannot serve a problem; empty if it can.
std::string refusal_of(const Choice& choice, const Problem& problem) {
  const Algorithm& row = *choice.algorithm;
  const Contract& contract = problem.contract;
  try {
    require(choice, contract.size);
  } catch (const Error& error) {
    return error.what();
  }
  if (problem.own_counts && !row.traits.own_counts_only)
    return "it passes on blocks whose sizes not every rank knows";
  if (problem.needs_order() && !holds(row.traits.ordered, contract.size, contract.root))
    return row.traits.ordered == When::root_is_zero
               ? "the operator does not commute, and it keeps operand order only for root 0"
               : "the operator does not commute, and it does not keep operand order";
  return looseness_of(row, problem);
}

/// The parameters that are tried of a row: beside the default other radices, where no bits depend
/// on them. Fewer rounds of more messages each win where ranks wait for a core.
std::vector<int> numbers_of(const Algorithm& row, const Contract& contract) {
  const bool has_bits = contract.reduces() && contract.collective != Collective::barrier;
  std::vector<int> numbers{row.default_number};
  if (row.parameter == AlgorithmParameter::radix && !has_bits)
    for (const int radix : {2, 4, 8})
      if (radix != row.default_number && radix / 2 < contract.size) numbers.push_back(radix);
  return numbers;
}

std::string nanoseconds(Femtoseconds time) {
  const std::string thousandths = std::to_string(time / 1000 % 1000);
  return std::to_string(time / 1'000'000) + "." + std::string(3 - thousandths.size(), '0') +
         thousandths + " ns";
}
std::string microseconds(Femtoseconds time) {
  const std::int64_t tenths = time / 100'000'000;
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " us";
}

std::string text_of(const LinkCosts& costs) {
  return microseconds(costs.alpha) + " per message, " +
         (costs.round == 0 ? "" : microseconds(costs.round) + " per round, ") +
         nanoseconds(costs.beta) +
         (costs.half_duplex ? " per byte in and per byte out, " : " per byte moved, ") +
         nanoseconds(costs.gamma) + " per byte reduced, " +
         (costs.gamma_read == 0 ? "" : nanoseconds(costs.gamma_read) + " where it was read, ");
}

}  // namespace

std::size_t segment_count(std::size_t bytes, std::size_t segment_bytes,
                          std::size_t largest_block) noexcept {
  if (segment_bytes == 0 || bytes <= segment_bytes) return 1;
  const std::size_t wanted = bytes / segment_bytes + (bytes % segment_bytes != 0);
  return std::clamp<std::size_t>(wanted, 1, std::max<std::size_t>(largest_block, 1));
}

std::string Selection::explain() const {
  std::string text = chosen.choice.text() + (forced ? " (forced" : " (least predicted time");
  if (determinism > Determinism::rank_identical) text += ", " + std::string{name_of(determinism)};
  text += ")";
  text += "\n  at " + text_of(costs) + origin;
  for (const Candidate& candidate : candidates) {
    text += "\n  " + candidate.choice.text();
    if (candidate.segment_bytes > 0)
      text += ", segments of " + std::to_string(candidate.segment_bytes) + " bytes";
    text += ": " + (candidate.refusal.empty() ? microseconds(candidate.predicted)
                                              : "left out, " + candidate.refusal);
  }
  return text;
}

/// What was added must be proved, for this number of ranks and this root.
void Selector::prove(Candidate& candidate, const Contract& contract) {
  const Key key{candidate.choice.algorithm, candidate.choice.text(), contract.root};
  auto found = proofs_.find(key);
  if (found == proofs_.end())
    found = proofs_.emplace(key, detail::prove(candidate.choice, contract)).first;
  candidate.refusal = found->second.refusal;
  candidate.digest = found->second.digest;
}

const Profile& Selector::profile(const Choice& choice, const Contract& contract) {
  const Key key{choice.algorithm, choice.text(), contract.root};
  const auto found = profiles_.find(key);
  if (found != profiles_.end()) return found->second;
  return profiles_.emplace(key, profile_of(choice, contract.size, contract.root)).first->second;
}

/// What was measured may be another time what it is not now, and choose another expression tree.
bool Selector::charges_what_lasts(const Problem& problem) const noexcept {
  return tariff_.lasting && problem.determinism >= Determinism::run_to_run;
}

const LinkCosts& Selector::costs_of(const Problem& problem) const noexcept {
  if (charges_what_lasts(problem)) return *tariff_.lasting;
  return problem.visible && tariff_.visible ? *tariff_.visible : tariff_.costs;
}

Candidate Selector::judge(const Problem& problem, Choice choice) {
  Candidate candidate{.choice = std::move(choice)};
  if (is_added(candidate.choice)) prove(candidate, problem.contract);
  if (candidate.refusal.empty()) candidate.refusal = refusal_of(candidate.choice, problem);
  if (problem.segment == 0) candidate.segment_bytes = candidate.choice.algorithm->segment_bytes;
  else if (problem.segment != Options::kWhole) candidate.segment_bytes = problem.segment;
  if (problem.bytes() <= candidate.segment_bytes) candidate.segment_bytes = 0;
  if (candidate.refusal.empty())
    candidate.predicted = profile(candidate.choice, problem.contract)
                              .time(problem.bytes(), candidate.segment_bytes, costs_of(problem));
  return candidate;
}

Selection Selector::select(const Problem& problem) {
  Selection selection{.forced = !problem.algorithm.empty(),
                      .costs = costs_of(problem),
                      .origin = charges_what_lasts(problem)
                                    ? "assumed, so that every run charges it"
                                    : tariff_.origin,
                      .determinism = problem.determinism};
  const Collective collective = problem.contract.collective;
  if (selection.forced) {
    selection.chosen =
        judge(problem, on_hosts(parse_choice(*catalog_, collective, problem.algorithm), hosts_));
    if (!selection.chosen.refusal.empty())
      throw Error{ErrorCode::invalid_argument, std::string{name_of(collective)} + ": algorithm " +
                                                   selection.chosen.choice.text() +
                                                   " cannot serve: " + selection.chosen.refusal};
    selection.candidates.push_back(selection.chosen);
    return selection;
  }
  for (const Algorithm* const row : catalog_->rows()) {
    if (row->collective != collective) continue;
    for (const int number : numbers_of(*row, problem.contract))
      selection.candidates.push_back(judge(problem, {.algorithm = row, .number = number}));
  }
  if (problem.determinism >= Determinism::size_invariant)
    keep_one_tree(selection.candidates, problem.determinism);
  const auto worse = [](const Candidate& a, const Candidate& b) {
    if (a.refusal.empty() != b.refusal.empty()) return a.refusal.empty();
    return a.predicted < b.predicted;
  };
  // Among equals the first row of the catalog wins, on every rank.
  selection.chosen =
      *std::min_element(selection.candidates.begin(), selection.candidates.end(), worse);
  if (!selection.chosen.refusal.empty())
    throw Error{ErrorCode::invalid_argument, std::string{name_of(collective)} +
                                                 ": no algorithm can serve this call\n" +
                                                 selection.explain()};
  return selection;
}

}  // namespace tutti::inline v0::detail
