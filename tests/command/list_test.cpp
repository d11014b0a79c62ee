// list, verify and info print facts about the library.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <set>
#include <string>

#include <tutti/operators.hpp>
#include <tutti/spi/algorithm.hpp>

#include "runtime/security/tls.hpp"
#include "tests/command/runner.hpp"

namespace tutti::v0 {
namespace {

using nlohmann::json;

bool is_ascii(const std::string& text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return c == '\n' || (c >= ' ' && c <= '~'); });
}

TEST(CommandList, NamesEveryRow) {
  const Answer run = tutti_run("list");
  EXPECT_EQ(run.code, 0);
  EXPECT_EQ(run.err, "");
  EXPECT_TRUE(is_ascii(run.out));
  for (const Algorithm& row : catalog()) {
    EXPECT_TRUE(has(run.out, "\n  " + std::string{row.name})) << row.name;
    EXPECT_TRUE(has(run.out, std::string{row.summary})) << row.name;
  }
  EXPECT_TRUE(has(run.out, "knomial[:k=4]"));
  EXPECT_TRUE(has(run.out, "circulant[:b=8]"));
  EXPECT_TRUE(has(run.out, "multitree:graph=torus:4x4"));
  EXPECT_TRUE(has(run.out, "hierarchical(A, B):groups=4"));
  EXPECT_TRUE(has(run.out, "even numbers of ranks"));
  EXPECT_TRUE(has(run.out, "ordered (root 0)"));
}

TEST(CommandList, JsonHasEveryRowInOrder) {
  const json document = json::parse(tutti_run("list --json").out);
  ASSERT_EQ(document.size(), catalog().size());
  for (std::size_t index = 0; index < document.size(); ++index) {
    const Algorithm& row = catalog()[index];
    EXPECT_EQ(document[index].at("collective"), name_of(row.collective));
    EXPECT_EQ(document[index].at("algorithm"), row.name);
    EXPECT_EQ(document[index].at("rotational"), row.traits.rotational);
    EXPECT_EQ(document[index].at("segment_bytes"), row.segment_bytes);
    EXPECT_EQ(document[index].at("key"), key_of(row.parameter));
  }
}

// On eight ranks a ring sends an eighth of the vector in each of 14 rounds.
TEST(CommandList, JsonHasCosts) {
  const json document = json::parse(tutti_run("list --json").out);
  for (const json& row : document) {
    const json& costs = row.at("costs");
    EXPECT_EQ(costs.contains("vectors_sent"), row.at("collective") != "barrier") << row;
    EXPECT_EQ(costs.at("ranks"), row.at("algorithm") == "slim_fly" ? 18 : 8) << row;
    EXPECT_GT(costs.at("rounds"), 0) << row;
  }
  const json& ring = document[0].at("costs");
  EXPECT_EQ(document[0].at("algorithm"), "ring");
  EXPECT_EQ(ring.at("choice"), "ring");
  EXPECT_EQ(ring.at("rounds"), 14);
  EXPECT_DOUBLE_EQ(ring.at("vectors_sent"), 1.75);
  const json rows = json::parse(tutti_run("list --json --collective all_to_all").out);
  EXPECT_EQ(rows[0].at("algorithm"), "direct");
  EXPECT_DOUBLE_EQ(rows[0].at("costs").at("vectors_sent"), 0.875);
}

TEST(CommandList, RowThatIsNotProvedHasNoCosts) {
  const json rows = json::parse(
      tutti_run("list --json --collective all_reduce --load " TUTTI_WRONG_ALGORITHM).out);
  EXPECT_EQ(rows.back().at("algorithm"), "forgetful");
  EXPECT_TRUE(rows.back().at("costs").is_null());
}

TEST(CommandList, OneCollectiveHasItsRowsOnly) {
  const json document = json::parse(tutti_run("list --json --collective scatter,barrier").out);
  std::set<std::string> collectives;
  for (const json& row : document) collectives.insert(row.at("collective"));
  EXPECT_EQ(collectives, (std::set<std::string>{"barrier", "scatter"}));
}

TEST(CommandVerify, ProvesEveryRowAndSaysHow) {
  const Answer run = tutti_run("verify --ranks 1:9 --build 64");
  EXPECT_EQ(run.code, 0) << run.out << run.err;
  EXPECT_TRUE(is_ascii(run.out));
  const std::string rows = std::to_string(catalog().size());
  EXPECT_TRUE(has(run.out, "# " + rows + " of " + rows + " rows proved")) << run.out;
  EXPECT_TRUE(has(run.out, "# " + rows + " rows built for 64 ranks or the next fewer")) << run.out;
  for (const char* given :
       {"# all_reduce multitree:graph=torus:8x8 for 64 ranks in ",
        "# all_reduce slim_fly for 50 ranks in ",
        "# barrier hierarchical(dissemination:k=2, dissemination:k=3):groups=8 for 64 ranks in "})
    EXPECT_TRUE(has(run.out, given)) << run.out;
  EXPECT_FALSE(has(run.out, "does not build")) << run.out;
  EXPECT_TRUE(has(run.out, "rejects 3, 5, 6, 7"));
  // On nine ranks, twice eight rounds with eight ninths of the vector each.
  EXPECT_TRUE(
      has(run.out, "all_reduce     ring                       9      9     16     16  1.778"))
      << run.out;
}

