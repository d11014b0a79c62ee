// Flags of `tutti gradients` are understood or refused, and settings are their product.
#include "perf/gradients/options.hpp"

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string>

#include <tutti/transports.hpp>

#include "perf/failure.hpp"
#include "perf/gradients/replay.hpp"
#include "perf/gradients/report.hpp"
#include "perf/gradients/verdict.hpp"

namespace tutti::perf {
namespace {

/// The options for resnet50, with other flags.
GradientsOptions options_of(std::vector<std::string> arguments) {
  GradientsOptions options;
  CLI::App app;
  declare_gradients_flags(app, options);
  const auto add_unless_there = [&](const std::string& flag, const std::string& value) {
    const auto says_it = [&](const std::string& word) { return word.starts_with(flag); };
    if (std::ranges::none_of(arguments, says_it)) arguments.insert(arguments.end(), {flag, value});
  };
  add_unless_there("--model", "resnet50");
  add_unless_there("--compute", "120ms");
  std::ranges::reverse(arguments);
  app.parse(arguments);
  complete(app, options);
  return options;
}

std::vector<std::string> labels_of(const GradientsOptions& options) {
  std::vector<std::string> labels;
  for (const GradientSetting& setting : options.settings) labels.push_back(setting.label);
  return labels;
}

TEST(GradientsOptions, SweepTheProductOfTheirLists) {
  EXPECT_EQ(options_of({}).settings.size(), 12U);
  const GradientsOptions options = options_of(
      {"--bucket-bytes", "0,5M,flat", "--storage", "views", "--compression", "none,bf16"});
  EXPECT_EQ(labels_of(options), (std::vector<std::string>{
                                    "bucket_bytes 0, views", "bucket_bytes 0, views, bf16",
                                    "bucket_bytes 5M, views", "bucket_bytes 5M, views, bf16",
                                    "bucket_bytes flat, views", "bucket_bytes flat, views, bf16"}));
  EXPECT_EQ(options.settings[2].options.bucket_bytes, std::size_t{5} << 20);
  EXPECT_EQ(options.settings[4].options.bucket_bytes, GradientOptions::kFlat);
  EXPECT_EQ(options.settings[5].options.compression, "bf16");
  EXPECT_EQ(options.settings[5].options.storage, GradientStorage::views);
  EXPECT_DOUBLE_EQ(*options.compute_s, 0.12);
}

TEST(GradientsOptions, MeasureWhatMeansTheSameOnce) {
  EXPECT_EQ(labels_of(options_of({"--storage", "copies", "--bucket-bytes", "0,flat,5M,5M",
                                  "--first-bucket-bytes", "1M,64K,8M,9M"})),
            (std::vector<std::string>{
                "bucket_bytes 0, copies", "bucket_bytes flat, copies", "bucket_bytes 5M, copies",
                "bucket_bytes 5M, first 64K, copies", "bucket_bytes 5M, first 5M, copies"}));
}

TEST(GradientsOptions, LeaveOutWhatDoesNotExist) {
  const GradientsOptions options =
      options_of({"--bucket-bytes", "5M", "--order", "observed,negotiated"});
  EXPECT_EQ(labels_of(options), (std::vector<std::string>{"bucket_bytes 5M, copies, observed",
                                                          "bucket_bytes 5M, copies, negotiated",
                                                          "bucket_bytes 5M, views, negotiated"}));
  EXPECT_EQ(options.left_out.size(), 1U);
}

TEST(GradientsOptions, RepeatTheMeasurementFromArguments) {
  const std::vector<std::string> arguments = options_of({"--json", "out.jsonl"}).arguments;
  for (const char* const word : {"--model=resnet50", "--steps=20"})
    EXPECT_NE(std::ranges::find(arguments, word), arguments.end()) << word;
  EXPECT_EQ(std::ranges::find(arguments, "--json=out.jsonl"), arguments.end());
}

TEST(GradientsOptions, SayWhatIsWrong) {
  struct Case {
    const char* flag;
    const char* value;
    std::string said;
  };
  const Case cases[]{{"--compute", "120", "--compute '120' is not a time"},
                     {"--compute", "0ms", "--compute '0ms' is not a time"},
                     {"--bucket-bytes", "5X", "--bucket-bytes '5X' is not a size"},
                     {"--bucket-bytes", "1M,,2M", "has an empty entry"},
                     {"--first-bucket-bytes", "flat", "--first-bucket-bytes 'flat' is not a size"},
                     {"--storage", "view", "did you mean views?"},
                     {"--order", "revered", "did you mean reversed?"},
                     {"--algorithms", "auto,rign", "did you mean ring?"},
                     {"--in-flight", "0", "--in-flight '0' is not a number"},
                     {"--computing", "rest", "choose from work, sleep"},
                     {"--steps", "0", "--steps '0' is not a number"},
                     {"--warmup", "-1", "--warmup '-1' is not a number"},
                     {"--transport", "ssh", std::string{"choose from "} + kTransportNames.data()},
                     {"--timeout", "soon", "--timeout 'soon' is not a time"}};
  const auto expect_said = [](const auto& work, const std::string& said) {
    try {
      static_cast<void>(work());
      ADD_FAILURE() << "taken: " << said;
    } catch (const Failure& failure) {
      EXPECT_NE(std::string{failure.what()}.find(said), std::string::npos) << failure.what();
      EXPECT_EQ(failure.code(), ExitCode::usage);
    }
  };
  for (const Case& wrong : cases)
    expect_said([&] { return options_of({std::string{wrong.flag} + "=" + wrong.value}); },
                wrong.said);
  CLI::App app;
  GradientsOptions options;
  declare_gradients_flags(app, options);
  app.parse(std::vector<std::string>{});
  expect_said([&] { return complete(app, options), 0; }, "choose a model");
  options.model = "resnet50";
  expect_said([&] { return complete(app, options), 0; }, "give the time of a step of resnet50");
}

TEST(GradientsReplay, NeedsMemoryForEachSettingThatKeepsBuckets) {
  const Model model = built_in_model("resnet50");
  const auto bytes_of = [&](const char* storage) {
    return bytes_needed(model, options_of({"--bucket-bytes", "5M", "--storage", storage}).settings);
  };
  EXPECT_DOUBLE_EQ(bytes_of("flat,views,copies") - bytes_of("flat"),
                   2 * static_cast<double>(model.bytes()));
}

// Times of settings whose overlapped steps take these milliseconds.
GradientTimes times_with(const std::vector<double>& overlapped_ms, std::size_t rounds) {
  GradientTimes times;
  for (const double ms : overlapped_ms) {
    SettingTimes setting{.buckets = {{.ready = 0.1, .alone = 0.002}}};
    for (std::size_t round = 0; round < rounds; ++round) {
      const double wobble_s = round % 2 == 0 ? 1e-5 : -1e-5;
      setting.serial_s.push_back(0.12);
      setting.overlapped_s.push_back(ms / 1e3 + wobble_s);
      setting.computing_s.push_back(0.1);
    }
    times.settings.push_back(setting);
  }
  times.computing_s.assign(rounds, 0.1);
  return times;
}

TEST(GradientsVerdict, PutsTheFastestFirstAndSaysWhatItComesTo) {
  const auto settings = options_of({"--bucket-bytes", "0,5M,flat", "--storage", "views"}).settings;
  const GradientVerdict verdict = judge(times_with({114, 103.1, 109}, 20), settings);
  ASSERT_EQ(verdict.results.size(), 3U);
  EXPECT_EQ(verdict.results[0].setting.label, "bucket_bytes 5M, views");
  EXPECT_EQ(verdict.results[2].setting.label, "bucket_bytes 0, views");
  EXPECT_FALSE(verdict.results[1].is_tie);
  EXPECT_NEAR(verdict.results[0].medians.ideal, 0.102, 1e-12);
  EXPECT_EQ(sentence_of(verdict),
            "bucket_bytes 5M, views: 3.1 ms of each step are exposed, 1.1 ms over the ideal step "
            "of 102.0 ms; per tensor 14.0 ms, flat 9.0 ms");
}

TEST(GradientsVerdict, CallsSettingsEqualThatAre) {
  const auto settings = options_of({"--bucket-bytes", "1M,5M,25M", "--storage", "views"}).settings;
  for (const std::size_t rounds : {std::size_t{3}, std::size_t{20}}) {
    const GradientVerdict verdict = judge(times_with({103.1, 103.1, 140}, rounds), settings);
    EXPECT_TRUE(verdict.results[1].is_tie) << rounds;
    EXPECT_FALSE(verdict.results[2].is_tie) << rounds;
    EXPECT_NE(sentence_of(verdict).find("1 other is as good"), std::string::npos);
  }
}

// A load that comes and goes slows whole rounds down: of the steps without communication, which
// are several in a round, other shares than of the overlapped ones.
TEST(GradientsVerdict, TakesDifferencesOfEachRound) {
  GradientTimes times = times_with({103}, 21);
  times.computing_s.clear();
  SettingTimes& setting = times.settings[0];
  for (std::size_t round = 0; round < 21; ++round) {
    const double load_s = round < 10 ? 0.04 : 0;
    setting.computing_s[round] = 0.1 + load_s;
    setting.overlapped_s[round] = 0.103 + load_s;
    setting.serial_s[round] = 0.12 + load_s;
    times.computing_s.insert(times.computing_s.end(), {0.1 + load_s, 0.14});
  }
  const auto settings = options_of({"--bucket-bytes", "5M", "--storage", "views"}).settings;
  const GradientVerdict verdict = judge(times, settings);
  EXPECT_NEAR(verdict.computing.median, 0.14, 1e-12);
  EXPECT_NEAR(verdict.results[0].overlapped.median, 0.103, 1e-12);
  EXPECT_NEAR(verdict.results[0].exposed.median, 0.003, 1e-12);
  EXPECT_NEAR(exposed(verdict.results[0].medians), 0.003, 1e-12);
  EXPECT_NEAR(hidden_share(verdict.results[0].medians).value(), 0.85, 1e-9);
}

TEST(GradientsVerdict, WarnsFarFromTheIdealStep) {
  const auto settings = options_of({"--bucket-bytes", "5M", "--storage", "views"}).settings;
  const auto warning_of = [&](double overlapped_ms, double alone_s) {
    GradientTimes times = times_with({overlapped_ms}, 20);
    times.settings[0].buckets = {{.ready = 0.1, .alone = alone_s}};
    const std::string table = gradients_table(judge(times, settings), {});
    const std::size_t begin = table.find("# !! the best setting");
    return begin == std::string::npos ? "" : table.substr(begin, table.find('\n', begin) - begin);
  };
  EXPECT_EQ(warning_of(103, 0.002), "");
  EXPECT_EQ(warning_of(130, 0.002),
            "# !! the best setting takes 28.0 ms longer than its ideal step of 102.0 ms: "
            "communication slows computing down here, or takes longer beside it than alone");
  EXPECT_EQ(
      warning_of(103, 0.05),
      "# !! the best setting takes 47.0 ms less than its ideal step of 150.0 ms: buckets took "
      "longer when they were measured alone; measure again");
}

TEST(GradientsVerdict, SaysWhereTimesVaryMuch) {
  GradientTimes times = times_with({103, 104}, 20);
  for (std::size_t i = 0; i < 10; ++i) times.computing_s[i] = 0.15;
  const auto settings = options_of({"--bucket-bytes", "1M,5M", "--storage", "views"}).settings;
  const GradientVerdict verdict = judge(times, settings);
  EXPECT_TRUE(verdict.is_noisy());
  EXPECT_TRUE(sentence_of(verdict).ends_with("; steps vary by 50.0 ms, so this may be chance"));
}

}  // namespace
}  // namespace tutti::perf
