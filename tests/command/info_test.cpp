// info says what GPUs there are, and what joins them, on the stand-ins for the driver and NCCL.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "tests/command/runner.hpp"

namespace tutti::v0 {
namespace {

using nlohmann::json;

/// @param devices how many. @param links as CUDA_STANDIN_LINKS. @return what stands before a run.
std::string with_gpus(int devices, const std::string& links) {
  return "LD_LIBRARY_PATH=" TUTTI_STANDINS ":$LD_LIBRARY_PATH CUDA_STANDIN_DEVICES=" +
         std::to_string(devices) + " CUDA_STANDIN_LINKS=" + links;
}

TEST(CommandInfo, SaysWhatJoinsGpus) {
  const Answer run = tutti_run("info", with_gpus(3, "0-1,1x2"));
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_TRUE(has(run.out,
                  "\n  links           gpu 0   gpu 1   gpu 2\n"
                  "    gpu 0         -       NVLink  P2P\n"
                  "    gpu 1         NVLink  -       none\n"
                  "    gpu 2         P2P     none    -\n"))
      << run.out;
  EXPECT_TRUE(has(run.out, "\n  nccl        yes version 2.")) << run.out;
  EXPECT_TRUE(has(run.out, "\n  cuda        yes ")) << run.out;
}

TEST(CommandInfo, HasLinksOfGpusInJson) {
  const json cuda = json::parse(tutti_run("info --json", with_gpus(2, "0x1")).out).at("cuda");
  EXPECT_EQ(cuda.at("gpus").size(), 2U);
  EXPECT_EQ(cuda.at("links"), json::parse(R"([["-", "none"], ["none", "-"]])"));
  EXPECT_TRUE(cuda.at("nccl").get<std::string>().starts_with("2."));
}

TEST(CommandInfo, ReportsWhatOverridesNcclsMode) {
  const std::string gpus = with_gpus(1, "");
  const std::string line = "NCCL_COMM_BLOCKING=0 overrides cuda::AttachOptions::nonblocking\n";
  EXPECT_TRUE(has(tutti_run("info", gpus + " NCCL_COMM_BLOCKING=0").out, line));
  EXPECT_FALSE(has(tutti_run("info", gpus).out, line));
}

TEST(CommandInfo, HasNoLinksOfOneGpu) {
  const Answer run = tutti_run("info", with_gpus(1, ""));
  EXPECT_TRUE(has(run.out, "\n  gpu 0 ")) << run.out;
  EXPECT_FALSE(has(run.out, "links")) << run.out;
}

}  // namespace
}  // namespace tutti::v0
