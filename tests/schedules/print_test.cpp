// Printed schedules equal the schedules.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include <vector>

#include <tutti/spi/algorithm.hpp>

#include "proof/verify_row.hpp"
#include "schedules/print.hpp"

namespace tutti::v0 {
namespace {

using nlohmann::json;

std::vector<Schedule> build_all(const Choice& choice, int size, Rank root) {
  std::vector<Schedule> schedules;
  for (Rank rank = 0; rank < size; ++rank) schedules.push_back(choice.build(size, root, rank));
  return schedules;
}

const std::vector<Schedule> kPair{
    Schedule{2, 1}
        .round({Send{1, {Space::in, 1}}, RecvReduce{1, {Space::out, 0}, Side::right}})
        .round({Copy{{Space::out, 0}, {Space::scratch, 0}},
                Reduce{{Space::in, 1}, {Space::scratch, 1}, Side::left}})
        .round({Finish{{Space::out, 0, 2}}}),
    Schedule{2, 1}.round({Recv{0, {Space::out, 1}}, Send{0, {Space::in, 0}}})};

TEST(Print, TextHasOneAlignedLinePerStep) {
  const Printed printed{
      .algorithm = "mine", .collective = Collective::reduce, .root = 0, .schedules = kPair};
  EXPECT_EQ(to_text(printed),
            "mine reduce, 2 ranks, root 0, 2 units\n"
            "rank 0\n"
            "  round 0: send         in[1]       -> 1\n"
            "           recv_reduce  out[0]      <- 1 (right)\n"
            "  round 1: copy         scratch[0]  <- out[0]\n"
            "           reduce       scratch[1]  <- in[1] (left)\n"
            "  round 2: finish       out[0..1]\n"
            "rank 1\n"
            "  round 0: recv         out[1]      <- 0\n"
            "           send         in[0]       -> 0\n");
}

TEST(Print, TextOfOneRankHasThatRankOnly) {
  const Printed printed{
      .algorithm = "mine", .collective = Collective::all_gather, .schedules = kPair, .only = 1};
  EXPECT_EQ(to_text(printed),
            "mine all_gather, 2 ranks, 2 units\n"
            "rank 1\n"
            "  round 0: recv         out[1]  <- 0\n"
            "           send         in[0]   -> 0\n");
}

TEST(Print, TextOfALonelyRankSaysThatThereIsNothingToDo) {
  const std::vector<Schedule> one{Schedule{1}};
  const Printed printed{
      .algorithm = "ring", .collective = Collective::all_reduce, .schedules = one};
  EXPECT_EQ(to_text(printed), "ring all_reduce, 1 rank, 1 unit\nrank 0: nothing to do\n");
}

Space space_of(const std::string& name) {
  return name == "in" ? Space::in : name == "out" ? Space::out : Space::scratch;
}

/// Reads a step back from its JSON.
Step step_of(const json& step) {
  const std::string kind = step.at("step");
  const Slots slots{space_of(step.at("space")), step.at("first"), step.at("count")};
  const Side side = step.value("side", "left") == "left" ? Side::left : Side::right;
  if (kind == "send") return Send{step.at("peer"), slots};
  if (kind == "recv") return Recv{step.at("peer"), slots};
  if (kind == "recv_reduce") return RecvReduce{step.at("peer"), slots, side};
  if (kind == "finish") return Finish{slots};
  const Slots from{space_of(step.at("from_space")), step.at("from_first"), step.at("count")};
  if (kind == "reduce") return Reduce{from, slots, side};
  EXPECT_EQ(kind, "copy");
  return Copy{from, slots};
}

/// Reads schedules back from their JSON.
std::vector<Schedule> schedules_of(const json& document) {
  std::vector<Schedule> schedules;
  for (const json& rank : document.at("ranks")) {
    EXPECT_EQ(rank.at("rank"), schedules.size());
    schedules.emplace_back(document.at("units").get<std::uint32_t>(),
                           document.at("planes").get<std::uint32_t>(), rank.value("paced", false));
    for (const json& round : rank.at("rounds")) {
      for (const json& step : round) schedules.back().add(step_of(step));
      schedules.back().end_round();
    }
  }
  return schedules;
}

TEST(Print, JsonOfEveryRowReadsBackAsTheSameSchedules) {
  for (const Algorithm& row : catalog()) {
    const Rank root = is_rooted(row.collective) ? 1 : 0;
    for (const int size : {2, 4}) {
      if (!admits(row.traits.sizes, size)) continue;
      const Choice choice = verified_choices(row, size, 1).front();
      const std::vector<Schedule> schedules = build_all(choice, size, root);
      const json document = json::parse(to_json({.algorithm = std::string{row.name},
                                                 .collective = row.collective,
                                                 .root = root,
                                                 .schedules = schedules}));
      EXPECT_EQ(document.at("algorithm"), row.name);
      EXPECT_EQ(document.at("collective"), name_of(row.collective));
      EXPECT_EQ(document.at("size"), size);
      EXPECT_EQ(document.at("root"), root);
      EXPECT_TRUE(schedules_of(document) == schedules) << name_of(row.collective) << row.name;
    }
  }
}

TEST(Print, JsonOfHandWrittenSchedulesReadsBack) {
  const json document = json::parse(to_json(
      {.algorithm = "quote \" and \\", .collective = Collective::reduce, .schedules = kPair}));
  EXPECT_EQ(document.at("algorithm"), "quote \" and \\");
  EXPECT_TRUE(schedules_of(document) == kPair);
}

TEST(Print, JsonOfOneRankNamesIt) {
  const json document = json::parse(to_json(
      {.algorithm = "mine", .collective = Collective::reduce, .schedules = kPair, .only = 1}));
  ASSERT_EQ(document.at("ranks").size(), 1u);
  EXPECT_EQ(document.at("ranks").at(0).at("rank"), 1);
  EXPECT_EQ(document.at("size"), 2);
}

}  // namespace
}  // namespace tutti::v0
