// simulate says what algorithms take on a network.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <set>
#include <string>

#include <tutti/spi/algorithm.hpp>

#include "tests/command/runner.hpp"

namespace tutti::v0 {
namespace {

using nlohmann::json;

json simulated(const std::string& arguments) {
  const Answer run = tutti_run("simulate --json " + arguments);
  EXPECT_EQ(run.code, 0) << run.err;
  return json::parse(run.out);
}

TEST(CommandSimulate, HasEveryAlgorithmThatNeedsNoNetworkOfItsOwn) {
  const json all = simulated("switch:8 -C all_gather -b 64K");
  std::set<std::string> names, expected;
  for (const json& one : all) names.insert(one.at("algorithm"));
  for (const Algorithm& row : catalog())
    if (row.collective == Collective::all_gather && has_default(row.parameter) &&
        admits(row.traits.sizes, 8))
      expected.insert(Choice{.algorithm = &row, .number = row.default_number}.text());
  EXPECT_EQ(names, expected);
  EXPECT_TRUE(
      std::ranges::is_sorted(all, {}, [](const json& one) { return one.at("us").get<double>(); }));
}

// On a torus the ring's messages go to neighbours; halving sends half of the vector far first.
TEST(CommandSimulate, FindsThatNetworksDiffer) {
  const std::string algorithms = " -C all_reduce -b 16M -a ring -a rabenseifner";
  const json flat = simulated("switch:16" + algorithms);
  const json torus = simulated("torus:16" + algorithms);
  const double least = 2.0 * 15 / 16 * (16 << 20) * 0.08 / 1000;  // us, of the bytes alone
  EXPECT_EQ(flat.at(0).at("algorithm"), "rabenseifner");
  EXPECT_EQ(torus.at(0).at("algorithm"), "ring");
  EXPECT_LT(torus.at(0).at("us").get<double>(), 1.8 * least);
  EXPECT_GT(torus.at(1).at("us").get<double>(), 2 * least);
  EXPECT_EQ(torus.at(0).at("messages"), 2 * 15 * 16);
}

TEST(CommandSimulate, PutsSeveralRanksOnAHost) {
  const json all =
      simulated("switch:4 --per-host 4 -b 4K -a ring -a 'hierarchical(binomial, ring)'");
  EXPECT_EQ(all.at(0).at("algorithm"), "hierarchical(binomial, ring):groups=4+4+4+4");
  EXPECT_EQ(all.at(1).at("messages"), 2 * 15 * 16);
  // In two of its four rounds each host's link carries four vectors; in the others memory does.
  const double ran = simulated("switch:4 --per-host 4 -b 4M -a recursive_doubling").at(0).at("us");
  const double link = 2 * 4 * (4 << 20) * 0.08 / 1000, memory = 2 * (4 << 20) * 0.1 / 1000;
  EXPECT_NEAR(ran, link + memory, 0.25 * ran);
  const Answer few = tutti_run("simulate switch:4 --per-host 4 --ranks 17");
  EXPECT_EQ(few.code, 2) << few.out;
  EXPECT_TRUE(has(few.err, "16")) << few.err;
}

TEST(CommandSimulate, RunsSegmentsAsCallsDo) {
  const json usual = simulated("switch:8 -b 4M -a segmented_ring");
  EXPECT_EQ(usual.at(0).at("segments"), 16);
  const json whole = simulated("switch:8 -b 4M -a segmented_ring --segment whole");
  EXPECT_EQ(whole.at(0).at("segments"), 1);
  EXPECT_EQ(usual.at(0).at("messages").get<int>(), 16 * whole.at(0).at("messages").get<int>());
  EXPECT_EQ(simulated("switch:8 -b 4M -a chain -C broadcast --segment 1M").at(0).at("segments"), 4);
  const Answer wrong = tutti_run("simulate switch:8 --segment some");
  EXPECT_EQ(wrong.code, 2);
  EXPECT_TRUE(has(wrong.err, "--segment 'some' is not a size")) << wrong.err;
}

TEST(CommandSimulate, PrintsATable) {
  const Answer run = tutti_run("simulate fat_tree:4x2 -C broadcast -b 1M -a binomial -a chain");
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_TRUE(has(run.out,
                  "broadcast of 1048576 bytes on 8 ranks, network fat_tree:4x2:up=1x4, "
                  "routing fixed\n"))
      << run.out;
  EXPECT_TRUE(has(run.out, "\nbinomial ")) << run.out;
  EXPECT_TRUE(has(run.out, "  1.00 ")) << run.out;
}

TEST(CommandSimulate, SaysWhatWouldBeRight) {
  const std::pair<const char*, const char*> refused[]{
      {"simulate taurus:4", "not a network: known are"},
      {"simulate switch:8 -a rign", "did you mean ring"},
      {"simulate switch:8 -C all_gathr", "did you mean all_gather"},
      {"simulate switch:8 -C all_gather -a neighbor_exchange --ranks 5", "even"},
      {"simulate switch:8 --ranks 9", "--ranks"},
      {"simulate switch:8 -b 1Q", "1Q"},
      {"simulate switch:8 --routing random", "random"},
      {"simulate switch:9999", "9999 ranks: give --ranks"},
  };
  for (const auto& [arguments, words] : refused) {
    const Answer run = tutti_run(arguments);
    EXPECT_EQ(run.code, 2) << arguments;
    EXPECT_TRUE(has(run.err, words)) << arguments << ": " << run.err;
  }
}

// A hierarchy that says no groups takes the outmost level's, which are hosts.
TEST(CommandSimulate, KnowsTheHostsOfGpus) {
  const std::string two = "hierarchical(circulant, ring)";
  const json all = simulated("gpus:4x2 -b 64M -a ring -a \"" + two + "\"");
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].at("algorithm"), two + ":groups=4+4") << all.dump(1);
  EXPECT_LT(all[0].at("busiest_link_bytes"), all[1].at("busiest_link_bytes"));
}

}  // namespace
}  // namespace tutti::v0
