// show prints the schedule that the library would run.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>

#include "tests/command/runner.hpp"

namespace tutti::v0 {
namespace {

using nlohmann::json;

std::string content_of(const std::string& path) {
  std::ifstream file{path};
  return {std::istreambuf_iterator<char>{file}, {}};
}

TEST(CommandShow, PrintsText) {
  const Answer run = tutti_run("show all_reduce ring --ranks 3 --rank 1");
  EXPECT_EQ(run.code, 0);
  EXPECT_EQ(run.out,
            "ring all_reduce, 3 ranks, 3 units\n"
            "rank 1\n"
            "  round 0: send         out[0]  -> 2\n"
            "           recv_reduce  out[2]  <- 0 (left)\n"
            "  round 1: send         out[2]  -> 2\n"
            "           recv_reduce  out[1]  <- 0 (left)\n"
            "           finish       out[1]\n"
            "  round 2: send         out[1]  -> 2\n"
            "           recv         out[0]  <- 0\n"
            "  round 3: send         out[0]  -> 2\n"
            "           recv         out[2]  <- 0\n");
}

TEST(CommandShow, PrintsJsonWithParametersAndRoot) {
  const json document =
      json::parse(tutti_run("show broadcast knomial:k=3 --ranks 9 --root 4 --format json").out);
  EXPECT_EQ(document.at("algorithm"), "knomial:k=3");
  EXPECT_EQ(document.at("root"), 4);
  EXPECT_EQ(document.at("ranks").size(), 9u);
}

TEST(CommandShow, TheDefaultRadixIsTheCatalogs) {
  EXPECT_TRUE(has(tutti_run("show broadcast knomial").out, "knomial:k=4 broadcast, 8 ranks"));
}

TEST(CommandShow, WritesPicturesToFiles) {
  const std::string path = testing::TempDir() + "tutti_show_test.svg";
  std::remove(path.c_str());
  const Answer run = tutti_run("show all_gather bruck --format svg --output '" + path + "'");
  EXPECT_EQ(run.code, 0);
  EXPECT_EQ(run.out, "");
  const std::string svg = content_of(path);
  EXPECT_TRUE(has(svg, "<svg "));
  EXPECT_TRUE(has(svg, "bruck:k=2 all_gather on 8 ranks"));
  std::remove(path.c_str());
}

TEST(CommandShow, DrawsThePictureOfTheReadme) {
  const Answer run = tutti_run("show all_reduce ring --ranks 4 --format svg");
  EXPECT_EQ(run.out, content_of(TUTTI_DOCS "/ring.svg"))
      << "look at both; if it is better, keep it";
}

TEST(CommandShow, ReadsNetworksFromFiles) {
  const std::string path = testing::TempDir() + "tutti_show_test_network.txt";
  const auto show = [&](const char* links) {
    std::ofstream{path} << links;
    return tutti_run("show all_reduce multitree:graph=@" + path + " --ranks 3 --rank 0");
  };
  const Answer run = show("0 1  # a path\n1 2\n");
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_TRUE(has(run.out, "multitree:graph=edges:0-1+1-2 all_reduce, 3 ranks")) << run.out;
  const Answer bad = show("0 1\n1 1\n");
  EXPECT_EQ(bad.code, 2);
  EXPECT_TRUE(has(bad.err, path + ": line 2: router 1 is linked with itself")) << bad.err;
  std::remove(path.c_str());
}

TEST(CommandShow, PrintsAlgorithmsMadeOfOthers) {
  const Answer run =
      tutti_run("show all_reduce 'hierarchical(circulant, ring):groups=2' --ranks 4");
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_TRUE(has(run.out, "hierarchical(circulant, ring):groups=2 all_reduce, 4 ranks, 4 units"));
}

TEST(CommandShow, ABadFileIsAMatterOfTheEnvironment) {
  const Answer run = tutti_run("show all_gather ring --output /nonexistent/file");
  EXPECT_EQ(run.code, 4);
  EXPECT_EQ(lines_in(run.err), 1);
  EXPECT_TRUE(has(run.err, "/nonexistent/file"));
}

}  // namespace
}  // namespace tutti::v0
