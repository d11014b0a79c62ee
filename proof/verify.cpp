#include "verify.hpp"

#include <tutti/error.hpp>

#include "verify_flow.hpp"
#include "verify_form.hpp"
#include "verify_lockstep.hpp"
#include "verify_results.hpp"

namespace tutti::v0 {

using namespace verifying;

struct Verifier::Workspace {
  FormCheck form{};
  DataFlow flow{};
  RotationCheck rotation{};
};

Verifier::Verifier() : workspace_{std::make_unique<Workspace>()} {}
Verifier::~Verifier() = default;
Verifier::Verifier(Verifier&&) noexcept = default;
Verifier& Verifier::operator=(Verifier&&) noexcept = default;

namespace {

/// The proof keeps a value for every slot of every rank; rejects schedules that would fill the memory.
void check_extent(const Question& question) {
  constexpr std::uint64_t kMostSlots = std::uint64_t{1} << 28;
  std::uint64_t slots = 0;
  for (const Schedule& schedule : question.schedules) {
    slots += std::uint64_t{schedule.units()} * (1 + std::uint64_t{schedule.planes()});
    if (slots > kMostSlots)
      throw Error{ErrorCode::invalid_argument,
                  "schedules with more than " + std::to_string(kMostSlots) +
                      " slots on all ranks together are too large to verify; verify fewer ranks"};
  }
}

void check_claims(const Claims& claims, const Facts& facts, Report& report) {
  struct Claim {
    bool claimed;
    const Property& property;
    CheckKind kind;
    const char* name;
  };
  const Claim all[] = {
      {claims.ordered, facts.ordered, CheckKind::operand_order, "ordered"},
      {claims.rank_identical, facts.rank_identical, CheckKind::not_rank_identical,
       "rank_identical"},
      {claims.size_invariant, facts.size_invariant, CheckKind::not_size_invariant,
       "size_invariant"},
      {claims.rotational, facts.rotational, CheckKind::not_rotational, "rotational"},
      {claims.own_counts_only, facts.own_counts_only, CheckKind::foreign_counts, "own_counts_only"},
      {claims.lockstep, facts.lockstep, CheckKind::out_of_step, "lockstep"},
  };
  for (const Claim& claim : all)
    if (claim.claimed && !claim.property.holds)
      report.add(claim.kind,
                 claim.property.counterexample + ", though " + claim.name + " is claimed");
  if (claims.tree != 0 && facts.size_invariant.holds && claims.tree != facts.tree)
    report.add(CheckKind::not_same_tree, {},
               "the expression trees differ from those that are claimed");
}

}  // namespace

Verdict Verifier::verify(const Question& question) {
  check_extent(question);
  Verdict verdict{};
  Facts& facts = verdict.facts;
  Report report{question};
  // Each stage relies on what the one before it has established.
  workspace_->form.check(question, report, facts);
  if (report.empty()) workspace_->flow.run(question, report);
  if (report.empty()) check_results(question, workspace_->flow, report);
  if (report.empty()) {
    compare_trees(question, workspace_->flow, facts);
    facts.lockstep = check_lockstep(question.schedules);
    facts.rotational = workspace_->rotation.check(question);
    facts.own_counts_only = check_own_counts(question);
    check_claims(question.claims, facts, report);
  }
  verdict.findings = report.release_findings();
  return verdict;
}

Verdict verify_schedules(const Contract& contract, std::span<const Schedule> schedules) {
  return Verifier{}.verify({.contract = contract, .schedules = schedules});
}

}  // namespace tutti::v0
