// A sample of the matrix over every transport that can live in one process, and what it must have.
#include <set>

#include <gtest/gtest.h>

#include "inside_worlds.hpp"

namespace tutti::matrix {
namespace {

TEST(MatrixSample, MeetsEveryPairAndAllThatItsCellsMayBe) {
  std::set<std::pair<const Operation*, Datatype>> pairs;
  std::set<std::pair<const Operation*, int>> sizes;
  std::set<std::pair<const Operation*, Form>> forms;
  std::set<std::pair<const Operation*, Amount>> amounts;
  std::set<std::pair<const Operation*, bool>> places;
  for (const int size : kSizes)
    for (const Cell& cell : sample(1, size)) {
      EXPECT_TRUE(pairs.insert({cell.operation, cell.type}).second) << cell.describe();
      sizes.insert({cell.operation, cell.size});
      forms.insert({cell.operation, cell.form});
      amounts.insert({cell.operation, cell.amount});
      places.insert({cell.operation, cell.in_place});
    }
  const std::size_t all = operations().size();
  EXPECT_EQ(pairs.size(), all * kDatatypes);
  EXPECT_EQ(sizes.size(), all * kSizes.size());
  EXPECT_EQ(forms.size(), all * kForms.size());
  EXPECT_EQ(amounts.size(), all * kAmounts.size());
  EXPECT_EQ(places.size(), 2 * all - 2);  // neither barriers nor messages one way are in place
}

/// Records the rows and columns of the table in docs.
TEST(MatrixSample, KnowsItsRowsAndColumns) {
  const auto record = [](const char* what, const std::vector<std::string_view>& names) {
    std::string text;
    for (const std::string_view name : names)
      text += (text.empty() ? "" : "; ") + std::string{name};
    RecordProperty(what, text);
    EXPECT_FALSE(names.empty());
  };
  std::vector<std::string_view> calls;
  std::vector<std::string_view> operators;
  std::vector<std::string_view> datatypes;
  for (const Operation& operation : operations()) calls.push_back(operation.name);
  for (int kind = 0; kind < kOperatorKinds; ++kind)
    operators.push_back(tutti::name_of(static_cast<OperatorKind>(kind)));
  for (int type = 0; type < kDatatypes; ++type)
    datatypes.push_back(tutti::name_of(static_cast<Datatype>(type)));
  record("operations", calls);
  record("objects", object_operations());
  record("operators", operators);
  record("datatypes", datatypes);
}

using Where = std::tuple<std::string, int>;

class MatrixOver : public ::testing::TestWithParam<Where> {};

TEST_P(MatrixOver, GivesTheRightResults) {
  const auto& [transport, size] = GetParam();
  const std::vector<Cell> cells = sample(1, size);
  run_inside(transport, size, [&](Communicator& world) { return walk_all(world, cells); });
}

std::string name_of(const ::testing::TestParamInfo<Where>& info) {
  return std::get<0>(info.param) + "_" + std::to_string(std::get<1>(info.param));
}

INSTANTIATE_TEST_SUITE_P(Worlds, MatrixOver,
                         ::testing::Combine(::testing::ValuesIn(kInside),
                                            ::testing::ValuesIn(kSizes)),
                         name_of);

}  // namespace
}  // namespace tutti::matrix
