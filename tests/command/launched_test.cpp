// Under a launcher one rank prints, and all ranks end.
#include <gtest/gtest.h>

#include <string>

#include "tests/command/runner.hpp"

namespace tutti::v0 {
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

// If another rank failed too, the launcher could end the first one before it prints.
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

TEST(CommandLaunched, InfoTellsWhoLaunched) {
  const Answer alone = tutti_run("info --launch");
  EXPECT_EQ(alone.code, 0);
  EXPECT_TRUE(has(alone.out, "no variables of a launcher")) << alone.out;
  EXPECT_TRUE(has(alone.out, "this is rank 0 of 1: alone")) << alone.out;
  const std::string hydra = "PMI_RANK=0 PMI_SIZE=4 PMI_FD=9 ";
  const Answer one = tutti_run("info --launch", hydra);
  EXPECT_EQ(one.code, 0);
  EXPECT_TRUE(has(one.out, "this is rank 0 of 4: Hydra; the ranks meet over: PMI")) << one.out;
  const Answer both =
      tutti_run("info --launch", hydra + "OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=3");
  EXPECT_EQ(both.code, 4);
  EXPECT_TRUE(has(both.out, "\nHydra ")) << both.out;
  EXPECT_TRUE(has(both.out, "\nOpen MPI ")) << both.out;
  EXPECT_TRUE(has(both.out, "the launchers disagree")) << both.out;
  EXPECT_EQ(tutti_run("info --launch", "TUTTI_TIMOUT=3").code, 4);
  EXPECT_EQ(tutti_run("info --launch --json").code, 2);
}

}  // namespace
}  // namespace tutti::v0
