// All datatypes with all operators, and operators of the user's own.
#include <tutti/spi/catalog.hpp>

#include "tests/collectives/rows.hpp"

namespace tutti::harness {
namespace {

using enum Collective;

class Pairs : public ::testing::TestWithParam<Model> {};

TEST_P(Pairs, ReduceExactly) {
  World world{3};
  for (const char* const algorithm : {"ring", "recursive_doubling", "direct"}) {
    for (const std::size_t count : {std::size_t{13}, std::size_t{150}}) {
      for (const bool in_place : {false, true}) {
        Experiment experiment{{.collective = all_reduce,
                               .algorithm = algorithm,
                               .size = 3,
                               .counts = {count},
                               .in_place = in_place,
                               .model = GetParam(),
                               .salt = count}};
        ASSERT_EQ(run(world, experiment), "");
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Operators, Pairs, ::testing::ValuesIn(all_models()),
                         [](const auto& parameter) { return parameter.param.name; });

TEST(Operators, AreDefinedWhereTheyMakeSense) {
  const auto is = [](OperatorKind kind, Datatype type) { return is_defined(kind, type); };
  for (int index = 0; index < kDatatypes; ++index) {
    const auto type = static_cast<Datatype>(index);
    const bool integer = is_integer(type);
    const bool real = integer || is_any_of(type, ElementKind::real);
    const bool indexed = is_any_of(type, ElementKind::indexed);
    EXPECT_EQ(is(OperatorKind::sum, type), !indexed && type != Datatype::opaque);
    EXPECT_EQ(is(OperatorKind::prod, type), !indexed && type != Datatype::opaque);
    EXPECT_EQ(is(OperatorKind::min, type), real);
    EXPECT_EQ(is(OperatorKind::max, type), real);
    EXPECT_EQ(is(OperatorKind::min_loc, type), indexed);
    EXPECT_EQ(is(OperatorKind::max_loc, type), indexed);
    EXPECT_EQ(is(OperatorKind::logical_and, type), integer);
    EXPECT_EQ(is(OperatorKind::logical_xor, type), integer);
    EXPECT_EQ(is(OperatorKind::bit_or, type), integer);
    EXPECT_TRUE(is(OperatorKind::user, type));
  }
}

std::vector<Row> reducing_rows() {
  std::vector<Row> rows = rows_of(kSizes);
  std::erase_if(rows, [](const Row& row) { return !is_reduction(row.collective); });
  return rows;
}

/// Whether operators that do not commute are served, given the row's checked fact.
bool serves(const Row& row, Rank root) {
  return holds(row.traits.ordered, row.size, root);
}

class UserOperators : public ::testing::TestWithParam<Row> {};

TEST_P(UserOperators, KeepTheOrderOfRanksOrRefuse) {
  const Row& row = GetParam();
  World world{row.size, row.ordinal};
  for (const Rank root : {0, row.size - 1}) {
    for (const std::size_t count : {std::size_t{1}, std::size_t{50}}) {
      Experiment experiment{{.collective = row.collective,
                             .algorithm = row.algorithm,
                             .size = row.size,
                             .counts = cut(count, blocks_of(row.collective, row.size)),
                             .root = is_rooted(row.collective) ? root : 0,
                             .model = affine_model()}};
      if (serves(row, experiment.what().root)) {
        ASSERT_EQ(run(world, experiment), "");
        continue;
      }
      const std::uint64_t before = world.cluster().transfers();
      for (Rank rank = 0; rank < world.size(); ++rank) {
        const auto result = world[rank].try_().run(experiment.call(rank), experiment.options());
        ASSERT_FALSE(result) << experiment.what().describe();
        EXPECT_EQ(result.error().code(), ErrorCode::invalid_argument);
        EXPECT_NE(std::string{result.error().what()}.find("order"), std::string::npos)
            << "the error must say why: " << result.error().what();
      }
      EXPECT_EQ(world.cluster().transfers(), before);
    }
  }
}

TEST_P(UserOperators, MayCommute) {
  const Row& row = GetParam();
  World world{row.size, row.ordinal};
  for (const std::size_t element_bytes : {1u, 3u, 24u}) {
    Experiment experiment{{.collective = row.collective,
                           .algorithm = row.algorithm,
                           .size = row.size,
                           .counts = cut(71, blocks_of(row.collective, row.size)),
                           .in_place = element_bytes == 3,
                           .segment = element_bytes == 24 ? 48 : Options::kWhole,
                           .model = opaque_model(element_bytes)}};
    ASSERT_EQ(run(world, experiment), "");
  }
}

INSTANTIATE_TEST_SUITE_P(Catalog, UserOperators, ::testing::ValuesIn(reducing_rows()), name_of_row);

TEST(UserOperators, ThatMakeTheirElementsFromOtherTypesWork) {
  // A user's operator on a built-in datatype: the larger magnitude.
  const Operator larger{[](const void* left, const void* right, void* out, std::size_t count) {
                          for (std::size_t i = 0; i < count; ++i) {
                            const int a = static_cast<const int*>(left)[i];
                            const int b = static_cast<const int*>(right)[i];
                            static_cast<int*>(out)[i] = std::abs(a) >= std::abs(b) ? a : b;
                          }
                        },
                        true};
  World world{5};
  std::vector<std::vector<int>> data(5);
  for (int rank = 0; rank < 5; ++rank)
    for (int i = 0; i < 20; ++i)
      data[static_cast<std::size_t>(rank)].push_back((rank * 7 + i * 3) % 11 *
                                                     (i % 2 == 0 ? 1 : -1));
  std::vector<Task> tasks{};
  for (Rank rank = 0; rank < 5; ++rank)
    tasks.push_back(task_of(rank, world[rank].async().all_reduce(
                                      std::span{data[static_cast<std::size_t>(rank)]}, larger)));
  ASSERT_TRUE(world.drive(tasks));
  for (int i = 0; i < 20; ++i) {
    int wanted = 0;
    for (int rank = 0; rank < 5; ++rank) wanted = std::max(wanted, (rank * 7 + i * 3) % 11);
    for (const auto& vector : data)
      EXPECT_EQ(vector[static_cast<std::size_t>(i)], i % 2 == 0 ? wanted : -wanted);
  }
}

}  // namespace
}  // namespace tutti::harness
