// A sample of the matrix over an MPI.
#include "mpi_test.hpp"

namespace tutti::matrix {
namespace {

class MatrixOverMpi : public ::testing::TestWithParam<int> {};

TEST_P(MatrixOverMpi, GivesTheRightResults) {
  const std::vector<Cell> cells = sample(1, GetParam());
  run_on_first(GetParam(), [&](Communicator& world) { return walk_all(world, cells); });
}

INSTANTIATE_TEST_SUITE_P(Ranks, MatrixOverMpi, ::testing::ValuesIn(kSizes));

}  // namespace
}  // namespace tutti::matrix
