/// @file
/// Parts of a launched world, so that one launch has every number of ranks.
#pragma once

#include <functional>
#include <numeric>
#include <string>

#include <gtest/gtest.h>
#include <tutti/mpi.hpp>

#include "walk.hpp"

namespace tutti::matrix {

/// @return the MPI's name in the table.
[[nodiscard]] inline std::string name_of_mpi() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  MPI_Get_library_version(text, &length);
  return std::string{text}.find("Open MPI") != std::string::npos ? "mpi (Open MPI)" : "mpi (MPICH)";
}

/// Runs a body on the first ranks of the world, while the others wait. @param size how many.
/// @param body what they do.
inline void run_on_first(int size, const std::function<Report(Communicator&)>& body) {
  using std::chrono::seconds;
  Communicator world = mpi::communicator(MPI_COMM_WORLD, {.timeout = seconds{100}},
                                         {.chunk_bytes = 2000, .timeout = seconds{100}});
  ASSERT_GE(world.size(), size) << "needs a launch of " << kSizes.back() << " ranks";
  if (world.rank() < size) {
    std::vector<Rank> members(static_cast<std::size_t>(size));
    std::iota(members.begin(), members.end(), 0);
    Communicator part = world.group(members);
    expect_right(body(part), name_of_mpi(), size);
  }
  world.barrier();
}

}  // namespace tutti::matrix
