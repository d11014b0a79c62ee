// Under a launcher one rank speaks, and all ranks end.
#include <gtest/gtest.h>

#include <string>

#include "tests/command/runner.hpp"

namespace tutti {
namespace {

TEST(CommandLaunched, OnlyTheFirstRankSpeaks) {
  const std::string second = "OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=2";
  const std::string first = "OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=2";
  for (const char* command :
       {"list", "show all_reduce ring", "info", "verify --ranks 1:2", "--help", "--version"}) {
    const Answer silent = tutti_run(command, second);
    EXPECT_EQ(silent.code, 0) << command;
    EXPECT_EQ(silent.out + silent.err, "") << command;
    EXPECT_NE(tutti_run(command, first).out, "") << command;
  }
}

// Did another rank fail too, the launcher could end the first one before it has spoken.
TEST(CommandLaunched, OneRankSpeaksOfAMistakeAndFailsForAll) {
  for (const char* command : {"lst", "list --x", "show all_reduce rng", "verify --ranks 0"}) {
    const Answer silent = tutti_run(command, "PMI_RANK=3 PMI_SIZE=4");
    EXPECT_EQ(silent.code, 0) << command;
    EXPECT_EQ(silent.out + silent.err, "") << command;
    const Answer spoken = tutti_run(command, "PMI_RANK=0 PMI_SIZE=4");
    EXPECT_EQ(spoken.code, 2) << command;
    EXPECT_EQ(lines_in(spoken.err), 1) << command;
  }
}

}  // namespace
}  // namespace tutti
