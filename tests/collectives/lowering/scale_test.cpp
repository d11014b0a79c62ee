// Memory to make one rank's program, on many ranks: in proportion to the slots of its own steps,
// however many the collective has.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>

#include <tutti/error.hpp>
#include <tutti/spi/algorithm.hpp>
#include <tutti/spi/catalog.hpp>
#include <tutti/spi/graph.hpp>

#include "collectives/lowering/lowering.hpp"
#include "tests/support/replaced_new.hpp"

namespace tutti::v0::detail {
namespace {

/// The row's choice with its default parameters, on a torus or on hosts of 16 ranks if it needs
/// one; without a row if it does not serve this number of ranks.
Choice choice_of(const Algorithm& row, int size) {
  Choice choice{.algorithm = &row, .number = row.default_number};
  if (!admits(row.traits.sizes, size)) return {};
  if (row.parameter == AlgorithmParameter::graph) {
    int side = 1;
    while (side * side < size) side *= 2;
    choice.graph = std::make_shared<const Graph>(Graph::torus(std::vector<int>{side, size / side}));
  }
  if (row.parameter != AlgorithmParameter::hierarchy) return choice;
  for (const char* const stages :
       {"(circulant, circulant)", "(binomial, binomial)", "(ring, ring)", "(direct, direct)",
        "(dissemination, dissemination)", "(pairwise, pairwise)"})
    try {
      const Choice made = parse_choice(
          row.collective, std::string{row.name} + stages + ":groups=" + std::to_string(size / 16));
      (void)made.build(size, 0, 1);
      return made;
    } catch (const Error& error) {
      if (error.code() != ErrorCode::invalid_argument) throw;
    }
  return {};
}

struct Measured {
  std::size_t bytes = 0;  // at most, beside the schedule
  std::size_t steps = 0;
  std::size_t slots = 0;  // that steps name
};

Measured measure(const Choice& choice, int size, Rank self, bool visible) {
  const Contract contract{choice.algorithm->collective, size};
  Schedule schedule = choice.build(size, 0, self);
  Measured measured{.steps = schedule.steps().size()};
  for (const Step& step : schedule.steps()) measured.slots += step.slots().count;
  const std::size_t before = harness::held_bytes;
  harness::most_held_bytes = before;
  Programs programs{std::move(schedule),
                    Layout{contract, self, 64},
                    {.element_bytes = 4, .combines = true, .visible = visible, .lockstep = true}};
  EXPECT_NE(programs.find(0, false).program, nullptr);
  measured.bytes = harness::most_held_bytes - before;
  return measured;
}

class LoweringAtScale : public ::testing::TestWithParam<int> {};

// 730 bytes are the most, of a root that folds a message of each rank. An offset of each pair of
// ranks would be 8 * n * n bytes, 16,384 a step on 4,096 ranks.
TEST_P(LoweringAtScale, TakesMemoryInProportionToTheRanksOwnSteps) {
  constexpr std::size_t kMostPerSlot = 768, kMostBeside = 4096;
  const int size = GetParam();
  std::size_t rows = 0;
  for (const Algorithm& row : catalog()) {
    const Choice choice = choice_of(row, size);
    if (choice.algorithm == nullptr) continue;
    ++rows;
    for (const Rank self : {0, size / 3})
      for (const bool visible : {false, true}) {
        const Measured measured = measure(choice, size, self, visible);
        EXPECT_LE(measured.bytes, kMostPerSlot * measured.slots + kMostBeside)
            << name_of(row.collective) << " by " << choice.text() << ", rank " << self << ", "
            << measured.steps << " steps of " << measured.slots << " slots"
            << (visible ? ", visible" : "");
      }
  }
  EXPECT_GE(rows, 70U);
}

INSTANTIATE_TEST_SUITE_P(Ranks, LoweringAtScale, ::testing::Values(256, 1024, 4096));

}  // namespace
}  // namespace tutti::v0::detail
