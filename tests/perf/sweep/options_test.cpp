// Flags: what they mean, and how wrong ones are refused.
#include "perf/sweep/options.hpp"

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <fstream>
#include <iterator>

#include <tutti/transports.hpp>

#include "perf/failure.hpp"
#include "perf/sweep/candidates.hpp"
#include "perf/sweep/rounds.hpp"
#include "perf/units.hpp"

namespace tutti::perf {
namespace {

// The message and exit code with which flags are refused.
std::string refusal(const std::vector<std::string>& arguments) {
  try {
    const SweepOptions options = sweep_options(arguments);
    check_names(options, 4, true);
    for (const Collective collective : options.collectives)
      EXPECT_FALSE(candidates_for(collective, options, 3, true).empty());
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.code(), ExitCode::usage);
    return failure.what();
  }
  return {};
}

std::vector<std::string> labels(const std::vector<std::string>& arguments, int size) {
  const SweepOptions options = sweep_options(arguments);
  std::vector<std::string> result;
  for (const Candidate& candidate :
       candidates_for(options.collectives.front(), options, size, true))
    result.push_back(candidate.label);
  return result;
}

TEST(Units, ReadAndWriteWhatPeopleWrite) {
  EXPECT_EQ(parse_bytes("8"), 8u);
  EXPECT_EQ(parse_bytes("64K"), 65536u);
  EXPECT_EQ(parse_bytes("4MiB"), 4194304u);
  EXPECT_EQ(parse_bytes("1G"), 1073741824u);
  for (const char* text : {"", "K", "8Q", "-8", "8 K", "1.5M", "99999999999G", "8Kx"})
    EXPECT_FALSE(parse_bytes(text)) << text;
  EXPECT_DOUBLE_EQ(parse_seconds("200ms").value_or(0), 0.2);
  EXPECT_DOUBLE_EQ(parse_seconds("1.5").value_or(0), 1.5);
  EXPECT_FALSE(parse_seconds("5 parsecs"));
  EXPECT_DOUBLE_EQ(parse_share("10%").value_or(0), 0.1);
  EXPECT_DOUBLE_EQ(parse_share("0.25").value_or(0), 0.25);
  EXPECT_FALSE(parse_share("ten"));
  EXPECT_EQ(format_bytes(65536), "64K");
  EXPECT_EQ(format_bytes(1000), "1000");
  EXPECT_EQ(format_us(0.8712), "0.87");
  EXPECT_EQ(format_us(1234.4), "1234");
  EXPECT_EQ(format_duration(200), "3m 20s");
}

TEST(Options, FingersKnowThemFromElsewhere) {
  const SweepOptions options =
      sweep_options({"-b", "16", "-e", "64M", "-f", "4", "-n", "20", "-w", "5", "-c", "0", "-d",
                     "bfloat16", "-o", "avg", "-r", "2"});
  EXPECT_EQ(options.sizes().front(), 16u);
  EXPECT_EQ(options.sizes().back(), 64u << 20);
  EXPECT_EQ(options.sizes().size(), 12u);
  EXPECT_EQ(options.rounds.value_or(0), 20u);
  EXPECT_EQ(options.warm_up_rounds.value_or(0), 5u);
  EXPECT_FALSE(options.check);
  EXPECT_EQ(options.type, Datatype::bf16);
  EXPECT_EQ(options.op, OperatorKind::average);
  EXPECT_EQ(options.root, 2);
  EXPECT_EQ(options.collectives.size(), std::size_t{kCollectives});
}

TEST(Options, MessagesAreNamedBesideCollectives) {
  const SweepOptions both = sweep_options({"-C", "sendrecv,reduce,send"});
  EXPECT_EQ(both.collectives, std::vector{Collective::reduce});
  EXPECT_EQ(both.messages, (std::vector{PointToPoint::sendrecv, PointToPoint::send}));
  const SweepOptions alone = sweep_options({"-C", "send"});
  EXPECT_TRUE(alone.collectives.empty());
  EXPECT_TRUE(sweep_options({}).messages.empty()) << "all is all collectives";
  std::vector<std::string> labels;
  for (const Candidate& candidate : candidates_for({}, alone, 2, true))
    labels.push_back(candidate.label);
  EXPECT_EQ(labels, (std::vector<std::string>{"auto", "native"}));
}

TEST(Options, UnevenFormsAreNamedBesideCollectives) {
  const SweepOptions both = sweep_options({"-C", "all_gatherv,reduce,scatterv"});
  EXPECT_EQ(both.collectives, std::vector{Collective::reduce});
  EXPECT_EQ(both.uneven, (std::vector{Collective::all_gather, Collective::scatter}));
  const SweepOptions alone = sweep_options({"-C", "scatterv"});
  EXPECT_TRUE(alone.collectives.empty());
  EXPECT_TRUE(sweep_options({}).uneven.empty()) << "all is all collectives";
  EXPECT_NE(refusal({"-C", "reduce_scatterv", "-o", "bit_or"}).find("not defined"),
            std::string::npos);
  EXPECT_EQ(refusal({"-C", "all_gatherv", "-a", "ring"}), "");
  EXPECT_EQ(sweep_options({"-C", "allgatherv,alltoallv"}).uneven,
            (std::vector{Collective::all_gather, Collective::all_to_all}));
  const auto left = [](const char* name, Collective collective) {
    const SweepOptions options = sweep_options({"-C", name});
    auto candidates = candidates_for(collective, options, 4, true);
    keep_fitting({.collective = collective, .size = 4, .uneven = true}, options, candidates);
    std::vector<std::string> labels;
    for (const Candidate& candidate : candidates) labels.push_back(candidate.label);
    return labels;
  };
  EXPECT_EQ(left("scatterv", Collective::scatter),
            (std::vector<std::string>{"direct", "linear:k=4", "auto", "native"}));
  const auto gathering = left("all_gatherv", Collective::all_gather);
  EXPECT_EQ(std::ranges::count(gathering, "circulant"), 1);
}

TEST(Options, EveryOtherFlagChangesSomething) {
  const SweepOptions options = sweep_options({"--collective",
                                              "reduce,broadcast",
                                              "--in-place",
                                              "--no-touch",
                                              "--segment",
                                              "64K",
                                              "--ranks",
                                              "4",
                                              "--check",
                                              "--budget",
                                              "1s",
                                              "--timeout",
                                              "2s",
                                              "--seed",
                                              "9",
                                              "--fail-over",
                                              "20%",
                                              "--color",
                                              "always",
                                              "--determinism",
                                              "size_invariant"});
  EXPECT_EQ(options.collectives, (std::vector{Collective::reduce, Collective::broadcast}));
  EXPECT_TRUE(options.in_place);
  EXPECT_FALSE(options.touch);
  EXPECT_EQ(options.segment, 65536u);
  EXPECT_EQ(options.ranks.value_or(0), 4);
  EXPECT_TRUE(options.check);
  EXPECT_DOUBLE_EQ(options.budget_s, 1);
  EXPECT_DOUBLE_EQ(options.timeout_s, 2);
  EXPECT_EQ(options.seed, 9u);
  EXPECT_DOUBLE_EQ(options.fail_over, 0.2);
  EXPECT_TRUE(options.color);
  EXPECT_EQ(options.determinism, Determinism::size_invariant);
  EXPECT_EQ(sweep_options({}).determinism, std::nullopt);
}

TEST(Options, TimesEndAtAMillionSeconds) {
  EXPECT_DOUBLE_EQ(sweep_options({"--budget", "1000000s"}).budget_s, 1e6);
  EXPECT_NE(refusal({"--budget", "1000001s"}).find("'1000001s'"), std::string::npos);
  EXPECT_NE(refusal({"--timeout", "0s"}).find("'0s'"), std::string::npos);
}

TEST(Options, TheManualHasEveryTransport) {
  std::ifstream page{TUTTI_SWEEP_PAGE};
  const std::string text{std::istreambuf_iterator<char>{page}, {}};
  for (const TransportTraits& transport : kTransports)
    EXPECT_NE(text.find("| `" + std::string{transport.name} + "` | "), std::string::npos)
        << transport.name;
}

TEST(Options, WrongOnesAreNamedInOneLine) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases{
      {{"-C", "al_reduce"}, "did you mean all_reduce?"},
      {{"-d", "f23"}, "unknown datatype 'f23'"},
      {{"-d", "opaque"}, "unknown datatype 'opaque'"},
      {{"-o", "summ"}, "did you mean sum?"},
      {{"-o", "user"}, "unknown operator 'user'"},
      {{"-b", "8Q"}, "'8Q'"},
      {{"-b", "1M", "-e", "8"}, "--end 8 is less"},
      {{"-b", "0", "-e", "1M"}, "--begin is 0"},
      {{"-f", "1"}, "--factor '1'"},
      {{"-n", "0"}, "--rounds '0'"},
      {{"-c", "maybe"}, "--check 'maybe'"},
      {{"--budget", "soon"}, "--budget 'soon'"},
      {{"--transport", "tpc"}, std::string{"choose from "} + kTransportNames.data()},
      {{"--buffers", "visible", "--transport", "mpi"}, "--buffers private"},
      {{"--buffers", "visible", "--transport", "tcp"}, "--transport shm"},
      {{"--memory", "gpu"}, "choose from host, cuda"},
      {{"--graph"}, "add --memory cuda"},
      {{"--memory", "cuda:host", "--graph"}, "use --memory cuda"},
      {{"--memory", "cuda", "--segment", "64K"}, "leave it out beside --memory cuda"},
      {{"--determinism", "run_to_runs"}, "did you mean run_to_run?"},
      {{"--inject", "ring"}, "'ring'"},
      {{"--inject", "ring#2=5%"}, "does not take part"},
      {{"-d", "f32", "-o", "bit_or"}, "bit_or is not defined for datatype f32"},
      {{"-a", "rng", "-C", "all_reduce"}, "did you mean ring?"},
      {{"-a", "ring:k=3", "-C", "all_reduce"}, "has no parameter"},
      {{"-a", "recursive_doubling", "-C", "all_gather"}, "not 3"},
      {{"-a", "multitree", "-C", "all_reduce"}, "it needs a network"},
      {{"-a", "hierarchical(circulant, rig):groups=2", "-C", "all_reduce"}, "did you mean ring?"},
      {{"-a", "multitree:graph=ring:5", "-C", "all_gather"},
       "all_gather 'multitree:graph=ring:5' cannot serve 4 ranks"},
  };
  for (const auto& [arguments, expected] : cases) {
    const std::string message = refusal(arguments);
    EXPECT_NE(message.find(expected), std::string::npos) << arguments.back() << ": " << message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  }
}

