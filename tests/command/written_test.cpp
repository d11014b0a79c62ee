// Schedules that are written to files and read again.
#include <gtest/gtest.h>

#include <array>
#include <fstream>
#include <string>

#include <tutti/error.hpp>

#include "collectives/print.hpp"
#include "perf/load.hpp"
#include "perf/sweep_failure.hpp"
#include "perf/written.hpp"

namespace tutti::perf {
namespace {

std::vector<Schedule> schedules_of(const Choice& choice, int size, Rank root) {
  std::vector<Schedule> schedules;
  for (Rank rank = 0; rank < size; ++rank) schedules.push_back(choice.build(size, root, rank));
  return schedules;
}

std::string json_of(const Choice& choice, int size, Rank root) {
  const std::vector<Schedule> schedules = schedules_of(choice, size, root);
  return to_json({.algorithm = choice.text(),
                  .collective = choice.algorithm->collective,
                  .root = root,
                  .schedules = schedules});
}

/// Every row on several numbers of ranks. @param visit is given a choice, a size and a root.
template <class Visit>
void for_each_row(Visit visit) {
  for (const Algorithm& row : catalog()) {
    if (!has_default(row.parameter)) continue;
    const Choice choice{.algorithm = &row, .number = row.default_number};
    for (const int size : {1, 2, 3, 4, 6, 8, 13, 16, 18})
      if (admits(row.traits.sizes, size))
        visit(choice, size, is_rooted(row.collective) ? size - 1 : 0);
  }
}

std::string refusal(const std::string& text) {
  try {
    (void)from_json(text);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument) << error.what();
    return error.what();
  }
  return {};
}

TEST(Written, AsJsonIsReadAsItWas) {
  for_each_row([](const Choice& choice, int size, Rank root) {
    const Written read = from_json(json_of(choice, size, root));
    EXPECT_EQ(read.name, choice.text());
    EXPECT_EQ(read.collective, choice.algorithm->collective);
    EXPECT_EQ(read.root, root);
    ASSERT_EQ(read.schedules, schedules_of(choice, size, root))
        << choice.text() << " on " << size << " ranks";
  });
}

TEST(Written, IsProvedWithAllThatHolds) {
  const Choice ring = parse_choice(Collective::all_reduce, "ring");
  const Traits traits = proved_traits(from_json(json_of(ring, 5, 0)));
  EXPECT_TRUE(traits.rotational);
  EXPECT_EQ(traits.ordered, When::never);
  EXPECT_EQ(traits.rank_identical, When::always);
}

constexpr const char* kPair =
    R"({"algorithm":"pair","collective":"broadcast","size":2,"root":0,"units":1,"planes":0,"ranks":[)"
    R"({"rank":0,"rounds":[[{"step":"send","peer":1,"space":"out","first":0,"count":1}]]},)"
    R"({"rank":1,"rounds":[[{"step":"recv","peer":0,"space":"out","first":0,"count":1}]]}]})";

std::string changed(const std::string& from, const std::string& to) {
  std::string text = kPair;
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(Written, ThatCannotBeIsRefused) {
  EXPECT_EQ(refusal(kPair), "");
  const std::array<std::array<const char*, 3>, 20> cases{{
      {R"({"alg)", R"(["alg)", "no JSON"},
      {R"("algorithm")", R"("algorithms")", "there is no \"algorithm\""},
      {R"("broadcast")", R"("broadcasts")", "'broadcasts' is no collective"},
      {R"("broadcast")", "7", "\"collective\" is no text"},
      {R"("size":2)", R"("size":3)", "schedules of 2 ranks, expected 3"},
      {R"("size":2)", R"("size":0)", "size 0 is not in 1 .. 4096"},
      {R"("size":2)", R"("size":1e300)", "\"size\" is no number that could be meant"},
      {R"("size":2)", R"("size":-2)", "\"size\" is no number"},
      {R"("root":0)", R"("root":2)", "root 2 is not in 0 .. 1"},
      {R"("units":1)", R"("units":4000000000)", "units 4000000000 is not in"},
      {R"("units":1)", R"("units":4000000)", "too many slots"},
      {R"("planes":0)", R"("planes":4000000)", "too many slots"},
      {R"("rank":1)", R"("rank":0)", "that of rank 1 is not in its place"},
      {R"("send")", R"("sent")", "rank 0, round 1: 'sent' is no step"},
      {R"("peer":1)", R"("peer":2)", "peer 2 is not in 0 .. 1"},
      {R"("peer":1,)", "", "peer -1 is not in 0 .. 1"},
      {R"("first":0)", R"("first":1)", "first slot 1 is not in 0 .. 0"},
      {R"("count":1)", R"("count":2)", "count of slots 2 is not in 1 .. 1"},
      {R"("space":"out")", R"("space":"scratch")", "count of slots 1 is not in 1 .. 0"},
      {R"([[{"step":"send","peer":1,"space":"out","first":0,"count":1}]])", "[[]]",
       "round 1 of rank 0 is empty"},
  }};
  for (const auto& [from, to, words] : cases)
    EXPECT_NE(refusal(changed(from, to)).find(words), std::string::npos)
        << to << ": " << refusal(changed(from, to));
  const std::string whole = kPair;
  for (std::size_t length = 0; length < whole.size(); ++length)
    EXPECT_FALSE(refusal(whole.substr(0, length)).empty()) << length;
  EXPECT_FALSE(refusal(std::string(100'000, '[')).empty());
}

TEST(Written, FromFilesIsACatalog) {
  const std::string folder = testing::TempDir();
  const Choice ring = parse_choice(Collective::all_reduce, "ring");
  for (const int size : {3, 4})
    std::ofstream{folder + "tutti_ring" + std::to_string(size) + ".json"} << json_of(ring, size, 0);
  const std::string files =
      "mine=" + folder + "tutti_ring3.json,mine=" + folder + "tutti_ring4.json";
  const auto loaded = load_catalog(files);
  const Algorithm* const row = loaded->find(Collective::all_reduce, "mine");
  ASSERT_NE(row, nullptr);
  EXPECT_EQ(row->table->all().size(), 2U);
  EXPECT_TRUE(row->traits.rotational);
  EXPECT_THROW((void)load_catalog(folder + "tutti_ring3.json"), Failure) << "the name is taken";
  std::ofstream{folder + "tutti_wrong.json"}
      << changed(R"("rank":1,"rounds":[[)", R"("rank":1,"rounds":[],"x":[[)");
  for (const char* const file : {"tutti_wrong.json", "tutti_no.json", "tutti_no.so", "tutti.txt"})
    EXPECT_THROW((void)load_catalog(folder + file), Failure) << file;
  try {
    (void)load_catalog(folder + "tutti_wrong.json");
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.code(), ExitCode::wrong_data) << failure.what();
  }
}

}  // namespace
}  // namespace tutti::perf
