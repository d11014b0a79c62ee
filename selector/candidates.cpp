#include "candidates.hpp"

#include <algorithm>
#include <string>
#include <string_view>

#include <tutti/error.hpp>

namespace tutti::v0::detail {
namespace {

/// The reason why an algorithm breaks the required determinism; empty if it keeps it.
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

/// The name that stands for a row's expression tree.
std::string_view tree_of(const Algorithm& row) noexcept {
  return row.traits.same_tree_as.empty() ? row.name : row.traits.same_tree_as;
}

}  // namespace

void keep_one_tree(std::vector<Candidate>& candidates, Determinism level) {
  const auto first = std::ranges::find_if(
      candidates, [](const Candidate& candidate) { return candidate.refusal.empty(); });
  if (first == candidates.end()) return;
  const std::string_view tree = tree_of(*first->choice.algorithm);
  for (Candidate& candidate : candidates)
    if (candidate.refusal.empty() && tree_of(*candidate.choice.algorithm) != tree)
      candidate.refusal = "its expression tree is not that of " + std::string{tree} + ", which " +
                          std::string{name_of(level)} + " requires";
}

std::string refusal_of(const Choice& choice, const Problem& problem) {
  const Algorithm& row = *choice.algorithm;
  const Contract& contract = problem.contract;
  try {
    require(choice, contract.size);
  } catch (const Error& error) {
    return error.what();
  }
  if (problem.own_counts && !row.traits.own_counts_only)
    return "it forwards blocks whose sizes not every rank knows";
  if (problem.needs_order() && !holds(row.traits.ordered, contract.size, contract.root))
    return row.traits.ordered == When::root_is_zero
               ? "the operator does not commute, and it keeps operand order only for root 0"
               : "the operator does not commute, and it does not keep operand order";
  return looseness_of(row, problem);
}

}  // namespace tutti::v0::detail
