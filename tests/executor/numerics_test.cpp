// The bits of inexact sums: equal on all ranks, in every run, and at every size, where claimed.
#include <cmath>
#include <cstring>
#include <utility>

#include "rows.hpp"

namespace tutti::harness {
namespace {

using enum Collective;

/// Numbers in [-2, 2] whose sums round, and a bound for what rounding may do.
template <class T>
Model noise(double epsilon) {
  Model model = model_of(datatype_of<T>(), OperatorKind::sum);
  model.name += "_noise";
  model.fill = [](Rank rank, std::size_t first, std::size_t count, void* to) {
    for (std::size_t i = 0; i < count; ++i) {
      const double unit = static_cast<double>(mix(rank, first + i) >> 11) * 0x1p-53;
      static_cast<T*>(to)[i] = T(static_cast<float>(4 * unit - 2));
    }
  };
  model.reduce = [](std::span<const void* const> operands, std::size_t count, void* result) {
    for (std::size_t i = 0; i < count; ++i) {
      double sum = 0;
      for (const void* const operand : operands)
        sum += static_cast<double>(static_cast<float>(static_cast<const T*>(operand)[i]));
      static_cast<T*>(result)[i] = T(static_cast<float>(sum));
    }
  };
  model.differ = [epsilon](const void* got, const void* wanted, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      const auto a = static_cast<double>(static_cast<float>(static_cast<const T*>(got)[i]));
      const auto b = static_cast<double>(static_cast<float>(static_cast<const T*>(wanted)[i]));
      // At most 16 operands below 2: partial sums below 32, each of 16 roundings half an ulp.
      if (!(std::abs(a - b) <= 16 * 32 * epsilon)) return i;
    }
    return count;
  };
  return model;
}

std::vector<Model> noises() {
  return {noise<float>(0x1p-24), noise<Float16>(0x1p-11), noise<BFloat16>(0x1p-8)};
}

std::vector<Row> rows_of_all_reduce() {
  std::vector<Row> rows = rows_of(kSizes);
  std::erase_if(rows, [](const Row& row) { return row.collective != all_reduce; });
  return rows;
}

Case case_for(const Row& row, const Model& model, std::size_t count) {
  return {.collective = row.collective,
          .algorithm = row.algorithm,
          .size = row.size,
          .counts = {count},
          .model = model};
}

class Numerics : public ::testing::TestWithParam<Row> {};

TEST_P(Numerics, AllRanksGetTheSameBitsInEveryRun) {
  const Row& row = GetParam();
  for (const Model& model : noises()) {
    std::vector<std::byte> first{};
    for (const std::uint64_t seed : {1u, 2u, 3u}) {
      World world{{.cluster = {.size = row.size, .seed = seed, .scribble = true}}};
      Experiment experiment{case_for(row, model, 123)};
      ASSERT_EQ(run(world, experiment), "");
      const auto bits = experiment.result(0);
      if (first.empty()) first.assign(bits.begin(), bits.end());
      EXPECT_TRUE(std::ranges::equal(bits, first)) << "the order of deliveries changed the result";
      if (!holds(row.traits.rank_identical, row.size, 0)) continue;
      for (Rank rank = 1; rank < row.size; ++rank)
        EXPECT_TRUE(std::ranges::equal(experiment.result(rank), first)) << "rank " << rank;
    }
  }
}

TEST_P(Numerics, AnElementsBitsDoNotDependOnTheSizeWhereClaimed) {
  const Row& row = GetParam();
  if (row.algorithm.empty() || !holds(row.traits.size_invariant, row.size, 0)) return;
  for (const Model& model : noises()) {
    World world{row.size};
    Experiment large{case_for(row, model, 500)};
    ASSERT_EQ(run(world, large), "");
    for (const std::size_t count : {std::size_t{1}, std::size_t{7}, std::size_t{250}}) {
      for (const std::size_t segment : {Options::kWhole, std::size_t{24}}) {
        Case one = case_for(row, model, count);
        one.segment = segment;
        Experiment small{std::move(one)};
        ASSERT_EQ(run(world, small), "");
        const auto bits = small.result(0);
        EXPECT_TRUE(std::ranges::equal(bits, large.result(0).first(bits.size())))
            << small.what().describe();
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Catalog, Numerics, ::testing::ValuesIn(rows_of_all_reduce()), name_of_row);

}  // namespace
}  // namespace tutti::harness
