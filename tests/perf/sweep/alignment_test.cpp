// The alignment of a measurement's arrays.
#include "perf/sweep/alignment.hpp"

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <cstring>

#include "perf/failure.hpp"
#include "perf/sweep/buffers.hpp"
#include "perf/sweep/candidates.hpp"
#include "perf/sweep/options.hpp"

namespace tutti::perf {
namespace {

constexpr std::size_t kPage = 4096;

std::string refusal_with(const std::vector<std::string>& arguments) {
  try {
    static_cast<void>(sweep_options(arguments));
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.code(), ExitCode::usage);
    return failure.what();
  }
  return {};
}

std::size_t past_page(const void* array) {
  return reinterpret_cast<std::uintptr_t>(array) % kPage;
}

Alignment alignment(std::string_view text) {
  return parse_alignment(text).value();
}

TEST(Alignment, ReadsWhatPeopleWrite) {
  EXPECT_EQ(alignment("malloc").in_offset(), 16U);
  EXPECT_EQ(alignment("page").out_offset(), 0U);
  EXPECT_EQ(alignment("1K").in_offset(), 1024U);
  EXPECT_EQ(alignment("64:page").in_offset(), 64U);
  EXPECT_EQ(alignment("64:page").out_offset(), 0U);
  EXPECT_EQ(alignment("64:page").text(), "64:page");
  EXPECT_EQ(alignment("4:4").text(), "4");
  EXPECT_EQ(Alignment{}.text(), "malloc");
  for (const char* text : {"", "24", "0", "4096", "-16", "pages", "16:", ":16", "16:4:4", "16,4"})
    EXPECT_FALSE(parse_alignment(text)) << text;
}

TEST(Alignment, OneThatCannotBeIsRefused) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases{
      {{"--align", "24"}, "--align '24' is not an alignment: write malloc, page, a power of two"},
      {{"--align", "4", "-d", "f64"}, "elements of f64 need an alignment of 8 bytes"},
      {{"--align", "page:2"}, "elements of f32 need an alignment of 4 bytes"},
      {{"--align", "16:4", "--in-place"}, "input and output are one array"},
      {{"--align", "page", "--memory", "cuda"}, "leave it out beside --memory cuda"},
      {{"--pattern", "isolate"}, "did you mean isolated?"},
      {{"--pattern", "isolated", "--memory", "cuda"}, "leave it out beside --memory cuda"}};
  for (const auto& [arguments, expected] : cases) {
    const std::string message = refusal_with(arguments);
    EXPECT_NE(message.find(expected), std::string::npos) << message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  }
  EXPECT_EQ(refusal_with({"--align", "8", "-d", "c64"}), "") << "two doubles";
  EXPECT_EQ(refusal_with({"--align", "4", "-d", "i32_index", "-o", "min_loc"}), "");
}

TEST(Alignment, SeveralRaceInOneRun) {
  const SweepOptions options = sweep_options({"-C", "all_reduce", "-a", "auto,ring,ring", "--align",
                                              "page,16:4,64", "--inject", "ring#2@64=5%"});
  EXPECT_EQ(options.align.text(), "page");
  std::vector<std::string> labels;
  for (const Candidate& candidate : candidates_for(Collective::all_reduce, options, 4, true)) {
    labels.push_back(candidate.label);
    EXPECT_EQ(candidate.inject, candidate.label == "ring#2@64" ? 0.05 : 0);
    EXPECT_EQ(candidate.label.find("@16:4") != std::string::npos,
              options.alignment_text(candidate.align) == "16:4");
  }
  EXPECT_EQ(labels, (std::vector<std::string>{"auto", "ring", "ring#2", "auto@16:4", "ring@16:4",
                                              "ring#2@16:4", "auto@64", "ring@64", "ring#2@64"}));
  EXPECT_NE(refusal_with({"--align", "page,24"}).find("--align '24'"), std::string::npos);
  EXPECT_NE(refusal_with({"--align", "4,page,4:4"}).find("'4' twice"), std::string::npos);
  EXPECT_NE(refusal_with({"--align", ""}).find("--align ''"), std::string::npos);
}

