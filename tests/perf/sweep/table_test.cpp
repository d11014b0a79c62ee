// The output of a sweep on the terminal.
#include "perf/sweep/table.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <sstream>

namespace tutti::perf {
namespace {

/// A table that is kept as text.
class Printed {
 public:
  explicit Printed(bool color = false) : table{stream_, color} {}
  Printed(const Printed&) = delete;
  Printed& operator=(const Printed&) = delete;
  ~Printed() {
    std::fclose(stream_);
    std::free(text_);
  }
  [[nodiscard]] std::FILE* stream() const { return stream_; }
  /// @return what was printed so far.
  [[nodiscard]] std::string text() const {
    std::fflush(stream_);
    return text_;
  }
  /// @return that, line by line.
  [[nodiscard]] std::vector<std::string> lines() const {
    std::istringstream stream{text()};
    std::vector<std::string> result;
    for (std::string line; std::getline(stream, line);) result.push_back(line);
    return result;
  }

 private:
  char* text_ = nullptr;
  std::size_t bytes_ = 0;
  std::FILE* stream_ = open_memstream(&text_, &bytes_);

 public:
  Table table;
};

Measured measured(const std::string& label, CandidateType kind, double time_us) {
  Measured result{.candidate = {.label = label, .algorithm = label, .kind = kind}};
  if (time_us > 0)
    for (int i = 0; i < 20; ++i) result.times_us.push_back(time_us + i * 0.001);
  result.checked = true;
  result.runs = label;
  return result;
}

SizeResult sample_result() {
  SizeResult result{.workload = {.collective = Collective::all_reduce, .count = 256, .size = 4}};
  result.measured = {measured("recursive_doubling", CandidateType::forced, 20),
                     measured("ring", CandidateType::forced, 10),
                     measured("auto", CandidateType::automatic, 20),
                     measured("native", CandidateType::native, 40)};
  result.measured[2].runs = "recursive_doubling";
  return result;
}

// Whether the header calls a host of two cores oversubscribed.
bool calls_oversubscribed(int ranks) {
  Printed printed;
  Context context{.ranks = ranks, .hosts = {{.name = "h", .cores = 2}}};
  for (Rank rank = 0; rank < ranks; ++rank) context.hosts[0].ranks.push_back(rank);
  printed.table.header(context, {});
  EXPECT_EQ(context.is_oversubscribed(), ranks > 2);
  return printed.text().find("h is oversubscribed: " + std::to_string(ranks) +
                             " ranks on 2 cores") != std::string::npos;
}

TEST(Table, SaysWhereRanksOutnumberCores) {
  EXPECT_FALSE(calls_oversubscribed(1));
  EXPECT_FALSE(calls_oversubscribed(2));
  EXPECT_TRUE(calls_oversubscribed(3));
}

TEST(Table, SaysWhereArraysBeginAndHowCallsFollow) {
  const auto header = [](const SweepOptions& options) {
    Printed printed;
    printed.table.header({.ranks = 2}, options);
    return printed.text();
  };
  EXPECT_NE(header({}).find("# arrays: malloc (--align); calls: back to back (--pattern)\n"),
            std::string::npos);
  const std::string isolated = header({.buffers = "visible", .pattern = CallPattern::isolated});
  EXPECT_NE(
      isolated.find("# arrays: page (--align); calls: isolated, each after a barrier and 5 us "
                    "of computing (--pattern)\n"),
      std::string::npos)
      << isolated;
}

TEST(ProgressLine, SaysEveryFewSecondsHowLongItWillTake) {
  using std::chrono::seconds;
  Printed printed;
  const ProgressLine::Clock::time_point start{};
  ProgressLine progress{printed.stream(), 8, 0.5, start};
  progress.at("all_reduce 8");
  progress.tick(start + seconds{4});
  EXPECT_EQ(printed.text(), "") << "it is soon over, perhaps";
  progress.tick(start + seconds{6});
  progress.done(2);
  progress.at("all_reduce 64");
  progress.tick(start + seconds{7});
  progress.tick(start + seconds{20});
  EXPECT_EQ(printed.text(),
            "tutti sweep: all_reduce 8, 0 of 8 configurations done, about 4s left\n"
            "tutti sweep: all_reduce 64, 2 of 8 configurations done, about 1m 0s left\n");
}

TEST(ProgressLine, PrintsNothingWithoutAStream) {
  const ProgressLine::Clock::time_point start{};
  ProgressLine progress{nullptr, 8, 0.5, start};
  progress.tick(start + std::chrono::seconds{6});
}

TEST(Table, HeadingsStandAboveTheNumbers) {
  Printed printed;
  const SizeResult result = sample_result();
  printed.table.open("all_reduce");
  printed.table.row(result, judge(result));
  EXPECT_EQ(
      printed.lines(),
      (std::vector<std::string>{
          "#", "# all_reduce", "#     bytes vs native   native      auto   loses  wrong  fastest",
          "       1024     4.00x     40.0      20.0   +100%      0  ring 10.0*, +1; "
          "auto runs recursive_doubling"}));
}

TEST(Table, NativeAndAutoAreNamedOnlyWhereTheyWin) {
  Printed printed;
  SizeResult result = sample_result();
  result.measured[3] = measured("native", CandidateType::native, 5);
  printed.table.row(result, judge(result));
  result.measured = {measured("auto", CandidateType::automatic, 3),
                     measured("native", CandidateType::native, 5)};
  printed.table.row(result, judge(result));
  const std::vector<std::string> lines = printed.lines();
  EXPECT_NE(lines[0].find("  native 5.01*, ring 10.0, +1; auto"), std::string::npos) << lines[0];
  EXPECT_TRUE(lines[1].ends_with("  auto 3.01*")) << lines[1];
}

TEST(Table, FitsAScreenHoweverManyTakePart) {
  Printed printed;
  SizeResult result = sample_result();
  for (int i = 0; i < 20; ++i)
    result.measured.push_back(
        measured("recursive_multiplying:k=4", CandidateType::forced, 123456 + i));
  printed.table.header({.hosts = {{.name = "h", .cores = 2, .ranks = {0}}}}, {});
  printed.table.open("all_reduce");
  printed.table.row(result, judge(result));
  const std::vector<std::string> lines = printed.lines();
  for (const std::string& line : lines) EXPECT_LE(line.size(), 120u) << line;
  EXPECT_TRUE(lines.back().ends_with("  ring 10.0*, +21; auto runs recursive_doubling"))
      << lines.back();
}

TEST(Table, SaysOnceWhatIsWrong) {
  Printed printed;
  SizeResult result = sample_result();
  result.measured[0].wrong = 3;
  result.measured[1].bit_equal = false;
  result.measured[3] = measured("native", CandidateType::native, 0);
  result.measured[3].refused = "no";
  printed.table.open("all_reduce");
  for (int i = 0; i < 2; ++i) printed.table.row(result, judge(result));
  const std::vector<std::string> lines = printed.lines();
  ASSERT_EQ(lines.size(), 8u);
  EXPECT_EQ(lines[4], "# !! recursive_doubling gives 3 WRONG ELEMENTS at 1024 bytes");
  EXPECT_EQ(lines[5], "# !! ring DIFFERS BETWEEN RANKS at 1024 bytes");
  EXPECT_EQ(lines[6], "# native takes no part: no");
  EXPECT_EQ(lines[7], lines[3]);
  EXPECT_NE(lines[3].find(" - "), std::string::npos) << lines[3];
}

TEST(Table, WhatWasNotCheckedIsNotCalledRight) {
  Printed printed;
  SizeResult result = sample_result();
  for (Measured& measured : result.measured) measured.checked = false;
  printed.table.open("all_reduce");
  printed.table.row(result, judge(result));
  const std::string& row = printed.lines().back();
  EXPECT_NE(row.find(" +100%      -  ring"), std::string::npos) << row;
}

TEST(Table, SaysNothingOfWhatWasNotMeasured) {
  Printed printed;
  printed.table.close({}, false);
  EXPECT_EQ(printed.lines(),
            (std::vector<std::string>{"#", "# 0 configurations, NOT CHECKED (-c 0)",
                                      "# 0 sizes, 0 of them ties"}));
}

TEST(Table, MarksThoseThatAreAsGood) {
  Printed printed;
  SizeResult result = sample_result();
  result.measured = {measured("a", CandidateType::forced, 10),
                     measured("b", CandidateType::forced, 10),
                     measured("c", CandidateType::forced, 20)};
  printed.table.row(result, judge(result));
  EXPECT_TRUE(printed.text().ends_with("  a 10.0*, b 10.0~, c 20.0\n")) << printed.text();
}

TEST(Table, ColoursTheBestOnly) {
  Printed plain;
  Printed printed{true};
  const SizeResult result = sample_result();
  plain.table.row(result, judge(result));
  printed.table.row(result, judge(result));
  std::string row = printed.text();
  const std::string best = "\x1b[32mring 10.0*\x1b[0m";
  ASSERT_NE(row.find(best), std::string::npos) << row;
  row.replace(row.find(best), best.size(), "ring 10.0*");
  EXPECT_EQ(row, plain.text());
}

// A size of a sweep on GPUs, on four ranks.
Raced raced_on_gpus(bool in_place, double ring_us) {
  Raced raced;
  raced.result = {
      .workload = {
          .collective = Collective::all_reduce, .count = 250000, .size = 4, .in_place = in_place}};
  raced.result.measured = {measured("ring", CandidateType::forced, ring_us),
                           measured("auto", CandidateType::automatic, 20),
                           measured("native", CandidateType::native, 20)};
  raced.result.measured[0].wrong = 3;
  raced.result.measured[1].runs = "native";
  raced.verdict = judge(raced.result);
  return raced;
}

TEST(Table, OnGpusHasTheColumnsOfNcclTests) {
  Printed printed;
  printed.table.open_on_gpus("all_reduce");
  printed.table.rows_on_gpus({raced_on_gpus(false, 10), raced_on_gpus(true, 40)});
  const std::string blank(46, ' ');
  EXPECT_EQ(
      printed.lines(),
      (std::vector<std::string>{
          "#", "# all_reduce",
          "#" + blank + "                   out-of-place                         in-place",
          "#       size       count   type   redop root      time   algbw   busbw #wrong      time"
          "   algbw   busbw #wrong     algorithm",
          "#        (B)  (elements)                          (us)  (GB/s)  (GB/s)             (us)"
          "  (GB/s)  (GB/s)",
          "     1000000      250000    f32     sum   -1      20.0   49.98   74.96      0      20.0"
          "   49.98   74.96      0   * native",
          "     1000000      250000    f32     sum   -1      20.0   49.98   74.96      0      20.0"
          "   49.98   74.96      0   ~ auto: native",
          "     1000000      250000    f32     sum   -1      10.0   99.91  149.86      3      40.0"
          "   24.99   37.49      3  *  ring",
          "# !! ring gives 3 WRONG ELEMENTS at 1000000 bytes"}));
}

TEST(Table, OnGpusHasRootsAndNoNumbersOfWhatWasNotMeasured) {
  Raced raced = raced_on_gpus(false, 0);
  raced.result.workload.collective = Collective::gather;
  raced.result.workload.root = 2;
  for (Measured& measured : raced.result.measured) measured.checked = false;
  EXPECT_EQ(bandwidth_rows({.out_of_place = raced}),
            (std::vector<std::string>{
                "     4000000      250000    f32    none    2      20.0  199.91  149.93      -"
                "         -       -       -      -  *  native",
                "     4000000      250000    f32    none    2      20.0  199.91  149.93      -"
                "         -       -       -      -  ~  auto: native"}));
}

TEST(Table, OnGpusTheHeaderSaysWhichAndWhatRuns) {
  const auto header = [](bool graph) {
    Printed printed;
    SweepOptions options;
    options.on_gpus = true;
    options.graph = graph;
    printed.table.header({.ranks = 1, .gpus = {"GPU 3 Some Model"}, .nccl = "2.28.9"}, options);
    return printed.text();
  };
  EXPECT_NE(header(false).find("# rank 0: GPU 3 Some Model\n"), std::string::npos);
  EXPECT_NE(header(false).find("NCCL 2.28.9"), std::string::npos);
  EXPECT_EQ(header(false).find("graph"), std::string::npos);
  EXPECT_NE(header(true).find("each call is a graph"), std::string::npos);
}

TEST(Tally, CountsRacesAndWhatAutoLost) {
  Tally tally;
  const SizeResult result = sample_result();
  tally.add(result, judge(result));
  SizeResult wrong = sample_result();
  wrong.measured[1].wrong = 2;
  wrong.measured[1].bit_equal = false;
  wrong.measured[2] = measured("auto", CandidateType::automatic, 10);
  wrong.measured[2].runs = "ring";
  wrong.measured[3] = measured("native", CandidateType::native, 0);
  tally.add(wrong, judge(wrong));
  EXPECT_EQ(tally.cells, 7u);
  EXPECT_EQ(tally.wrong, 2u);
  EXPECT_EQ(tally.unequal, 1u);
  EXPECT_EQ(tally.sizes, 2u);
  EXPECT_EQ(tally.ties, 0u);
  ASSERT_EQ(tally.ours_vs_native.size(), 1u);
  EXPECT_NEAR(tally.ours_vs_native[0], 4, 0.01);
  EXPECT_NEAR(tally.auto_vs_native[0], 2, 0.01);
  EXPECT_EQ(tally.auto_races, 2u);
  EXPECT_EQ(tally.auto_best, 1u);
  EXPECT_NEAR(tally.worst_auto_loss, 1, 0.01);
  Printed printed;
  printed.table.close(tally, true);
  EXPECT_EQ(printed.lines(),
            (std::vector<std::string>{
                "#", "# checked 7 configurations: 2 wrong elements, 1 differ between ranks",
                "# 2 sizes, 0 of them ties; geometric mean against native: best of ours 4.00x, "
                "auto 2.00x; auto lost nothing in 1 of 2 sizes, 100% at worst"}));
}

}  // namespace
}  // namespace tutti::perf
