// Under a real launcher, as under its variables alone.
#include <gtest/gtest.h>

#include <string>

#include "tests/command/runner.hpp"

namespace tutti::v0 {
namespace {

TEST(CommandLaunched, ARealLauncherGetsOneAnswer) {
  const std::string before = "'" TUTTI_LAUNCHER "' -n 2";
  const std::string alone = tutti_run("list").out;
  const Answer run = tutti_run("list", before);
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_EQ(run.out, alone);
  for (int repeat = 0; repeat < 4; ++repeat) {
    const Answer mistake = tutti_run("show all_reduce rng", before);
    EXPECT_EQ(mistake.code, 2) << "the job's, though one rank alone failed";
    EXPECT_EQ(mistake.out, "");
    EXPECT_TRUE(has(mistake.err, "did you mean ring?")) << mistake.err;
  }
}

}  // namespace
}  // namespace tutti::v0
