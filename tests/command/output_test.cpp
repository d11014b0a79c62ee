// Output that cannot be written: one line that says so, exit code 4, and no half file.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/command/runner.hpp"

namespace tutti::v0 {
namespace {

/// Prefix of a command whose standard output is a full disk.
const std::string kFullDisk = R"(sh -c '"$@" >/dev/full' sh)";

constexpr const char* kSmallSweep = "sweep -C all_reduce -a ring -b 8 -e 8 -n 1";

/// Prefix of a command whose files have at most this number of blocks of 512 bytes.
std::string with_files_of(int blocks) {
  return "sh -c 'ulimit -f " + std::to_string(blocks) + R"(; exec "$@"' sh)";
}

TEST(CommandOutput, ThatCannotBeWrittenIsAMatterOfTheEnvironment) {
  for (const char* const arguments :
       {"list", "--help", "--version", "list --help", kSmallSweep, "run -n 2 --label echo ready",
        "lint -C all_reduce -b 8 -e 8 --ranks 2", "topology switch:4", "simulate switch:4 -a ring",
        "sweep -C all_reduce -a ring -b 8 -e 8 -n 1 --ranks 2", "verify --ranks 2", "info"}) {
    const Answer run = tutti_run(arguments, kFullDisk);
    EXPECT_EQ(run.code, 4) << arguments;
    EXPECT_EQ(lines_in(run.err), 1) << arguments << ": " << run.err;
    EXPECT_TRUE(has(run.err, "cannot write to standard output")) << arguments << ": " << run.err;
  }
}

TEST(CommandOutput, LeavesNoHalfFile) {
  const std::string path = testing::TempDir() + "tutti_output_test.txt";
  const Answer run =
      tutti_run("show all_reduce ring --ranks 64 --output '" + path + "'", with_files_of(1));
  EXPECT_EQ(run.code, 4);
  EXPECT_EQ(lines_in(run.err), 1) << run.err;
  EXPECT_TRUE(has(run.err, "cannot write '" + path + "': File too large")) << run.err;
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(CommandOutput, SaysThatADiskIsFullAndRemovesNoDevice) {
  const std::string link = testing::TempDir() + "tutti_output_test.svg";
  std::filesystem::remove(link);
  std::filesystem::create_symlink("/dev/full", link);
  for (const std::string& arguments :
       {"show all_reduce ring --output '" + link + "'", kSmallSweep + (" --plot '" + link + "'")}) {
    const Answer run = tutti_run(arguments);
    EXPECT_EQ(run.code, 4) << arguments;
    EXPECT_EQ(lines_in(run.err), 1) << arguments << ": " << run.err;
    EXPECT_TRUE(has(run.err, "cannot write '" + link + "': No space left on device"))
        << arguments << ": " << run.err;
    EXPECT_TRUE(std::filesystem::exists("/dev/full"));
    EXPECT_TRUE(std::filesystem::is_symlink(link));
  }
  std::filesystem::remove(link);
}

TEST(CommandOutput, KeepsAFileThatItMayNotOpen) {
  const std::string folder = testing::TempDir() + "tutti_output_test_folder";
  std::filesystem::create_directory(folder);
  const Answer run = tutti_run("show all_reduce ring --output '" + folder + "'");
  EXPECT_EQ(run.code, 4);
  EXPECT_TRUE(has(run.err, "cannot write '" + folder + "': Is a directory")) << run.err;
  EXPECT_TRUE(std::filesystem::exists(folder));
  std::filesystem::remove(folder);
}

}  // namespace
}  // namespace tutti::v0