TEST(Options, OnlyAlgorithmsOfWhatIsAskedForAreOffered) {
  EXPECT_EQ(refusal({"-a", "xyz", "-C", "barrier"}),
            "unknown algorithm 'xyz': choose from auto, native, dissemination, hierarchical");
  EXPECT_NE(refusal({"-a", "xyz", "-C", "all_reduce"}).find("native, probe, "), std::string::npos);
}

TEST(Options, ArgumentsRepeatTheMeasurement) {
  const SweepOptions options = sweep_options(
      {"-C", "reduce", "-e", "1M", "--in-place", "--no-touch", "-n", "7", "--json", "there.jsonl"});
  SweepOptions outputs;
  outputs.json = "here.jsonl";
  outputs.format = "osu";
  const SweepOptions again = repeated(options.arguments, outputs);
  EXPECT_EQ(again.arguments, options.arguments);
  EXPECT_EQ(again.collectives, std::vector{Collective::reduce});
  EXPECT_EQ(again.rounds, 7U);
  EXPECT_TRUE(again.in_place);
  EXPECT_FALSE(again.touch);
  EXPECT_EQ(again.json, "here.jsonl");
  EXPECT_EQ(again.format, "osu");
}

TEST(Options, SweepsOfGpusAreRepeatedToo) {
  const auto again = [](const std::vector<std::string>& arguments) {
    return repeated(sweep_options(arguments).arguments, {});
  };
  const SweepOptions graphs = again({"--memory", "cuda", "--graph"});
  EXPECT_TRUE(graphs.on_gpus);
  EXPECT_TRUE(graphs.graph);
  EXPECT_EQ(graphs.gpu_transport, "nccl");
  EXPECT_EQ(graphs.buffers, "private");
  const SweepOptions through_host = again({"--memory", "cuda:host", "--buffers", "visible"});
  EXPECT_TRUE(through_host.on_gpus);
  EXPECT_EQ(through_host.gpu_transport, "host");
  EXPECT_EQ(through_host.buffers, "visible");
  const SweepOptions host = again({});
  EXPECT_FALSE(host.on_gpus);
  EXPECT_FALSE(host.graph);
  EXPECT_EQ(host.buffers, "private");
}

