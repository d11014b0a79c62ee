// The statistics hold on samples whose truth is known.
#include "perf/statistics.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <random>
#include <vector>

#include "perf/sweep/verdict.hpp"

namespace tutti::perf {
namespace {

// Timings with a floor, a heavy tail, and the drift of a machine.
class Machine {
 public:
  explicit Machine(unsigned seed) : engine_{seed} {}
  double time(double true_us) {
    const double tail = std::exp(0.3 * normal_(engine_));
    const double hiccup = uniform_(engine_) < 0.02 ? 8 : 1;
    return true_us * drift_ * (0.9 + 0.1 * tail) * hiccup;
  }
  void next_round() { drift_ *= std::exp(0.02 * normal_(engine_)); }

 private:
  std::mt19937 engine_;
  std::normal_distribution<double> normal_{0, 1};
  std::uniform_real_distribution<double> uniform_{0, 1};
  double drift_ = 1;
};

TEST(Statistics, TablesGiveTheSameOrderStatistics) {
  // Two-sided 95% for the median, as in any table of the sign test, counted from 0.
  const std::vector<std::array<std::size_t, 3>> table{
      {6, 0, 5}, {8, 0, 7}, {9, 1, 7}, {10, 1, 8}, {20, 5, 14}, {50, 17, 32}, {100, 39, 60}};
  for (const auto& [samples, low, high] : table) {
    EXPECT_EQ(median_ranks(samples).low, low) << samples;
    EXPECT_EQ(median_ranks(samples).high, high) << samples;
  }
  EXPECT_EQ(median_ranks(1).high, 0u);
  EXPECT_EQ(median_ranks(5).low, 0u);
}

TEST(Statistics, ExactAndApproximateRanksMeet) {
  const OrderRanks exact = median_ranks(200);
  const OrderRanks approximate = median_ranks(201);
  EXPECT_LE(exact.low > approximate.low ? exact.low - approximate.low : approximate.low - exact.low,
            1u);
}

TEST(Statistics, SummaryOfKnownNumbers) {
  std::vector<double> samples;
  for (int i = 100; i >= 1; --i) samples.push_back(i);
  const Summary summary = summarize(samples);
  EXPECT_EQ(summary.samples, 100u);
  EXPECT_EQ(summary.min, 1);
  EXPECT_EQ(summary.p10, 10);
  EXPECT_EQ(summary.median, 50.5);
  EXPECT_EQ(summary.interval.low, 40);
  EXPECT_EQ(summary.interval.high, 61);
  EXPECT_EQ(summary.p90, 90);
  EXPECT_EQ(summary.p99, 99);
  EXPECT_EQ(summary.max, 100);
}

TEST(Statistics, TheIntervalCoversTheMedianAsOftenAsItSays) {
  std::mt19937 engine{7};
  std::lognormal_distribution<double> distribution{0, 1};  // its median is 1
  for (const std::size_t size : {8u, 30u, 400u}) {
    int covered = 0;
    constexpr int kTrials = 2000;
    for (int trial = 0; trial < kTrials; ++trial) {
      std::vector<double> samples(size);
      for (double& sample : samples) sample = distribution(engine);
      const Interval interval = summarize(samples).interval;
      covered += interval.low <= 1 && 1 <= interval.high ? 1 : 0;
    }
    EXPECT_GE(covered, 0.935 * kTrials) << size;  // 95% less three deviations of the count
  }
}

TEST(Statistics, SignedRanksAsCountedByHand) {
  EXPECT_DOUBLE_EQ(signed_rank_p(std::vector<double>{1, 2, 3, 4, 5}), 2.0 / 32);
  EXPECT_DOUBLE_EQ(signed_rank_p(std::vector<double>{1, 2, 3, 4, 5, 6, 7, 8}), 2.0 / 256);
  EXPECT_DOUBLE_EQ(signed_rank_p(std::vector<double>{-1, 2, 3, 4, 5}), 4.0 / 32);
  EXPECT_DOUBLE_EQ(signed_rank_p(std::vector<double>{0, 0, 0}), 1);
  EXPECT_DOUBLE_EQ(signed_rank_p(std::vector<double>{}), 1);
}

TEST(Statistics, SignedRanksAgreeWithEnumeration) {
  const std::vector<double> differences{0.3, -1.2, 2.0, 2.0, -0.3, 4.1, 0.7, 5.0, 1.1, 0.3};
  std::vector<double> ranks;
  for (const double d : differences) {
    double below = 0;
    double equal = 0;
    for (const double other : differences) {
      below += std::abs(other) < std::abs(d) ? 1 : 0;
      equal += std::abs(other) == std::abs(d) ? 1 : 0;
    }
    ranks.push_back(below + (equal + 1) / 2);
  }
  double observed = 0;
  double total = 0;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    total += ranks[i];
    observed += differences[i] > 0 ? ranks[i] : 0;
  }
  const double least = std::min(observed, total - observed);
  int extreme = 0;
  for (unsigned signs = 0; signs < 1u << ranks.size(); ++signs) {
    double sum = 0;
    for (std::size_t i = 0; i < ranks.size(); ++i) sum += (signs >> i & 1u) != 0 ? ranks[i] : 0;
    extreme += sum <= least ? 1 : 0;
  }
  EXPECT_NEAR(signed_rank_p(differences), 2.0 * extreme / 1024, 1e-12);
}

TEST(Statistics, ManySignedRanksAgreeWithSampling) {
  constexpr int kDifferences = 40;  // beyond the exact test
  constexpr int kDraws = 100000;
  std::vector<double> differences;
  double observed = 0;
  for (int i = 1; i <= kDifferences; ++i) {
    differences.push_back(i % 3 == 0 ? -i : i);
    observed += i % 3 == 0 ? i : 0;
  }
  std::mt19937_64 engine{11};
  int extreme = 0;
  for (int draw = 0; draw < kDraws; ++draw) {
    const std::uint64_t signs = engine();
    double sum = 0;
    for (int i = 1; i <= kDifferences; ++i) sum += (signs >> i & 1u) != 0 ? i : 0;
    extreme += sum <= observed ? 1 : 0;
  }
  EXPECT_NEAR(signed_rank_p(differences), 2.0 * extreme / kDraws, 0.004);
}

// How often a copy that is `slowdown` times slower is called slower, one way or the other.
int verdicts(double slowdown, std::size_t rounds, int trials) {
  int called = 0;
  for (int trial = 0; trial < trials; ++trial) {
    Machine machine{static_cast<unsigned>(trial) + 1};
    std::vector<double> a;
    std::vector<double> b;
    for (std::size_t round = 0; round < rounds; ++round) {
      a.push_back(machine.time(10));
      b.push_back(machine.time(10 * slowdown));
      machine.next_round();
    }
    called += compare(b, a).slower() ? 1 : 0;
    if (slowdown == 1) called += compare(a, b).slower() ? 1 : 0;
  }
  return called;
}

TEST(Statistics, EqualsAreCalledEqual) {
  constexpr int kTrials = 1000;
  for (const std::size_t rounds : {8u, 20u, 100u, 1000u})
    EXPECT_LE(verdicts(1, rounds, kTrials), 0.02 * kTrials) << rounds;
}

TEST(Statistics, FivePercentAreFound) {
  constexpr int kTrials = 300;
  EXPECT_GE(verdicts(1.05, 100, kTrials), 0.9 * kTrials);
  EXPECT_GE(verdicts(1.05, 1000, kTrials), 0.99 * kTrials);
}

TEST(Statistics, ADifferenceTooSmallToMatterIsATie) {
  const std::vector<double> reference(1000, 10.0);
  const std::vector<double> times(1000, 10.05);
  const Comparison comparison = compare(times, reference);
  EXPECT_LT(comparison.p, 1e-6);
  EXPECT_FALSE(comparison.slower());
}

TEST(Statistics, GeometricMean) {
  EXPECT_DOUBLE_EQ(geometric_mean(std::vector<double>{1, 4}), 2);
  EXPECT_DOUBLE_EQ(geometric_mean({}), 1);
}

// --- who won a size ---

Measured runner(const std::string& label, CandidateType kind, double time_us) {
  Measured measured{.candidate = {.label = label, .algorithm = label, .kind = kind}};
  measured.runs = kind == CandidateType::automatic ? "ring" : label;
  Machine machine{static_cast<unsigned>(label.size())};
  if (time_us > 0)
    for (int round = 0; round < 200; ++round) measured.times_us.push_back(machine.time(time_us));
  return measured;
}

TEST(Verdict, TheFastestWinsAndRatiosAreAgainstNative) {
  const SizeResult result{.measured = {runner("ring", CandidateType::forced, 10),
                                       runner("direct", CandidateType::forced, 20),
                                       runner("auto", CandidateType::automatic, 20),
                                       runner("native", CandidateType::native, 30)}};
  const Verdict verdict = judge(result);
  ASSERT_TRUE(verdict.best);
  EXPECT_EQ(*verdict.best, 0u);
  EXPECT_FALSE(verdict.is_tie());
  EXPECT_EQ(verdict.standings[1], Standing::slower);
  EXPECT_NEAR(verdict.ours_vs_native.value_or(0), 3, 0.2);
  EXPECT_NEAR(verdict.auto_vs_native.value_or(0), 1.5, 0.1);
  EXPECT_NEAR(verdict.auto_loss.value_or(0), 1, 0.1);
}

TEST(Verdict, NativeMayWinAndAutoIsNoRival) {
  const SizeResult result{.measured = {runner("ring", CandidateType::forced, 10),
                                       runner("auto", CandidateType::automatic, 10),
                                       runner("native", CandidateType::native, 5)}};
  const Verdict verdict = judge(result);
  EXPECT_EQ(verdict.best.value_or(9), 2u);
  EXPECT_EQ(verdict.ours.value_or(9), 0u);
  EXPECT_NEAR(verdict.ours_vs_native.value_or(0), 0.5, 0.05);
  EXPECT_EQ(verdict.auto_loss.value_or(9), 0);
}

TEST(Verdict, EqualsTieAndTheAbsentDoNotCount) {
  const SizeResult result{.measured = {runner("aa", CandidateType::forced, 10),
                                       runner("bbb", CandidateType::forced, 10),
                                       runner("native", CandidateType::native, 0)}};
  const Verdict verdict = judge(result);
  EXPECT_TRUE(verdict.is_tie());
  EXPECT_EQ(verdict.standings[2], Standing::absent);
  EXPECT_FALSE(verdict.ours_vs_native);
  EXPECT_FALSE(judge({}).best);
}

TEST(Verdict, AutoStandsForAnAlgorithmThatIsNotNamed) {
  SizeResult result{.measured = {runner("ring", CandidateType::forced, 20),
                                 runner("auto", CandidateType::automatic, 10)}};
  result.measured[1].runs = "direct";
  const Verdict verdict = judge(result);
  EXPECT_EQ(verdict.best.value_or(9), 1u);
  EXPECT_EQ(verdict.standings[0], Standing::slower);
}

TEST(Verdict, AutoStandsForOursWhereItIsAlone) {
  const SizeResult result{.measured = {runner("auto", CandidateType::automatic, 10),
                                       runner("native", CandidateType::native, 20)}};
  const Verdict verdict = judge(result);
  EXPECT_EQ(verdict.best.value_or(9), 0u);
  EXPECT_FALSE(verdict.auto_loss);
}

// As on GPUs, where a plain call may be the library's own.
TEST(Verdict, AutoThatRunsTheLibrarysCallIsNoneOfOurs) {
  SizeResult result{.measured = {runner("ring", CandidateType::forced, 20),
                                 runner("auto", CandidateType::automatic, 10),
                                 runner("native", CandidateType::native, 10)}};
  result.measured[1].runs = "native";
  const Verdict verdict = judge(result);
  EXPECT_EQ(verdict.best.value_or(9), 2u);
  EXPECT_EQ(verdict.ours.value_or(9), 0u);
  EXPECT_EQ(verdict.standings[1], Standing::tie);
  EXPECT_NEAR(verdict.ours_vs_native.value_or(0), 0.5, 0.05);
  EXPECT_EQ(verdict.auto_loss.value_or(9), 0);
  result.measured.erase(result.measured.begin());
  EXPECT_EQ(judge(result).best.value_or(9), 1u) << "native, with nothing of ours beside it";
  EXPECT_FALSE(judge(result).ours);
  result.measured.pop_back();
  EXPECT_EQ(judge(result).best.value_or(9), 0u) << "auto alone";
}

}  // namespace
}  // namespace tutti::perf
