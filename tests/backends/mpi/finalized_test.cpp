// A communicator that outlives the MPI below it.
#include <gtest/gtest.h>

#include <cstdio>
#include <optional>
#include <span>
#include <vector>

#include <tutti/mpi.hpp>

#include "tests/support/patience.hpp"
#include "watchdog.hpp"

namespace tutti::test {
namespace {

std::optional<Communicator> abandoned{};  // ends after main

TEST(MpiFinalize, LeavesACommunicator) {
  abandoned.emplace(mpi::communicator(MPI_COMM_WORLD, {.timeout = kAmple}));
  std::vector<int> values(2, 1);
  abandoned->all_reduce(std::span{values});
  EXPECT_EQ(values[0], abandoned->size());
}

}  // namespace

// A call of a finalized MPI ends the process.
int check_after_finalize() {
  if (!abandoned) return 0;
  std::vector<int> values(2, 1);
  for (int call = 0; call < 2; ++call) {
    const Result<void> result = abandoned->try_().all_reduce(std::span{values});
    if (!result && result.error().code() == ErrorCode::aborted &&
        std::string{result.error().what()}.find("MPI_Finalize has been called") !=
            std::string::npos)
      continue;
    std::fprintf(stderr, "a call after MPI_Finalize: %s\n",
                 result ? "no error" : result.error().what());
    return 1;
  }
  return 0;
}

}  // namespace tutti::test