TEST(Options, ReplayTakesNoFlagThatSteers) {
  const auto refusal_beside = [](std::vector<std::string> arguments) -> std::string {
    SweepOptions options;
    CLI::App app;
    declare_flags(app, options);
    arguments.insert(arguments.begin(), "--replay=run.jsonl");
    std::reverse(arguments.begin(), arguments.end());
    app.parse(arguments);
    try {
      reject_beside_replay(app);
    } catch (const Failure& failure) {
      EXPECT_EQ(failure.code(), ExitCode::usage);
      return failure.what();
    }
    return {};
  };
  for (const char* flag : {"--budget=1s", "--collective=all", "--in-place", "--no-touch",
                           "--rounds=4", "--memory=cuda", "--graph"}) {
    const std::string name = std::string{flag}.substr(0, std::string{flag}.find('='));
    EXPECT_NE(refusal_beside({flag}).find("leave " + name + " out"), std::string::npos) << flag;
  }
  EXPECT_NE(refusal_beside({"-n", "4"}).find("--rounds"), std::string::npos);
  EXPECT_EQ(refusal_beside({"--csv=a", "--json=b", "--baseline=c", "--fail-over=1%"}), "");
}

TEST(Candidates, EveryFittingRowThenAutoThenNative) {
  const auto at_3 = labels({"-C", "all_gather"}, 3);
  const auto at_4 = labels({"-C", "all_gather"}, 4);
  EXPECT_EQ(std::count(at_3.begin(), at_3.end(), "recursive_doubling"), 0);
  EXPECT_EQ(std::count(at_4.begin(), at_4.end(), "recursive_doubling"), 1);
  EXPECT_EQ(at_4[at_4.size() - 2], "auto");
  EXPECT_EQ(at_4.back(), "native");
}

