// Timed calls: what they make of predicted costs, and that they choose nothing.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "selector/cost_models.hpp"
#include "selector/selectors.hpp"
#include "selector/timed_calls.hpp"

namespace tutti::detail {
namespace {

TunedTable timed(Collective collective, int ranks, std::vector<double> us) {
  TunedTable table{.place = {collective, ranks, 1, "shm", false}};
  std::size_t bytes = 8;
  for (const double time : us) {
    table.cells.push_back({.bytes = bytes,
                           .algorithm = "recursive_doubling",
                           .median_us = time,
                           .low_us = time,
                           .high_us = time});
    bytes *= 1024;
  }
  return table;
}

Problem timed_problem(std::size_t bytes, Determinism level = Determinism::rank_identical) {
  return {.contract = {Collective::all_reduce, 2},
          .type = Datatype::f32,
          .element_bytes = 4,
          .op = &sum,
          .count = bytes / 4,
          .determinism = level};
}

Selectors selectors_with(std::vector<TunedTable> tables, std::string untimed = {}) {
  auto shared_config = std::make_shared<SharedConfig>();
  shared_config->timed =
      std::make_shared<const Tuning>(Tuning{.origin = "FILE", .tables = std::move(tables)});
  shared_config->untimed = std::move(untimed);
  return {{memory_costs(0, 0)},
          {"shm"},
          nullptr,
          {.hosts = {0, 0}, .localities = {}, .transport = "shm", .shared_config = shared_config}};
}

double us(const Selection& selection) {
  return static_cast<double>(selection.chosen.predicted) * 1e-9;
}

TEST(TimedCalls, StandForThoseThatMoveDataAlike) {
  EXPECT_EQ(timed_like(Collective::scatter), Collective::broadcast);
  EXPECT_EQ(timed_like(Collective::exscan), Collective::reduce);
  EXPECT_EQ(timed_like(Collective::all_to_all), Collective::all_gather);
  EXPECT_EQ(timed_like(Collective::barrier), Collective::all_reduce);
}

TEST(TimedCalls, OfTheClosestNumberOfRanksCount) {
  const Tuning file{
      .tables = {timed(Collective::all_reduce, 2, {1}), timed(Collective::all_reduce, 16, {2})}};
  const auto ranks_for = [&](int ranks, bool visible = false) {
    const TunedTable* const found =
        find_timed(file, {Collective::barrier, ranks, 1, "shm", visible});
    return found == nullptr ? 0 : found->place.ranks;
  };
  EXPECT_EQ(ranks_for(3), 2);
  EXPECT_EQ(ranks_for(12), 16);
  EXPECT_EQ(ranks_for(12, true), 0);
  EXPECT_EQ(find_timed(file, {Collective::reduce, 2, 1, "shm", false}), nullptr);
}

TEST(TimedCalls, LieOnLinesBetweenSizes) {
  const std::vector<TimeFactor> factors{{8, 0.1}, {800, 10}};
  EXPECT_DOUBLE_EQ(factor_at(factors, 0), 0.1);
  EXPECT_NEAR(factor_at(factors, 80), 1, 1e-9);
  EXPECT_DOUBLE_EQ(factor_at(factors, 1 << 20), 10);
}

TEST(TimedCalls, GiveTimesAndChangeNoChoice) {
  Selectors timed_ones = selectors_with({timed(Collective::all_reduce, 2, {0.2, 2, 500})});
  const Selection small = timed_ones.select_with_times(timed_problem(8));
  EXPECT_EQ(small.times, TimeBasis::timed);
  EXPECT_NEAR(us(small), 0.2, 0.001);
  EXPECT_NE(small.explain().find("times are 0.0499 of that"), std::string::npos) << small.explain();
  EXPECT_NE(small.explain().find("(FILE)"), std::string::npos) << small.explain();
  EXPECT_NEAR(us(timed_ones.select_with_times(timed_problem(8192))), 2, 0.01);
  for (std::size_t bytes = 8; bytes <= std::size_t{64} << 20; bytes *= 2) {
    const Selection chosen = timed_ones.select(timed_problem(bytes));
    const Selection shown = timed_ones.select_with_times(timed_problem(bytes));
    EXPECT_EQ(chosen.chosen.choice.text(), shown.chosen.choice.text());
    EXPECT_EQ(chosen.times, TimeBasis::assumed);
    for (const Candidate& candidate : shown.candidates)
      if (candidate.refusal.empty()) {
        EXPECT_LE(shown.chosen.predicted, candidate.predicted);
      }
  }
}

TEST(TimedCalls, SayNothingWhereEveryRunChargesAlike) {
  Selectors timed_ones = selectors_with({timed(Collective::all_reduce, 2, {0.2, 2, 500})});
  const Selection selection =
      timed_ones.select_with_times(timed_problem(8, Determinism::run_to_run));
  EXPECT_EQ(selection.times, TimeBasis::assumed);
  EXPECT_NE(selection.explain().find("assumed, so that every run has the same costs"),
            std::string::npos);
}

TEST(TimedCalls, ThatAreMissingOrOfOtherAlgorithmsLeaveCostsAssumed) {
  Selectors untimed = selectors_with({}, "calls were not timed: WHY");
  Selection selection = untimed.select_with_times(timed_problem(8));
  EXPECT_EQ(selection.times, TimeBasis::assumed);
  EXPECT_NE(selection.explain().find("assumed of shared memory (calls were not timed: WHY)"),
            std::string::npos)
      << selection.explain();
  TunedTable other = timed(Collective::all_reduce, 2, {0.2});
  other.cells.front().algorithm = "perpetual_motion";
  Selectors unknown = selectors_with({other});
  selection = unknown.select_with_times(timed_problem(8));
  EXPECT_EQ(selection.times, TimeBasis::assumed);
  EXPECT_NEAR(us(selection), 4, 0.01);
}

}  // namespace
}  // namespace tutti::detail
