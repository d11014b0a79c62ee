// explain says which algorithm would run on a network, and what each would cost.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/command/runner.hpp"

namespace tutti::v0 {
namespace {

using nlohmann::json;

json explained(const std::string& arguments) {
  const Answer run = tutti_run("explain --json " + arguments);
  EXPECT_EQ(run.code, 0) << run.err;
  return json::parse(run.out);
}

TEST(CommandExplain, TheChoiceIsTheLeastOfAllAndTermsAddUp) {
  for (const char* const network : {"switch:16", "torus:4x4", "slim_fly:3", "fat_tree:4x4:up=1x2"})
    for (const char* const collective : {"all_reduce", "all_gather", "broadcast", "all_to_all"})
      for (const json& size :
           explained(std::string{"--topology "} + network + " -b 1K,1M -C " + collective)) {
        const json& first = size.at("candidates").front();
        EXPECT_EQ(size.at("chosen"), first.at("algorithm"));
        for (const json& one : size.at("candidates")) {
          if (one.contains("left_out")) continue;
          EXPECT_GE(one.at("us").get<double>(), first.at("us").get<double>());
          EXPECT_NEAR(one.at("us").get<double>(),
                      one.at("latency_us").get<double>() + one.at("messages_us").get<double>() +
                          one.at("links_us").get<double>() + one.at("reductions_us").get<double>(),
                      1e-6);
        }
      }
}

std::string chosen(const std::string& arguments) {
  return explained(arguments).front().at("chosen");
}

TEST(CommandExplain, NetworksDifferInWhatSuitsThem) {
  // Ranks of a host share its link: lanes and leaders keep messages from it.
  EXPECT_EQ(chosen("--topology switch:4 --per-host 8 -b 64K").substr(0, 12), "hierarchical");
  EXPECT_EQ(chosen("--topology switch:32 -b 256M").substr(0, 12).find("hierarchical"),
            std::string::npos);
  EXPECT_EQ(chosen("--topology slim_fly:5 -b 64K"), "slim_fly");
  EXPECT_EQ(chosen("--topology torus:4x4x4 -b 1M"), "bucket:graph=torus:4x4x4");
}

TEST(CommandExplain, SaysItInWords) {
  const Answer run = tutti_run("explain --topology torus:4x4 -b 64K");
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_TRUE(has(run.out, "all_reduce of 65536 bytes on 16 ranks: ")) << run.out;
  EXPECT_TRUE(has(run.out, "at the speeds of network torus:4x4")) << run.out;
  EXPECT_TRUE(has(run.out, "slim_fly: left out, it supports 2 q^2 ranks")) << run.out;
  EXPECT_TRUE(has(run.out, "latency ")) << run.out;
}

TEST(CommandExplain, RefusesWhatItCannotPlace) {
  const auto told = [](const std::string& arguments, const std::string& why) {
    const Answer run = tutti_run("explain " + arguments);
    EXPECT_EQ(run.code, 2) << arguments;
    EXPECT_TRUE(has(run.err, why)) << run.err;
  };
  told("--topology switch:4 --ranks 5", "--ranks '5' is not a number in 1 .. 4");
  told("--topology switch:4 --per-host 2 --ranks 9", "--ranks '9' is not a number in 1 .. 8");
  told("--topology nowhere.json", "nowhere.json");
  told("--topology switch:4 -b much", "--bytes 'much' is not a size");
  told("--topology switch:4 -C sum", "'sum'");
  told("-b 8", "--topology is required");
}

}  // namespace
}  // namespace tutti::v0