TEST(CommandVerify, SaysWhatIsProvedBeyondTheRange) {
  const Answer run = tutti_run(
      "verify --ranks 2 --collective all_reduce --algorithm slim_fly,multitree,ring "
      "--slim-fly-to 32");
  EXPECT_EQ(run.code, 0) << run.out << run.err;
  const std::string also = "and Slim Flies of 18, 32 ranks\n";
  const std::size_t first = run.out.find(also);
  ASSERT_NE(first, run.out.npos) << run.out;
  const std::size_t second = run.out.find(also, first + 1);
  ASSERT_NE(second, run.out.npos) << run.out;
  EXPECT_EQ(run.out.find(also, second + 1), run.out.npos) << "a ring is not about networks";
  EXPECT_FALSE(has(run.out, "sample"));
  EXPECT_TRUE(has(tutti_run("verify --ranks 2 --algorithm ring --sample-to 3").out,
                  "and a sample of 3, 3, 3 ranks\n"));
}

TEST(CommandVerify, ProvesSingleChoices) {
  const Answer run = tutti_run(
      "verify --ranks 12 --collective all_reduce --algorithm "
      "'ring,hierarchical(circulant, ring):groups=5+4+3,multitree:graph=torus:4x3'");
  EXPECT_EQ(run.code, 0) << run.out << run.err;
  EXPECT_TRUE(has(run.out, "hierarchical(circulant, ring):groups=5+4+3")) << run.out;
  EXPECT_TRUE(has(run.out, "multitree:graph=torus:4x3")) << run.out;
  EXPECT_TRUE(has(run.out, "# 3 of 3 rows proved, 3 shapes")) << run.out;
  EXPECT_EQ(tutti_run("verify --ranks 7 --algorithm multitree:graph=torus:4x3").code, 2)
      << "nothing to prove";
}

TEST(CommandVerify, JsonTellsRoundsAndVolume) {
  const json document = json::parse(
      tutti_run("verify --ranks 8 --collective all_reduce,all_to_all --algorithm ring,pairwise "
                "--json")
          .out);
  ASSERT_EQ(document.size(), 2u);
  const json& ring = document[0].at("sizes").at(0);
  EXPECT_EQ(ring.at("ranks"), 8);
  EXPECT_EQ(ring.at("rounds"), 14);
  EXPECT_EQ(ring.at("depth"), 14);
  EXPECT_EQ(ring.at("messages"), 112);
  EXPECT_DOUBLE_EQ(ring.at("vectors_sent"), 1.75);
  EXPECT_DOUBLE_EQ(document[1].at("sizes").at(0).at("vectors_sent"), 0.875);
  EXPECT_EQ(document[0].at("proved"), true);
}

// In a chain no rank has more than two rounds, but the last one waits for all others.
TEST(CommandVerify, DepthIsThatOfAllRanksTogether) {
  const json document =
      json::parse(tutti_run("verify --ranks 9 --collective reduce --algorithm chain --json").out);
  EXPECT_EQ(document.at(0).at("sizes").at(0).at("rounds"), 2);
  EXPECT_EQ(document.at(0).at("sizes").at(0).at("depth"), 8);
}

TEST(CommandVerify, WhatServesNoneOfTheSizesIsNotProved) {
  const std::string arguments =
      "verify --ranks 3 --collective all_gather --algorithm recursive_doubling";
  const Answer run = tutti_run(arguments);
  EXPECT_EQ(run.code, 2) << run.out;
  EXPECT_TRUE(has(run.out, "nothing to prove")) << run.out;
  EXPECT_TRUE(has(run.out, "rejects 3: ")) << run.out;
  EXPECT_TRUE(has(run.out, "powers of two")) << run.out;
  EXPECT_TRUE(has(run.out, "# 0 of 1 rows proved, 1 with nothing to prove")) << run.out;
  EXPECT_FALSE(has(run.out, "rotational")) << run.out;
  const Answer machine = tutti_run(arguments + " --json");
  EXPECT_EQ(machine.code, 2);
  const json row = json::parse(machine.out).at(0);
  EXPECT_TRUE(row.at("proved").is_null());
  EXPECT_EQ(row.at("shapes"), 0);
  EXPECT_TRUE(row.at("properties").empty());
  EXPECT_EQ(row.at("refusals").at(0).at("ranks"), 3);
}

TEST(CommandVerify, ARowWithNothingToProveDoesNotHideTheOthers) {
  const Answer run =
      tutti_run("verify --ranks 7 --collective all_gather --algorithm neighbor_exchange,ring");
  EXPECT_EQ(run.code, 0) << run.out;
  EXPECT_TRUE(has(run.out, "nothing to prove")) << run.out;
  EXPECT_TRUE(has(run.out, "# 1 of 2 rows proved, 1 with nothing to prove")) << run.out;
}

TEST(CommandInfo, TellsWhatThereIsAndWhyNotMore) {
  const Answer run = tutti_run("info");
  EXPECT_EQ(run.code, 0);
  EXPECT_TRUE(is_ascii(run.out));
  for (const char* word : {"compiler", "launcher", "cores", "kernels", "f32", "min_loc", "sim"})
    EXPECT_TRUE(has(run.out, word)) << word;
  const json document = json::parse(tutti_run("info --json").out);
  EXPECT_EQ(document.at("operators").size(), static_cast<std::size_t>(kOperatorKinds));
  EXPECT_EQ(document.at("algorithms"), catalog().size());
  EXPECT_EQ(document.at("backends").at("sim").at("available"), true);
  EXPECT_EQ(document.at("backends").at("mpi").at("available"), !document.at("mpi").empty());
  EXPECT_EQ(document.at("backends").at("hybrid").at("available"), true);
  EXPECT_EQ(document.at("backends").at("tls").at("available"), runtime::has_tls());
}

}  // namespace
}  // namespace tutti::v0
