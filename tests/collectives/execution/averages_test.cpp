// The average of f16 and bf16 near the ends of their range: the same rule for every algorithm.
#include <cmath>
#include <limits>

#include "collectives/lowering/contributions.hpp"
#include "tests/collectives/extreme_averages.hpp"
#include "tests/collectives/rows.hpp"

namespace tutti::harness {
namespace {

std::vector<Row> reductions(const std::vector<int>& sizes) {
  std::vector<Row> rows;
  for (const Row& row : rows_of(sizes))
    if (is_reduction(row.collective) && !is_prefix(row.collective)) rows.push_back(row);
  return rows;
}

std::vector<Experiment> experiments_of(const Row& row) {
  std::vector<Experiment> experiments;
  const std::size_t blocks = blocks_of(row.collective, row.size);
  for (const Model& model : {extreme_average<Float16>(), extreme_average<BFloat16>()})
    for (const std::size_t each : {std::size_t{5}, 15'000 / blocks / 5 * 5})
      for (const std::size_t segment : {Options::kWhole, std::size_t{4000}})
        experiments.emplace_back(Case{.collective = row.collective,
                                      .algorithm = row.algorithm,
                                      .size = row.size,
                                      .counts = std::vector<std::size_t>(blocks, each),
                                      .root = row.size - 1,
                                      .in_place = segment == Options::kWhole,
                                      .segment = segment,
                                      .model = model});
  return experiments;
}

class Averages : public ::testing::TestWithParam<Row> {};

TEST_P(Averages, OfHalvesAreFiniteAndKeepSmallNumbers) {
  for (const std::uint64_t seed : {0U, 1U, 2U, 3U}) {  // combiners, visible memory, both, none
    World world{GetParam().size, seed};
    for (Experiment& experiment : experiments_of(GetParam())) {
      Options options = experiment.options();
      options.visible = seed >= 2;
      std::vector<Task> tasks;
      for (Rank rank = 0; rank < world.size(); ++rank)
        tasks.push_back(task_of(rank, world[rank].async().run(experiment.call(rank), options)));
      expect_success(world, tasks);
      for (Rank rank = 0; rank < world.size(); ++rank)
        ASSERT_EQ(experiment.problem(rank).value_or(""), "") << experiment.what().describe();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Catalog, Averages,
                         ::testing::ValuesIn(reductions({1, 2, 3, 4, 5, 7, 8, 11, 16})),
                         name_of_row);

TEST(Averages, OfInfiniteNumbersAreInfinite) {
  const float infinity = std::numeric_limits<float>::infinity();
  for (const int size : {2, 3, 5}) {
    World world{size};
    for (const char* const algorithm : {"ring", "direct", "recursive_doubling"}) {
      std::vector<std::vector<Float16>> data;
      std::vector<Task> tasks;
      for (Rank rank = 0; rank < size; ++rank)
        data.push_back({Float16{rank == 1 ? infinity : 1}, Float16{rank == 1 ? -infinity : 1},
                        Float16{rank == 0 ? infinity : -infinity}, Float16{1}});
      for (Rank rank = 0; rank < size; ++rank)
        tasks.push_back(
            task_of(rank, world[rank].async().all_reduce(data[static_cast<std::size_t>(rank)],
                                                         average, {.algorithm = algorithm})));
      expect_success(world, tasks);
      for (const auto& own : data) {
        EXPECT_EQ(static_cast<float>(own[0]), infinity);
        EXPECT_EQ(static_cast<float>(own[1]), -infinity);
        EXPECT_TRUE(std::isnan(static_cast<float>(own[2])));
        EXPECT_EQ(static_cast<float>(own[3]), 1);
      }
    }
  }
}

/// A rank computes from its own schedule the same counts as from all schedules.
TEST(Averages, CountContributionsOfRotationalSchedulesByOneOfThem) {
  int compared = 0;
  for (const Row& row : reductions({2, 3, 4, 5, 7, 8, 12})) {
    if (!row.traits.rotational || row.algorithm.empty()) continue;
    const Choice choice = parse_choice(row.collective, row.algorithm);
    const auto build = [&](Rank rank) { return choice.build(row.size, 0, rank); };
    for (Rank self = 0; self < row.size; ++self) {
      const detail::Contributions one{row.size, self, true, build};
      const detail::Contributions all{row.size, self, false, build};
      const Schedule schedule = build(self);
      for (std::size_t step = 0; step < schedule.steps().size(); ++step, ++compared)
        ASSERT_TRUE(std::ranges::equal(one.of(step), all.of(step)))
            << ::testing::PrintToString(row) << ", rank " << self << ", step " << step;
    }
  }
  EXPECT_GT(compared, 1000);
}

}  // namespace
}  // namespace tutti::harness
