#include "verify_traits.hpp"

#include <tutti/error.hpp>

namespace tutti::verifying {
namespace {

/// Whether one condition covers more shapes than another; some conditions cannot be compared.
bool wider(When a, When b) {
  if (a == b || a == When::never || b == When::always) return false;
  return a == When::always || b == When::never;
}

void judge(const char* name, When claimed, const CaseRecord& record,
           std::vector<std::string>& complaints) {
  for (const When when : {When::always, When::power_of_two, When::root_is_zero}) {
    if (!wider(when, claimed) || !record.holds(when)) continue;
    complaints.push_back(std::string{name} + " is claimed as " + std::string{name_of(claimed)} +
                         ", but holds as " + std::string{name_of(when)});
    return;
  }
}

void judge(const char* name, bool claimed, const CaseRecord& record,
           std::vector<std::string>& complaints) {
  if (!claimed && record.holds(When::always))
    complaints.push_back(std::string{name} + " is not claimed, but holds for every shape");
}

void judge_sizes(Sizes claimed, const RowRecord& record, int min_size,
                 std::vector<std::string>& complaints) {
  for (const Sizes wide : {Sizes::any, Sizes::even}) {
    if (wide >= claimed) return;  // Enumerators are ordered from wide to narrow.
    bool all = true;
    for (std::size_t index = 0; index < record.serves.size(); ++index)
      if (admits(wide, min_size + static_cast<int>(index))) all = all && record.serves[index];
    if (!all) continue;
    complaints.push_back("sizes are claimed as " + std::string{name_of(claimed)} +
                         ", but the row serves " + std::string{name_of(wide)});
    return;
  }
}

}  // namespace

void CaseRecord::note(const Property& property, int size, Rank root) {
  if (size > 2 && admits(Sizes::power_of_two, size)) saw_power_of_two_ = true;
  if (property.holds) return;
  always_ = false;
  if (admits(Sizes::power_of_two, size)) power_of_two_ = false;
  if (root == 0) root_is_zero_ = false;
}

bool CaseRecord::holds(When when) const {
  switch (when) {
    case When::never: return true;
    case When::root_is_zero: return root_is_zero_;
    case When::power_of_two: return power_of_two_ && saw_power_of_two_;
    case When::always: return always_;
  }
  return false;
}

When CaseRecord::strongest() const {
  for (const When when : {When::always, When::root_is_zero, When::power_of_two})
    if (holds(when)) return when;
  return When::never;
}

void RowRecord::note(const Facts& facts, int size, Rank root) {
  ordered.note(facts.ordered, size, root);
  rank_identical.note(facts.rank_identical, size, root);
  size_invariant.note(facts.size_invariant, size, root);
  rotational.note(facts.rotational, size, root);
  own_counts_only.note(facts.own_counts_only, size, root);
  lockstep.note(facts.lockstep, size, root);
}

std::vector<std::string> too_little_claimed(const Algorithm& row, const RowRecord& record,
                                            int min_size) {
  std::vector<std::string> complaints{};
  const Traits& traits = row.traits;
  if (judges_numbers(row.collective)) {
    judge("ordered", traits.ordered, record.ordered, complaints);
    judge("rank_identical", traits.rank_identical, record.rank_identical, complaints);
    judge("size_invariant", traits.size_invariant, record.size_invariant, complaints);
  }
  judge("rotational", traits.rotational, record.rotational, complaints);
  if (judges_counts(row.collective))
    judge("own_counts_only", traits.own_counts_only, record.own_counts_only, complaints);
  judge("lockstep", traits.lockstep, record.lockstep, complaints);
  judge_sizes(traits.sizes, record, min_size, complaints);
  return complaints;
}

ProvedTraits proved_traits(const RowRecord& record) {
  return {.ordered = record.ordered.strongest(),
          .rank_identical = record.rank_identical.strongest(),
          .size_invariant = record.size_invariant.strongest(),
          .rotational = record.rotational.holds(When::always),
          .own_counts_only = record.own_counts_only.holds(When::always),
          .lockstep = record.lockstep.holds(When::always)};
}

namespace {

constexpr std::uint64_t kNoTree = 1;

/// The row whose expression tree another one claims to have.
const Algorithm& representative_of(const Algorithm& row) {
  for (const Algorithm& other : catalog())
    if (other.collective == row.collective && other.name == row.traits.same_tree_as &&
        other.traits.same_tree_as.empty() && has_default(other.parameter))
      return other;
  throw Error{ErrorCode::invalid_argument,
              std::string{row.name} + " claims the expression tree of \"" +
                  std::string{row.traits.same_tree_as} + "\", which is none of tutti's " +
                  std::string{name_of(row.collective)} + " algorithms without such a claim"};
}

/// Facts::tree of a row with its default parameter; kNoTree if there is none.
std::uint64_t tree_of(const Algorithm& row, int size, Rank root, Verifier& verifier) {
  if (!admits(row.traits.sizes, size) || !holds(row.traits.size_invariant, size, root))
    return kNoTree;
  const Choice choice{.algorithm = &row, .number = row.default_number};
  std::vector<Schedule> schedules;
  for (Rank rank = 0; rank < size; ++rank) schedules.push_back(choice.build(size, root, rank));
  return verifier.verify({.contract = {row.collective, size, root}, .schedules = schedules})
      .facts.tree;
}

bool is_default(const Choice& choice) {
  return choice.number == choice.algorithm->default_number && choice.skips.empty() &&
         !choice.graph && !choice.hierarchy;
}

}  // namespace

Claims claims_of(const Choice& choice, int size, Rank root, Verifier& verifier) {
  const Algorithm& row = *choice.algorithm;
  Claims claims{.ordered = holds(row.traits.ordered, size, root),
                .rank_identical = holds(row.traits.rank_identical, size, root),
                .size_invariant = holds(row.traits.size_invariant, size, root),
                .rotational = row.traits.rotational,
                .own_counts_only = row.traits.own_counts_only,
                .lockstep = row.traits.lockstep};
  if (claims.size_invariant && !row.traits.same_tree_as.empty() && is_default(choice))
    claims.tree = tree_of(representative_of(row), size, root, verifier);
  return claims;
}

}  // namespace tutti::verifying
