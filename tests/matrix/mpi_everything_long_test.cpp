// All of the matrix over an MPI, on as many ranks as were launched.
#include <algorithm>

#include "mpi_test.hpp"

namespace tutti::matrix {
namespace {

using What = std::tuple<std::size_t, Form, Amount>;  // so little that the watchdog waits for it

class AllOfTheMatrixOverMpi : public ::testing::TestWithParam<What> {};

TEST_P(AllOfTheMatrixOverMpi, GivesTheRightResults) {
  const auto& [index, form, amount] = GetParam();
  const Operation& operation = operations()[index];
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  std::vector<Cell> cells = all_cells(size);
  std::erase_if(cells, [&, form = form, amount = amount](const Cell& cell) {
    return cell.operation != &operation || cell.form != form || cell.amount != amount;
  });
  run_on_first(size, [&](Communicator& world) { return walk(world, cells); });
}

INSTANTIATE_TEST_SUITE_P(Operations, AllOfTheMatrixOverMpi,
                         ::testing::Combine(::testing::Range<std::size_t>(0, operations().size()),
                                            ::testing::ValuesIn(kForms),
                                            ::testing::ValuesIn(kAmounts)));

}  // namespace
}  // namespace tutti::matrix
