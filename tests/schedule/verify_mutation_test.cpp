#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>

#include "collectives/verify.hpp"
#include "verify_brute_force.hpp"

namespace tutti {
namespace {

using samples::Rounds;
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

/// Random single changes of a correct set of schedules.
class Mutator {
 public:
  explicit Mutator(std::uint64_t seed) : random_{seed} {}

  /// The mutant; `what` receives a name for the change.
  Sample mutate(Sample sample, std::string& what);

 private:
  std::size_t below(std::size_t limit) { return random_() % limit; }
  Step changed(const Step& step, const Sample& sample, const Schedule& schedule, std::string& what);

  std::mt19937_64 random_;
};

Step Mutator::changed(const Step& step, const Sample& sample, const Schedule& schedule,
                      std::string& what) {
  Slots slots = step.slots();
  switch (below(4)) {
    case 0:
      if (!step.has_peer()) break;
      what = "peer";
      return step.with_peer(static_cast<Rank>(below(sample.schedules.size())));
    case 1:
      if (step.kind() != Step::Kind::recv_reduce) break;
      what = "side";
      return RecvReduce{step.peer(), slots, step.side() == Side::left ? Side::right : Side::left};
    case 2:
      what = "kind";
      if (step.kind() == Step::Kind::recv) return RecvReduce{step.peer(), slots};
      if (step.kind() == Step::Kind::recv_reduce) return Recv{step.peer(), slots};
      if (step.kind() == Step::Kind::send) slots.space = static_cast<Space>(below(3));
      return samples::with_slots(step, slots);
    default: break;
  }
  what = "unit";
  slots.first = static_cast<std::uint32_t>(below(schedule.units() + 1));
  return samples::with_slots(step, slots);
}

Sample Mutator::mutate(Sample sample, std::string& what) {
  std::size_t rank = below(sample.schedules.size());
  while (sample.schedules[rank].rounds() == 0) rank = below(sample.schedules.size());
  Schedule& schedule = sample.schedules[rank];
  Rounds rounds = samples::rounds_of(schedule);
  const std::size_t round = below(rounds.size());
  const std::size_t index = below(rounds[round].size());
  const auto at = rounds[round].begin() + static_cast<std::ptrdiff_t>(index);
  switch (below(5)) {
    case 0:
      what = "drop";
      rounds[round].erase(at);
      break;
    case 1:
      what = "duplicate";
      rounds[round].push_back(*at);
      break;
    case 2:
      what = "swap";
      std::swap(rounds[round], rounds[below(rounds.size())]);
      break;
    default: *at = changed(*at, sample, schedule, what);
  }
  schedule = samples::schedule_of(rounds, schedule);
  return sample;
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
}  // namespace tutti
