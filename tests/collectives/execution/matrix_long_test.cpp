// The matrix again, with all combinations of segment and place, several datatypes and more seeds.
#include <tutti/spi/catalog.hpp>

#include "tests/collectives/rows.hpp"

namespace tutti::harness {
namespace {

class MatrixLong : public ::testing::TestWithParam<Row> {};

TEST_P(MatrixLong, GivesTheRightResults) {
  for (const std::uint64_t seed : {1u, 2u}) {
    World world{
        {.cluster = {.size = GetParam().size,
                     .seed = seed,
                     .delivery = seed == 1 ? sim::Delivery::rendezvous : sim::Delivery::random,
                     .scribble = true}}};
    Row row = GetParam();
    row.ordinal += seed * 1009;
    for (const Case& one : cases_of(row, 12)) {
      Experiment experiment{one};
      ASSERT_EQ(run(world, experiment), "") << "seed " << seed;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Catalog, MatrixLong, ::testing::ValuesIn(rows_of(kSizes)), name_of_row);

}  // namespace
}  // namespace tutti::harness
