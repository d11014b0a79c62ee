// The bits of inexact sums: equal on all ranks, in every run, and at every size, where claimed.
#include <utility>

#include <tutti/spi/catalog.hpp>

#include "tests/collectives/rows.hpp"
#include "tests/support/noise.hpp"

namespace tutti::harness {
namespace {

std::vector<Row> rows_of_reductions() {
  std::vector<Row> rows = rows_of(kSizes);
  std::erase_if(rows, [](const Row& row) { return !is_reduction(row.collective); });
  return rows;
}

/// @param count of each block.
Case case_for(const Row& row, const Model& model, std::size_t count) {
  return {.collective = row.collective,
          .algorithm = row.algorithm,
          .size = row.size,
          .counts = std::vector<std::size_t>(blocks_of(row.collective, row.size), count),
          .model = model};
}

class Numerics : public ::testing::TestWithParam<Row> {};

TEST_P(Numerics, AllRanksGetTheSameBitsInEveryRun) {
  const Row& row = GetParam();
  const bool are_equal =
      row.collective == Collective::all_reduce && holds(row.traits.rank_identical, row.size, 0);
  for (const Model& model : noises()) {
    std::vector<std::vector<std::byte>> first(static_cast<std::size_t>(row.size));
    for (const std::uint64_t seed : {1u, 2u, 3u}) {
      World world{{.cluster = {.size = row.size, .seed = seed, .scribble = true}}};
      Experiment experiment{case_for(row, model, 123)};
      ASSERT_EQ(run(world, experiment), "");
      for (Rank rank = 0; rank < row.size; ++rank) {
        const auto bits = experiment.result(rank);
        std::vector<std::byte>& known = first[static_cast<std::size_t>(rank)];
        if (seed == 1) known.assign(bits.begin(), bits.end());
        EXPECT_TRUE(std::ranges::equal(bits, known)) << "deliveries changed rank " << rank;
        if (are_equal) {
          EXPECT_TRUE(std::ranges::equal(bits, first[0])) << "rank " << rank;
        }
      }
    }
  }
}

TEST_P(Numerics, AnElementsBitsDoNotDependOnTheSizeWhereClaimed) {
  const Row& row = GetParam();
  if (row.algorithm.empty() || !holds(row.traits.size_invariant, row.size, 0)) return;
  for (const Model& model : noises()) {
    World world{row.size};
    Experiment large{case_for(row, model, 70 * kNoisePeriod)};
    ASSERT_EQ(run(world, large), "");
    for (const std::size_t count : {kNoisePeriod, 35 * kNoisePeriod}) {
      for (const std::size_t segment : {Options::kWhole, std::size_t{24}}) {
        Case one = case_for(row, model, count);
        one.segment = segment;
        Experiment small{std::move(one)};
        ASSERT_EQ(run(world, small), "");
        for (Rank rank = 0; rank < row.size; ++rank) {
          const auto bits = small.result(rank);
          EXPECT_TRUE(std::ranges::equal(bits, large.result(rank).first(bits.size())))
              << "rank " << rank << ": " << small.what().describe();
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Catalog, Numerics, ::testing::ValuesIn(rows_of_reductions()), name_of_row);

}  // namespace
}  // namespace tutti::harness
