// Every row of the catalog, on every number of ranks, with every class of counts.
#include <numeric>
#include <set>
#include <utility>

#include <tutti/spi/catalog.hpp>

#include "tests/collectives/rows.hpp"

namespace tutti::harness {
namespace {

class Matrix : public ::testing::TestWithParam<Row> {};

TEST_P(Matrix, GivesTheRightResults) {
  World world{GetParam().size, GetParam().ordinal};
  for (const Case& one : cases_of(GetParam(), 2)) {
    Experiment experiment{one};
    ASSERT_EQ(run(world, experiment), "");
  }
}

INSTANTIATE_TEST_SUITE_P(Catalog, Matrix, ::testing::ValuesIn(rows_of(kSizes)), name_of_row);

TEST(MatrixCases, HaveEverySegmentInPlaceAndNot) {
  for (const Row& row : rows_of(kSizes)) {
    std::set<std::pair<std::size_t, bool>> met;
    for (const Case& one : cases_of(row, 2)) {
      const std::size_t total =
          std::accumulate(one.counts.begin(), one.counts.end(), std::size_t{0});
      const bool is_small = one.segment != 0 && one.segment != Options::kWhole;
      if (total >= 1000) met.insert({is_small ? 1 : one.segment, one.in_place});
    }
    EXPECT_EQ(met.size(), 6U) << ::testing::PrintToString(row);
  }
}

/// Blocks of very different sizes: a pattern of zeros, ones and larger blocks.
std::vector<std::size_t> ragged(std::size_t blocks, std::size_t pattern) {
  std::vector<std::size_t> counts(blocks, 0);
  for (std::size_t block = 0; block < blocks; ++block) {
    const std::uint64_t bits = mix(static_cast<Rank>(pattern), block);
    if (pattern == 0) counts[block] = block == blocks / 2 ? 37 : 0;
    if (pattern == 1) counts[block] = bits % 3 == 0 ? 0 : bits % 40;
    if (pattern == 2) counts[block] = block * block % 97 + (bits % 5 == 0 ? 300 : 0);
  }
  return counts;
}

class Ragged : public ::testing::TestWithParam<Row> {};

TEST_P(Ragged, BlocksMayDiffer) {
  const Row& row = GetParam();
  World world{row.size, row.ordinal};
  for (std::size_t pattern = 0; pattern < 3; ++pattern) {
    for (const bool in_place : {false, true}) {
      Experiment experiment{{.collective = row.collective,
                             .algorithm = row.algorithm,
                             .size = row.size,
                             .counts = ragged(blocks_of(row.collective, row.size), pattern),
                             .root = row.size / 2,
                             .in_place = in_place,
                             .segment = pattern == 1 ? 128 : Options::kWhole,
                             .model = model_at(row.collective, row.ordinal + pattern)}};
      ASSERT_EQ(run(world, experiment), "");
    }
  }
}

std::vector<Row> rows_with_blocks() {
  std::vector<Row> rows = rows_of(kSizes);
  std::erase_if(rows, [](const Row& row) { return blocks_of(row.collective, 2) == 1; });
  return rows;
}

INSTANTIATE_TEST_SUITE_P(Catalog, Ragged, ::testing::ValuesIn(rows_with_blocks()), name_of_row);

}  // namespace
}  // namespace tutti::harness
