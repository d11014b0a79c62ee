// The files a sweep writes and reads again.
#include "perf/sweep/record.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

#include "perf/failure.hpp"
#include "perf/sweep/baseline.hpp"

namespace tutti::perf {
namespace {

Cell sample_cell() {
  Cell cell;
  cell.workload = {
      .collective = Collective::all_reduce, .count = 1000, .type = Datatype::f32, .size = 4};
  cell.measured = {
      .candidate = {.label = "knomial:k=4#2", .algorithm = "knomial", .parameters = "k=4"},
      .batch = 5};
  cell.measured.checked = true;
  cell.summary = {.samples = 20,
                  .min = 9,
                  .p10 = 9.5,
                  .median = 10,
                  .interval = {9.9, 10.1},
                  .p90 = 11,
                  .p99 = 12,
                  .max = 13};
  cell.transport = "mpi";
  cell.buffers = "private";
  cell.align = "malloc";
  return cell;
}

// A file that is gone after the test.
class Scratch {
 public:
  explicit Scratch(const std::string& text)
      : path_{std::filesystem::temp_directory_path() /
              ("tutti_record_test_" + std::to_string(std::hash<std::string>{}(text)))} {
    std::ofstream{path_} << text;
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() { std::filesystem::remove(path_); }
  [[nodiscard]] std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

TEST(Record, CsvHasTheColumnsPeopleRelyOn) {
  EXPECT_EQ(csv_header(),
            "collective,algorithm,parameters,transport,ranks,hosts,bytes,count,dtype,op,in_place,"
            "buffers,segment_bytes,iterations,min_us,p10_us,median_us,ci_low_us,ci_high_us,p90_us,"
            "p99_us,max_us,algbw_gb_s,busbw_gb_s,wrong,root,graph,align,pattern");
  EXPECT_EQ(csv_row(sample_cell()),
            "all_reduce,knomial#2,k=4,mpi,4,1,4000,1000,f32,sum,false,private,0,100,9.0,9.5,10.0,"
            "9.9,10.1,11.0,12.0,13.0,0.4,0.6,0,,false,malloc,back_to_back");
}

TEST(Record, UncheckedIsNotCalledRight) {
  Cell cell = sample_cell();
  cell.measured.checked = false;
  EXPECT_TRUE(csv_row(cell).ends_with(",0.4,0.6,,,false,malloc,back_to_back")) << csv_row(cell);
  EXPECT_TRUE(json_of(cell)["wrong"].is_null());
}

TEST(Record, HasTheRootOfThoseThatHaveOneAndWhetherGraphsRan) {
  Cell cell = sample_cell();
  cell.workload.collective = Collective::reduce;
  cell.workload.root = 2;
  cell.graph = true;
  cell.align = "";
  EXPECT_TRUE(csv_row(cell).ends_with(",0,2,true,,back_to_back")) << csv_row(cell);
  EXPECT_TRUE(json_of(cell)["align"].is_null()) << "the driver of the GPU places arrays";
  EXPECT_EQ(json_of(cell)["root"], 2);
  EXPECT_EQ(json_of(cell)["graph"], true);
}

TEST(Record, JsonIsTypedAndHasEveryColumn) {
  const auto record = nlohmann::json::parse(json_of(sample_cell()).dump());
  EXPECT_EQ(record["record"], "cell");
  const std::string header = csv_header() + ",";
  for (std::size_t at = 0; at < header.size();) {
    const std::size_t comma = header.find(',', at);
    EXPECT_TRUE(record.contains(header.substr(at, comma - at))) << header.substr(at, comma - at);
    at = comma + 1;
  }
  EXPECT_TRUE(record["in_place"].is_boolean());
  EXPECT_TRUE(record["median_us"].is_number_float());
  EXPECT_TRUE(record["count"].is_number_integer());
  EXPECT_TRUE(record["root"].is_null());
  EXPECT_EQ(record["samples"], 20);
}

TEST(Baseline, OnlyMuchSlowerWithDisjointIntervalsFails) {
  const Scratch file{R"({"record":"context"})"
                     "\n" +
                     json_of(sample_cell()).dump() + "\n"};
  Baseline baseline{file.path(), true};
  Cell now = sample_cell();
  EXPECT_FALSE(baseline.slower(now, 0.1));
  now.summary.median = 12;
  now.summary.interval = {10.0, 14};  // overlaps with 9.9 .. 10.1
  EXPECT_FALSE(baseline.slower(now, 0.1));
  now.summary.interval = {11.9, 12.1};
  EXPECT_TRUE(baseline.slower(now, 0.1));
  EXPECT_FALSE(baseline.slower(now, 0.3));
  EXPECT_EQ(baseline.matched(), 4u);
  now.workload.count = 500;  // another size
  EXPECT_FALSE(baseline.slower(now, 0.1));
  EXPECT_EQ(baseline.matched(), 4u);
}

TEST(Baseline, WhatWasMeasuredOtherwiseIsNotCompared) {
  const Scratch file{R"({"record":"context","touch":true})"
                     "\n" +
                     json_of(sample_cell()).dump() + "\n"};
  Baseline baseline{file.path(), true};
  Cell now = sample_cell();
  now.summary.median = 20;
  now.summary.interval = {19, 21};
  EXPECT_TRUE(baseline.slower(now, 0.1));
  now.measured.segment_bytes = 4096;  // our choice, perhaps a worse one
  EXPECT_TRUE(baseline.slower(now, 0.1));
  now.buffers = "visible";
  EXPECT_FALSE(baseline.slower(now, 0.1));
  now.buffers = "private";
  now.hosts = 2;
  EXPECT_FALSE(baseline.slower(now, 0.1));
  now.hosts = 1;
  now.graph = true;
  EXPECT_FALSE(baseline.slower(now, 0.1));
  EXPECT_EQ(baseline.matched(), 2u);
  EXPECT_EQ(baseline.unmatched(), 3u);
  EXPECT_THROW(Baseline(file.path(), false), Failure);
}

TEST(Record, SaysWhereArraysBeganAndHowCallsFollowed) {
  Cell cell = sample_cell();
  cell.align = "16:page";
  cell.pattern = CallPattern::isolated;
  EXPECT_TRUE(csv_row(cell).ends_with(",false,16:page,isolated")) << csv_row(cell);
  EXPECT_EQ(json_of(cell)["align"], "16:page");
  EXPECT_EQ(json_of(cell)["pattern"], "isolated");
}

TEST(Record, TheAlgorithmIsNamedWithoutItsAlignment) {
  Cell cell = sample_cell();
  const auto algorithm = [&](const char* label) {
    cell.measured.candidate.label = label;
    return json_of(cell)["algorithm"].get<std::string>();
  };
  EXPECT_EQ(algorithm("knomial:k=4@16:4"), "knomial");
  EXPECT_EQ(algorithm("knomial:k=4#2@16:4"), "knomial#2");
}

TEST(Baseline, OlderFilesKnowNoGraphsAndBeganArraysAtPages) {
  auto old = json_of(sample_cell());
  for (const char* name : {"graph", "align", "pattern"}) old.erase(name);
  const Scratch file{old.dump() + "\n"};
  Baseline baseline{file.path(), true};
  Cell now = sample_cell();
  EXPECT_FALSE(baseline.slower(now, 0.1));
  EXPECT_EQ(baseline.unmatched(), 1u) << "malloc";
  now.align = "page";
  EXPECT_FALSE(baseline.slower(now, 0.1));
  EXPECT_EQ(baseline.matched(), 1u);
  now.pattern = CallPattern::isolated;
  EXPECT_FALSE(baseline.slower(now, 0.1));
  EXPECT_EQ(baseline.matched(), 1u);
}

TEST(Baseline, OlderFilesOfGpusMatch) {
  Cell cell = sample_cell();
  cell.buffers = "cuda";
  cell.align = "";
  auto old = json_of(cell);
  for (const char* name : {"align", "pattern"}) old.erase(name);
  const Scratch file{old.dump() + "\n"};
  Baseline baseline{file.path(), true};
  EXPECT_FALSE(baseline.slower(cell, 0.1));
  EXPECT_EQ(baseline.matched(), 1u);
}

TEST(Baseline, WrongFilesAreUsageErrors) {
  const Scratch garbage{"collective,algorithm\n"};
  const Scratch empty{R"({"record":"context"})"
                      "\n"};
  EXPECT_THROW(Baseline("/nowhere/at/all.jsonl", true), Failure);
  EXPECT_THROW(Baseline(garbage.path(), true), Failure);
  EXPECT_THROW(Baseline(empty.path(), true), Failure);
  EXPECT_THROW((void)recorded_run(empty.path()), Failure);
  const Scratch wrong{R"({"record":"context","arguments":[],"ranks":"many"})"
                      "\n"};
  EXPECT_THROW((void)recorded_run(wrong.path()), Failure);
  const Scratch good{R"({"record":"context","arguments":["--seed=3"],"ranks":4,"mpi":"an MPI"})"
                     "\n"};
  const RecordedRun run = recorded_run(good.path());
  EXPECT_EQ(run.arguments, std::vector<std::string>{"--seed=3"});
  EXPECT_EQ(run.ranks, 4);
  EXPECT_EQ(run.mpi, "an MPI");
}

TEST(LineFile, RefusesWhatItCannotWrite) {
  EXPECT_THROW(LineFile{"/nowhere/at/all.csv"}, Failure);
  LineFile nowhere;
  EXPECT_NO_THROW(nowhere.write("nothing"));
}

}  // namespace
}  // namespace tutti::perf
