// All of the matrix over an MPI.
#include "mpi_test.hpp"
#include "tests/mpi/watchdog.hpp"

namespace tutti::matrix {
namespace {

class AllOfTheMatrixOverMpi : public ::testing::TestWithParam<int> {};

TEST_P(AllOfTheMatrixOverMpi, GivesTheRightResults) {
  const std::vector<Cell> cells = all_cells(GetParam());
  constexpr std::size_t kPortion = 500;  // after which the watchdog is told that all is well
  for (std::size_t first = 0; first < cells.size(); first += kPortion) {
    test::watch("AllOfTheMatrixOverMpi");
    const std::size_t count = std::min(kPortion, cells.size() - first);
    run_on_first(GetParam(), [&](Communicator& world) {
      return walk(world, std::span{cells}.subspan(first, count));
    });
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, AllOfTheMatrixOverMpi, ::testing::ValuesIn(kSizes));

}  // namespace
}  // namespace tutti::matrix
