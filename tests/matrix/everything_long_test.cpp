// All of the matrix over every transport that can live in one process.
#include <algorithm>

#include <gtest/gtest.h>

#include "inside_worlds.hpp"

namespace tutti::matrix {
namespace {

using Where = std::tuple<std::string, int, std::size_t, Form>;

class AllOfTheMatrix : public ::testing::TestWithParam<Where> {};

TEST_P(AllOfTheMatrix, GivesTheRightResults) {
  const auto& [transport, size, index, form] = GetParam();
  const Operation& operation = operations()[index];
  std::vector<Cell> cells = all_cells(size);
  std::erase_if(cells, [&, form = form](const Cell& cell) {
    return cell.operation != &operation || cell.form != form;
  });
  run_inside(transport, size, [&](Communicator& world) { return walk(world, cells); });
}

std::string name_of(const ::testing::TestParamInfo<Where>& info) {
  std::string name = std::get<0>(info.param) + "_" + std::to_string(std::get<1>(info.param)) + "_" +
                     std::string{operations()[std::get<2>(info.param)].name} + "_form_" +
                     std::to_string(static_cast<int>(std::get<3>(info.param)));
  std::ranges::replace_if(
      name, [](char c) { return c == ',' || c == ' '; }, '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Worlds, AllOfTheMatrix,
                         ::testing::Combine(::testing::ValuesIn(kInside),
                                            ::testing::ValuesIn(kSizes),
                                            ::testing::Range<std::size_t>(0, operations().size()),
                                            ::testing::ValuesIn(kForms)),
                         name_of);

}  // namespace
}  // namespace tutti::matrix
