#include <gtest/gtest.h>

#include <map>
#include <string>

#include "proof/verify.hpp"
#include "verify_brute_force.hpp"
#include "verify_mutator.hpp"

namespace tutti::v0 {
namespace {

using samples::Mutator;
using samples::Sample;

struct Subject {
  std::string name;
  Sample sample;
  bool ordered = false;
};

std::vector<Subject> subjects() {
  return {{"ring all_reduce", samples::ring_all_reduce(4)},
          {"recursive doubling", samples::recursive_doubling_all_reduce(4), true},
          {"shouting all_reduce", samples::shouting_all_reduce(3)},
          {"chain reduce", samples::chain_reduce(4), true},
          {"binomial broadcast", samples::binomial_broadcast(6)},
          {"linear scatter", samples::linear_scatter(4, 1)},
          {"relayed scatter", samples::relayed_scatter(4)},
          {"ring all_gather", samples::ring_all_gather(4)},
          {"pairwise all_to_all", samples::pairwise_all_to_all(3)},
          {"dissemination barrier", samples::dissemination_barrier(5)}};
}

// Sound schedules that the verifier refuses nevertheless, because the contract of the steps forbids
// them: a result may be right by chance of timing, or wrong only for unequal blocks.
bool is_strict(CheckKind kind) {
  return kind == CheckKind::race || kind == CheckKind::stale_input ||
         kind == CheckKind::finish_without_reduction;
}

class VerifyMutation : public ::testing::TestWithParam<std::size_t> {};

TEST_P(VerifyMutation, WhatTheVerifierAcceptsRunsRight) {
  const Subject subject = subjects()[GetParam()];
  ASSERT_TRUE(samples::runs_right(subject.sample, subject.ordered));
  constexpr int kMutants = 600;
  std::map<std::string, int> caught{};
  int equivalent = 0;
  for (int seed = 0; seed < kMutants; ++seed) {
    std::string what{};
    const Sample mutant = Mutator{static_cast<std::uint64_t>(seed)}.mutate(subject.sample, what);
    const Verdict verdict = Verifier{}.verify({.contract = mutant.contract,
                                               .schedules = mutant.schedules,
                                               .claims = {.ordered = subject.ordered}});
    const bool right = samples::runs_right(mutant, subject.ordered);
    if (verdict.proved()) {
      ++equivalent;
      EXPECT_TRUE(right) << subject.name << ", seed " << seed << ": a changed " << what
                         << " was not noticed";
    } else {
      ++caught[what];
      const Finding& finding = verdict.findings.front();
      EXPECT_TRUE(!right || is_strict(finding.kind))
          << subject.name << ", seed " << seed << ", " << what
          << ": false alarm: " << name_of(finding.kind) << ": " << finding.message;
    }
  }
  // Most single changes are mistakes.
  EXPECT_LT(equivalent, kMutants * 2 / 3);
  for (const char* what : {"drop", "duplicate", "unit"}) EXPECT_GT(caught[what], 0) << what;
}

INSTANTIATE_TEST_SUITE_P(Subjects, VerifyMutation,
                         ::testing::Range(std::size_t{0}, std::size_t{10}));

}  // namespace
}  // namespace tutti::v0