// Algorithms that need a network or groups take part if they are named.
TEST(Candidates, AreSeparatedByTheCommasOutsideOfBrackets) {
  const std::string list = "hierarchical(circulant, ring):groups=2,ring,multitree:graph=torus:2x2";
  EXPECT_EQ(labels({"-C", "all_reduce", "-a", list}, 4),
            (std::vector<std::string>{"hierarchical(circulant, ring):groups=2", "ring",
                                      "multitree:graph=torus:2x2"}));
  const SweepOptions options = sweep_options({"-C", "all_reduce", "-a", list});
  const Candidate first = candidates_for(Collective::all_reduce, options, 4, true).front();
  EXPECT_EQ(first.algorithm, "hierarchical(circulant, ring)");
  EXPECT_EQ(first.parameters, "groups=2");
  for (const std::string& label : labels({"-C", "all_reduce"}, 4))
    EXPECT_TRUE(label != "multitree" && label != "hierarchical") << label;
}

TEST(Candidates, OneListedTwiceRacesAgainstItself) {
  EXPECT_EQ(labels({"-C", "all_reduce", "-a", "ring,native,ring,ring"}, 4),
            (std::vector<std::string>{"ring", "native", "ring#2", "ring#3"}));
  const SweepOptions options =
      sweep_options({"-C", "all_reduce", "-a", "ring,ring", "--inject", "ring#2=5%"});
  const auto candidates = candidates_for(Collective::all_reduce, options, 4, true);
  EXPECT_EQ(candidates[0].inject, 0);
  EXPECT_DOUBLE_EQ(candidates[1].inject, 0.05);
}

TEST(Candidates, OfWhateverIsMeasuredMayBeDelayed) {
  for (const char* const name : {"all_reduce", "scatterv", "send"})
    EXPECT_NO_THROW(
        check_names(sweep_options({"--collective", name, "--inject", "auto=5%"}), 4, true))
        << name;
}

TEST(Rounds, GoOnUntilPreciseOrOutOfBudget) {
  SweepOptions options;
  options.budget_s = 1;
  const std::vector<double> few(7, 10.0);
  const std::vector<double> steady(100, 10.0);
  std::vector<double> wild;
  for (int i = 0; i < 50; ++i) wild.push_back(i % 2 == 0 ? 10 : 30);
  EXPECT_TRUE(unfinished({{few, 5.0, true}}, options)[0]);      // too few to say anything
  EXPECT_FALSE(unfinished({{steady, 0.1, true}}, options)[0]);  // known
  EXPECT_TRUE(unfinished({{wild, 0.1, true}}, options)[0]);     // not known
  EXPECT_FALSE(unfinished({{wild, 1.1, true}}, options)[0]);    // out of budget
  EXPECT_FALSE(unfinished({{wild, 0.1, false}}, options)[0]);   // nobody comes back
  // The best waits for the others.
  const auto pair = unfinished({{steady, 0.1, true}, {wild, 0.1, true}}, options);
  EXPECT_TRUE(pair[0]);
  EXPECT_TRUE(pair[1]);
  options.rounds = 50;
  EXPECT_TRUE(unfinished({{few, 5.0, true}}, options)[0]);
  EXPECT_FALSE(unfinished({{wild, 0.0, true}}, options)[0]);
}

TEST(Rounds, SmallCallsShareASample) {
  EXPECT_EQ(calls_per_sample(1000, 1000, 50), 1);
  EXPECT_EQ(calls_per_sample(1, 1, 50), 50);
  EXPECT_EQ(calls_per_sample(1, 1, 1000), 1000);
  EXPECT_EQ(calls_per_sample(0.0001, 0.0001, 50), 1000);
}

TEST(Rounds, AllHaveAsManyCallsAsTheQuickest) {
  EXPECT_EQ(calls_per_sample(60, 1, 50), 50);
  EXPECT_EQ(calls_per_sample(1000, 1, 50), 5);  // what takes 5 ms
  EXPECT_EQ(calls_per_sample(10000, 1, 50), 1);
  EXPECT_EQ(calls_per_sample(20, 10, 10000), 500);  // its own sample, which is longer than 5 ms
}

}  // namespace
}  // namespace tutti::perf
