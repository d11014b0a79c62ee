#include <gtest/gtest.h>

#include "proof/verify.hpp"
#include "verify_samples.hpp"

namespace tutti::v0 {
namespace {

using samples::Sample;

Verdict verify(const Sample& sample) {
  return verify_schedules(sample.contract, sample.schedules);
}

void expect_proved(const Verdict& verdict) {
  EXPECT_TRUE(verdict.proved());
  for (const Finding& finding : verdict.findings)
    ADD_FAILURE() << name_of(finding.kind) << ": " << finding.message;
}

TEST(VerifyMessages, NameRankRoundAndSlot) {
  // Rank 1 of a broadcast from rank 0 sends the first slot without having received it.
  const std::vector<Schedule> schedules{Schedule{1}.round({Recv{1, {}}}),
                                        Schedule{1}.round({Send{0, {}}})};
  const Verdict verdict = verify_schedules({Collective::broadcast, 2, 0}, schedules);
  ASSERT_FALSE(verdict.findings.empty());
  EXPECT_EQ(verdict.findings[0].kind, CheckKind::unwritten_read);
  EXPECT_NE(verdict.findings[0].message.find("rank 1, round 0, out[0]"), std::string::npos)
      << verdict.findings[0].message;
}

TEST(VerifyCorrect, RingAllReduce) {
  for (int n = 2; n <= 9; ++n) {
    const Verdict verdict = verify(samples::ring_all_reduce(n));
    expect_proved(verdict);
    const auto ranks = static_cast<std::size_t>(n);
    EXPECT_EQ(verdict.facts.rounds, 2 * (ranks - 1) + 1);
    EXPECT_EQ(verdict.facts.messages, ranks * 2 * (ranks - 1));
    EXPECT_EQ(verdict.facts.units_sent, 2 * (ranks - 1));
    EXPECT_EQ(verdict.facts.units, ranks);
    EXPECT_EQ(verdict.facts.scratch_slots, 0U);
    EXPECT_TRUE(verdict.facts.rank_identical.holds);
    EXPECT_TRUE(verdict.facts.rotational.holds);
    EXPECT_FALSE(verdict.facts.ordered.holds);
    EXPECT_EQ(verdict.facts.size_invariant.holds, n == 2);
  }
}

TEST(VerifyCorrect, RecursiveDoublingAllReduce) {
  for (const int n : {1, 2, 4, 8, 16, 128}) {
    const Verdict verdict = verify(samples::recursive_doubling_all_reduce(n));
    expect_proved(verdict);
    EXPECT_TRUE(verdict.facts.ordered.holds) << verdict.facts.ordered.counterexample;
    EXPECT_TRUE(verdict.facts.rank_identical.holds);
    EXPECT_TRUE(verdict.facts.size_invariant.holds);
    EXPECT_EQ(verdict.facts.rotational.holds, n <= 2);
  }
}

TEST(VerifyCorrect, OneRankNeedsNoSteps) {
  for (int c = 0; c < kCollectives; ++c) {
    const Contract contract{static_cast<Collective>(c), 1};
    const std::vector<Schedule> empty{Schedule{1}};
    expect_proved(verify_schedules(contract, empty));
  }
}

TEST(VerifyCorrect, MoveOnlyCollectives) {
  for (int n = 1; n <= 9; ++n) {
    expect_proved(verify(samples::ring_all_gather(n)));
    expect_proved(verify(samples::binomial_broadcast(n)));
    const Verdict exchange = verify(samples::pairwise_all_to_all(n));
    expect_proved(exchange);
    EXPECT_TRUE(exchange.facts.rotational.holds) << exchange.facts.rotational.counterexample;
    EXPECT_TRUE(exchange.facts.own_counts_only.holds);
    for (Rank root = 0; root < n; ++root) {
      const Verdict scatter = verify(samples::linear_scatter(n, root));
      expect_proved(scatter);
      EXPECT_TRUE(scatter.facts.own_counts_only.holds);
    }
  }
  for (int n = 3; n <= 9; ++n) {
    const Verdict relayed = verify(samples::relayed_scatter(n));
    expect_proved(relayed);
    EXPECT_FALSE(relayed.facts.own_counts_only.holds);
    EXPECT_EQ(relayed.facts.scratch_slots, static_cast<std::size_t>(n) - 2);
  }
}

// A pair turns as two ranks, not as their sum.
TEST(VerifyCorrect, BlocksOfPairsRotateInBothRanks) {
  constexpr std::uint32_t n = 4;
  // Every rank keeps copies of a block it sends and of one it receives, and copies one of the two
  // once more: rank 1 perhaps not the one that the others do.
  for (const bool same : {true, false}) {
    samples::Sample sample = samples::pairwise_all_to_all(n);
    for (std::uint32_t rank = 0; rank < n; ++rank) {
      const std::uint32_t right = (rank + 1) % n;
      const std::uint32_t sent = rank * n + right;
      const std::uint32_t received = right * n + rank;
      const std::uint32_t again = rank == 1 && !same ? received : sent;
      const Schedule copies =
          Schedule{n * n, 2}
              .round({Copy{{Space::in, sent}, {Space::scratch, sent}},
                      Copy{{Space::out, received}, {Space::scratch, received}}})
              .round({Copy{{Space::scratch, again}, {Space::scratch, n * n + again}}});
      sample.schedules[rank] = then(sample.schedules[rank], copies);
    }
    const Verdict verdict = verify(sample);
    expect_proved(verdict);
    EXPECT_EQ(verdict.facts.rotational.holds, same);
  }
}

TEST(VerifyCorrect, ChainReduceAndBarrier) {
  for (int n = 1; n <= 9; ++n) {
    const Verdict chain = verify(samples::chain_reduce(n));
    expect_proved(chain);
    EXPECT_TRUE(chain.facts.ordered.holds);
    expect_proved(verify(samples::dissemination_barrier(n)));
  }
}

TEST(VerifyCorrect, ShoutingGivesEachRankATreeOfItsOwn) {
  const Verdict verdict = verify(samples::shouting_all_reduce(4));
  expect_proved(verdict);
  EXPECT_FALSE(verdict.facts.rank_identical.holds);
  EXPECT_TRUE(verdict.facts.size_invariant.holds);
}

// A round's left operands come first, then the own value, then its right operands.
TEST(VerifyCorrect, AFoldKeepsItsOrder) {
  Sample sample{{Collective::reduce, 5, 2}, {}};
  for (Rank rank = 0; rank < 5; ++rank)
    sample.schedules.push_back(Schedule{1}.round({Send{2, {}}}));
  sample.schedules[2] = Schedule{1}
                            .round({RecvReduce{3, {}, Side::right}, RecvReduce{0, {}, Side::left},
                                    RecvReduce{4, {}, Side::right}, RecvReduce{1, {}, Side::left}})
                            .round({Finish{{}}});
  const Verdict verdict = verify(sample);
  expect_proved(verdict);
  EXPECT_TRUE(verdict.facts.ordered.holds) << verdict.facts.ordered.counterexample;
}

// A fold of three operands is rounded once, two folds of two are rounded twice: other bits.
TEST(VerifyCorrect, RoundingIsPartOfTheTree) {
  Sample sample{{Collective::all_reduce, 3}, {}};
  for (Rank rank = 0; rank < 3; ++rank) {
    Schedule schedule{1, 2};
    const Rank a = rank == 0 ? 1 : 0;
    const Rank b = rank == 2 ? 1 : 2;
    schedule.round({Send{a, {Space::in, 0, 1}}, Send{b, {Space::in, 0, 1}},
                    Recv{a, {Space::scratch, 0, 1}}, Recv{b, {Space::scratch, 1, 1}}});
    const auto side = [rank](Rank peer) { return peer < rank ? Side::left : Side::right; };
    const Step with_a = Reduce{{Space::scratch, 0, 1}, {}, side(a)};
    const Step with_b = Reduce{{Space::scratch, 1, 1}, {}, side(b)};
    if (rank == 0) {
      schedule.round({with_a}).round({with_b});
    } else {
      schedule.round({with_a, with_b});
    }
    sample.schedules.push_back(schedule.round({Finish{{}}}));
  }
  const Verdict verdict = verify(sample);
  expect_proved(verdict);
  EXPECT_TRUE(verdict.facts.ordered.holds);
  EXPECT_FALSE(verdict.facts.rank_identical.holds);
}

// An average is divided before the fold is rounded, or after: other bits in a narrow datatype.
TEST(VerifyCorrect, WhereAnAverageIsFinishedIsPartOfTheTree) {
  const auto schedule = [](Rank peer, std::uint32_t units) {
    const Side side = peer == 0 ? Side::left : Side::right;
    const Slots all{Space::out, 0, units};
    return Schedule{units}.round({Send{peer, all}, RecvReduce{peer, all, side}});
  };
  const auto facts = [](const Schedule& first, const Schedule& second) {
    const Verdict verdict = verify({{Collective::all_reduce, 2}, {first, second}});
    expect_proved(verdict);
    return verdict.facts;
  };
  const Schedule early = schedule(1, 1).finish({});
  const Schedule also_early = schedule(0, 1).finish({});
  const Schedule late = schedule(0, 1).round({Finish{{}}});
  EXPECT_TRUE(facts(early, also_early).rank_identical.holds);
  EXPECT_FALSE(facts(early, late).rank_identical.holds);
  const Slots front{Space::out, 0, 1};
  const Slots back{Space::out, 1, 1};
  const Schedule half = schedule(1, 2).finish(front).round({Finish{back}});
  const Schedule other_half = schedule(0, 2).finish(front).round({Finish{back}});
  EXPECT_TRUE(facts(half, other_half).rank_identical.holds);
  EXPECT_FALSE(facts(half, other_half).size_invariant.holds);
}

// Ranks need not be in step, and a workspace may be used for one question after the other.
TEST(VerifyCorrect, OneVerifierAnswersManyQuestions) {
  Verifier verifier{};
  for (const int n : {7, 2, 70, 3}) {
    for (const Sample& sample : {samples::ring_all_reduce(n), samples::binomial_broadcast(n),
                                 samples::dissemination_barrier(n)})
      expect_proved(verifier.verify(
          {.contract = sample.contract, .schedules = sample.schedules, .claims = {}}));
  }
}

}  // namespace
}  // namespace tutti::v0