TEST(Alignment, VisibleArraysBeginAtPagesUnlessAskedFor) {
  const auto text = [](const std::vector<std::string>& arguments) {
    return sweep_options(arguments).alignment_text();
  };
  EXPECT_EQ(text({}), "malloc");
  EXPECT_EQ(text({"--buffers", "visible"}), "page");
  EXPECT_EQ(text({"--buffers", "visible", "--align", "malloc:4"}), "page:4");
  EXPECT_EQ(text({"--buffers", "visible", "--align", "64"}), "64");
  EXPECT_EQ(text({"--memory", "cuda"}), "") << "the driver places them";
}

TEST(Alignment, IsRepeatedAndOlderFilesMeantPages) {
  const auto again = [](const std::vector<std::string>& arguments) {
    return repeated(arguments, {});
  };
  const SweepOptions options = sweep_options({"--align", "16:4", "--pattern", "isolated"});
  EXPECT_EQ(again(options.arguments).align.text(), "16:4");
  EXPECT_TRUE(again(options.arguments).is_isolated());
  EXPECT_EQ(again(sweep_options({}).arguments).align.text(), "malloc");
  EXPECT_EQ(again({"--collective=all_reduce"}).align.text(), "page");
  EXPECT_FALSE(again({"--collective=all_reduce"}).is_isolated());
  EXPECT_NO_THROW(static_cast<void>(again({"--memory=cuda"})));
}

// Memory that begins a cache line after a page, as that of a single rank does.
std::shared_ptr<std::byte> allocate_askew(std::size_t bytes) {
  const auto memory = allocate_private(bytes + 64);
  return {memory, memory.get() + 64};
}

TEST(Alignment, ArraysBeginWhereItSays) {
  for (const char* const text : {"malloc", "page", "4", "64", "2048", "16:4", "page:malloc"})
    for (const std::size_t count : {2U, 1000U, 70'000U})
      for (const Allocate& allocate : {Allocate{allocate_private}, Allocate{allocate_askew}}) {
        const Workload workload{
            .collective = Collective::all_gather, .count = count, .type = Datatype::f32, .size = 2};
        const Buffers buffers{workload, 1, alignment(text), allocate};
        EXPECT_EQ(past_page(buffers.calls().front().in), alignment(text).in_offset()) << text;
        EXPECT_EQ(past_page(buffers.calls().front().out), alignment(text).out_offset()) << text;
        const Call& native = buffers.native_calls().front();
        EXPECT_EQ(native.in, buffers.calls().front().in) << "the MPI's calls use the same";
        EXPECT_EQ(native.out, buffers.calls().front().out);
      }
}

TEST(Alignment, OfABroadcastTheRootsArrayIsTheInput) {
  const auto at = [](Rank rank) {
    const Workload workload{
        .collective = Collective::broadcast, .count = 100, .root = 1, .size = 3};
    const Buffers buffers{workload, rank, alignment("64:4")};
    return past_page(buffers.calls().front().out);
  };
  EXPECT_EQ(at(0), 4U);
  EXPECT_EQ(at(1), 64U);
  EXPECT_EQ(at(2), 4U);
}

TEST(Alignment, InPlaceTheWholeArrayBeginsThere) {
  const Workload workload{
      .collective = Collective::all_gather, .count = 8, .size = 2, .in_place = true};
  const Buffers buffers{workload, 1, alignment("64")};
  EXPECT_EQ(past_page(buffers.calls().front().out), 64U);
  EXPECT_EQ(past_page(buffers.calls().front().in), 64U + 32U);
}

TEST(Alignment, StrayWritesBesideArraysAreSeen) {
  const Workload workload{
      .collective = Collective::all_gather, .count = 5, .type = Datatype::i32, .size = 1};
  for (const std::ptrdiff_t stray : {-1, 5}) {
    Buffers buffers{workload, 0, alignment("16:4")};
    buffers.refresh();
    const Call& call = buffers.calls().front();
    std::memcpy(call.out, call.in, 20);
    EXPECT_EQ(buffers.check().wrong, 0U);
    static_cast<std::int32_t*>(call.out)[stray] = 0;
    EXPECT_EQ(buffers.check().wrong, 1U) << stray;
  }
}

}  // namespace
}  // namespace tutti::perf
