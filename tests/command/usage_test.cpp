// A wrong command line: one line that names the offender and what would be right, exit code 2.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "algorithms/nearest_word.hpp"
#include "tests/command/runner.hpp"

namespace tutti::v0 {
namespace {

struct Mistake {
  std::string arguments;
  std::vector<std::string> said;
};

const std::vector<Mistake> kMistakes{
    {"", {"list", "show", "verify", "info", "doctor", "sweep", "gradients", "run"}},
    {"verfy", {"unknown command 'verfy'", "did you mean verify?"}},
    {"list --jsn", {"unknown flag '--jsn'; did you mean --json?; see tutti list --help"}},
    {"sweep --buget 1s", {"'--buget'; did you mean --budget?; see tutti sweep --help"}},
    {"sweep --qqqqqqqq", {"unknown flag '--qqqqqqqq'; see tutti sweep --help"}},
    {"sweep --al all", {"unknown flag '--al'; did you mean --algorithm, --align?"}},
    {"run --labl true", {"did you mean --label?; see tutti run --help"}},
    {"sweep --csv - --json -", {"name a file for one of them"}},
    {"sweep --quiet --format osu", {"--format osu is for the table"}},
    {"sweep --format ous", {"unknown format 'ous'", "did you mean osu?"}},
    {"sweep -C bcas", {"unknown collective 'bcas'"}},
    {"help sweeep", {"unknown command 'sweeep'", "did you mean sweep?"}},
    {"list --collective=al_reduce",
     {"unknown collective 'al_reduce'", "barrier", "did you mean all_reduce?"}},
    {"list --collective ''", {"unknown collective ''"}},
    {"show all_reduce rng", {"unknown algorithm 'rng'", "rabenseifner", "did you mean ring?"}},
    {"show all_reduce", {"algorithm is required"}},
    {"show all_reduce ring more", {"'more'"}},
    {"show all_reduce ring --ranks", {"--ranks"}},
    {"show all_reduce ring --ranks 8x", {"--ranks '8x'", "1 .. 4096"}},
    {"show all_reduce ring --ranks 0", {"--ranks '0'", "1 .. 4096"}},
    {"show all_reduce ring --ranks 4 --rank 4", {"--rank '4'", "0 .. 3"}},
    {"show all_reduce ring --root 1", {"all_reduce has no root"}},
    {"show all_reduce ring:k=2", {"has no parameter"}},
    {"show broadcast knomial:k=1", {"must be in 2 .. 1024"}},
    {"show broadcast circulant:b=0", {"'0'", "not a positive number"}},
    {"show broadcast circulant:b=1025", {"the blocks in", "must be in 1 .. 1024"}},
    {"show broadcast circulant:k=4", {"unknown parameter 'k=4'", "expected circulant:b=4"}},
    {"show all_gather pat:a=3", {"a power of two", "not 3"}},
    {"show all_reduce circulant:skips=1", {"skip 1 after 8", "4 .. 7"}},
    {"show all_gather neighbor_exchange --ranks 7", {"even numbers of ranks", "not 7"}},
    {"show all_reduce multitree", {"it needs a network", "multitree:graph=torus:4x4"}},
    {"show all_reduce multitree:graph=ring:4",
     {"multitree:graph=ring:4 all_reduce cannot serve 8 ranks", "one rank on each router"}},
    {"show all_reduce multitree:graph=tours:4x2", {"unknown graph 'tours'", "did you mean torus?"}},
    {"show all_reduce multitree:graph=@/no/such", {"/no/such: no such file"}},
    {"show all_reduce slim_fly", {"2 q^2 ranks for prime powers q from 3 on", "not 8"}},
    {"show all_reduce 'hierarchical(ring, rig):groups=2'",
     {"unknown algorithm 'rig'", "did you mean ring?"}},
    {"show all_reduce 'hierarchical(ring, ring):groups=9'",
     {"cannot serve 8 ranks: it would have 9 groups"}},
    {"show all_reduce ring --format sgv", {"unknown format 'sgv'", "did you mean svg?"}},
    {"show all_reduce ring --format svg --ranks 65", {"--ranks 64 or fewer"}},
    {"verify --ranks 5:2", {"--ranks '5:2'", "1:64"}},
    {"verify --ranks 1:2:3", {"--ranks '1:2:3'"}},
    {"verify --sample-to many", {"--sample-to 'many'"}},
    {"verify --slim-fly-to all", {"--slim-fly-to 'all'"}},
    {"verify --algorithm rig", {"unknown algorithm 'rig'", "did you mean ring?"}},
};

TEST(CommandUsage, MistakesAreNamedInOneLine) {
  for (const Mistake& mistake : kMistakes) {
    const Answer run = tutti_run(mistake.arguments);
    EXPECT_EQ(run.code, 2) << mistake.arguments;
    EXPECT_EQ(run.out, "") << mistake.arguments;
    EXPECT_EQ(lines_in(run.err), 1) << run.err;
    for (const std::string& part : mistake.said)
      EXPECT_TRUE(has(run.err, part)) << mistake.arguments << ": " << run.err;
  }
}

TEST(CommandUsage, ASweepOfAnAlgorithmThatIsWrongMeasuresNothing) {
  const std::string sweep =
      "sweep --ranks 3 -C all_reduce -b 8 -e 8 -n 1 --load " TUTTI_WRONG_ALGORITHM;
  for (const char* const algorithms : {" -a forgetful", " -a ring,forgetful,auto",
                                       " -a 'hierarchical(ring, forgetful):groups=3'"}) {
    const Answer run = tutti_run(sweep + algorithms);
    EXPECT_EQ(run.code, 2) << algorithms;
    EXPECT_EQ(run.out, "") << algorithms;
    EXPECT_EQ(lines_in(run.err), 1) << run.err;
    EXPECT_TRUE(has(run.err, "forgetful")) << run.err;
    EXPECT_TRUE(has(run.err, "the result lacks the contribution of rank 1")) << run.err;
  }
  const Answer run = tutti_run(sweep);  // of all there are it is left out, and that is said
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_TRUE(has(run.out, "# forgetful takes no part: ")) << run.out;
}

TEST(CommandUsage, HelpFitsATerminal) {
  for (const char* command :
       {"", "list", "show", "verify", "info", "doctor", "sweep", "gradients", "calibrate", "tune", "export",
        "lint", "topology", "simulate", "explain", "run", "exec", "help", "version"}) {
    const Answer run = tutti_run(std::string{command} + " --help");
    EXPECT_EQ(run.code, 0);
    EXPECT_EQ(run.err, "");
    EXPECT_LE(lines_in(run.out), std::string_view{command} == "sweep" ? 66 : 42) << command;
    std::size_t begin = 0;
    for (std::size_t end = 0; (end = run.out.find('\n', begin)) != std::string::npos;
         begin = end + 1)
      EXPECT_LE(end - begin, 80u) << run.out.substr(begin, end - begin);
  }
}

TEST(CommandUsage, VersionIsOneLine) {
  const Answer run = tutti_run("--version");
  EXPECT_EQ(run.code, 0);
  EXPECT_EQ(lines_in(run.out), 1);
  EXPECT_EQ(run.out.rfind("tutti ", 0), 0u);
  EXPECT_EQ(tutti_run("version").out, run.out);
}

TEST(CommandUsage, HelpIsACommandToo) {
  EXPECT_EQ(tutti_run("help").out, tutti_run("--help").out);
  EXPECT_EQ(tutti_run("help sweep").out, tutti_run("sweep --help").out);
}

TEST(CommandUsage, HelpOfASweepHasGroupsAndThreeExamples) {
  const std::string help = tutti_run("sweep --help").out;
  for (const char* const group :
       {"Calls", "Samples", "Ranks and memory", "Output", "Comparison of runs"})
    EXPECT_TRUE(has(help, std::string{"\n"} + group + ":\n")) << group;
  const std::string examples = help.substr(help.find("\nExamples:\n"));
  EXPECT_EQ(lines_in(examples.substr(0, examples.find("\n\n"))), 1 + 3) << examples;
}

TEST(CommandUsage, CollectivesHaveTheNamesOfOtherLibraries) {
  const auto shown = [](const std::string& collective, const std::string& algorithm) {
    return tutti_run("show " + collective + " " + algorithm).out;
  };
  for (const char* const name : {"allreduce", "all-reduce", "AllReduce"})
    EXPECT_EQ(shown(name, "ring"), shown("all_reduce", "ring")) << name;
  for (const char* const name : {"reducescatter", "reduce-scatter"})
    EXPECT_EQ(shown(name, "ring"), shown("reduce_scatter", "ring")) << name;
  EXPECT_EQ(shown("bcast", "binomial"), shown("broadcast", "binomial"));
  EXPECT_EQ(shown("allgather", "ring"), shown("all_gather", "ring"));
  EXPECT_EQ(tutti_run("list -C bcast,alltoall").out, tutti_run("list -C broadcast,all_to_all").out);
  EXPECT_EQ(tutti_run("list -C bcast,alltoall").code, 0);
}

TEST(NearestWord, IsTheOneWithFewestEdits) {
  using Words = std::vector<std::string_view>;
  EXPECT_EQ(nearest_word("rign", Words{"ring", "direct"}), "ring");
  EXPECT_EQ(nearest_word("recursive_dubling", Words{"ring", "recursive_doubling"}),
            "recursive_doubling");
  EXPECT_EQ(nearest_word("zzzzzzzz", Words{"ring", "direct"}), "");
  EXPECT_EQ(nearest_word("lane", Words{"ring", "bine"}), "") << "half of it is something else";
  EXPECT_EQ(nearest_word("binomail", Words{"knomial", "binomial"}), "binomial");
  EXPECT_EQ(nearest_word("k", Words{"j"}), "");
  EXPECT_EQ(nearest_word("ring", {}), "");
}

}  // namespace
}  // namespace tutti::v0
