// Tuning files, and what a selector makes of them.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include <tutti/error.hpp>

#include "selector/selector.hpp"
#include "selector/tuning.hpp"

namespace tutti::detail {
namespace {

TunedCell cell(std::size_t bytes, const char* algorithm, double median_us, double half_width = 0) {
  return {.bytes = bytes,
          .algorithm = algorithm,
          .segment_bytes = 0,
          .median_us = median_us,
          .low_us = median_us - half_width,
          .high_us = median_us + half_width};
}

Tuning tuning_with(std::vector<TunedRule> rules) {
  return {.origin = "FILE",
          .machine = {"a processor", 8},
          .tables = {
              {.place = {Collective::all_reduce, 4, 1, "shm", false}, .rules = std::move(rules)}}};
}

std::string refusal_of_text(const std::string& text) {
  try {
    (void)tuning_of(text);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    return error.what();
  }
  return {};
}

/// With some text replaced.
std::string changed(const std::string& from, const std::string& to) {
  std::string text = text_of(tuning_with({{0, "ring", 0}}));
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(Tuning, RulesTakeTheFastestAndChangeBetweenSizes) {
  const std::vector<TunedCell> cells{cell(64, "a", 1), cell(64, "b", 2), cell(1024, "a", 4),
                                     cell(1024, "b", 3)};
  const std::vector<TunedRule> expected{{0, "a", 0}, {256, "b", 0}};
  EXPECT_EQ(rules_of(cells), expected);
}

TEST(Tuning, RulesDoNotChangeForWhatCannotBeToldApart) {
  const std::vector<TunedCell> cells{cell(64, "a", 1), cell(64, "b", 2), cell(1024, "a", 3.1, .2),
                                     cell(1024, "b", 3, .2)};
  EXPECT_EQ(rules_of(cells), (std::vector<TunedRule>{{0, "a", 0}}));
}

TEST(Tuning, RulesTellSegmentsApart) {
  std::vector<TunedCell> cells{cell(64, "a", 1), cell(1 << 20, "a", 9), cell(1 << 20, "a", 5)};
  cells.back().segment_bytes = 65536;
  const std::vector<TunedRule> expected{{0, "a", 0}, {8192, "a", 65536}};
  EXPECT_EQ(rules_of(cells), expected);
  EXPECT_TRUE(rules_of({}).empty());
}

TEST(Tuning, IsReadAsItWasWritten) {
  Tuning tuning = tuning_with({{0, "ring", 0}, {4096, "knomial:k=4", 65536}});
  tuning.tables[0].cells = {cell(64, "ring", 1.25, .5)};
  const std::string text = text_of(tuning);
  const Tuning read = tuning_of(text);
  EXPECT_EQ(text_of(read), text);
  EXPECT_EQ(read.machine, tuning.machine);
  EXPECT_EQ(read.tables.at(0).place, tuning.tables[0].place);
  EXPECT_EQ(read.tables.at(0).rules, tuning.tables[0].rules);
}

TEST(Tuning, SaysHowCellsWereMeasuredAndOlderFilesDoNot) {
  Tuning tuning = tuning_with({{0, "ring", 0}});
  tuning.tables[0].cells = {cell(64, "ring", 1.25)};
  std::string text = text_of(tuning);
  const std::string said = R"(,"align":"page","pattern":"back_to_back")";
  const std::size_t at = text.find(said);
  ASSERT_NE(at, std::string::npos) << text;
  const Tuning old = tuning_of(std::string{text}.erase(at, said.size()));
  EXPECT_EQ(text_of(old), text) << "what older files were measured with";
  tuning.tables[0].cells[0].align = "malloc";
  tuning.tables[0].cells[0].pattern = "isolated";
  const TunedCell read = tuning_of(text_of(tuning)).tables.at(0).cells.at(0);
  EXPECT_EQ(read.align, "malloc");
  EXPECT_EQ(read.pattern, "isolated");
}

TEST(Tuning, RefusalsNameThePlaceAndWhatIsWrong) {
  EXPECT_NE(refusal_of_text("{\n  \"format\": oops").find("line 2"), std::string::npos);
  EXPECT_NE(refusal_of_text("[]").find("not a tuning file"), std::string::npos);
  const auto expect = [](const std::string& from, const std::string& to, const std::string& said) {
    const std::string refusal = refusal_of_text(changed(from, to));
    EXPECT_NE(refusal.find(said), std::string::npos) << to << ": " << refusal;
  };
  expect("tutti-tuning", "other", "\"format\" is not tutti-tuning");
  expect("\"version\": 1", "\"version\": 2", "\"version\" is not 1");
  expect("\"cores\":8", "\"cores\":0", "/machine: \"cores\" is not from 1");
  expect("all_reduce", "al_reduce", "/tables/0: \"collective\" is 'al_reduce'");
  expect("\"ranks\": 4", "\"ranks\": \"4\"", "/tables/0: \"ranks\" is not a number");
  expect("\"ranks\": 4", "\"ranks\": 1e300", "/tables/0: \"ranks\" is not a number");
  expect("private", "hidden", "private or visible");
  expect("\"from_bytes\":0", "\"from_bytes\":8", "/tables/0/rules/0: \"from_bytes\" does not rise");
  expect("\"from_bytes\":0", "\"from_bytes\":0.5", "not a whole number");
  expect("\"ring\"", "\"\"", "\"algorithm\" is not a text");
  expect("\"rules\"", "\"roles\"", "\"rules\" is missing");
  std::string twice = text_of(tuning_with({{0, "ring", 0}}));
  const std::size_t begin = twice.find("  {\n   \"collective\"");
  const std::string table = twice.substr(begin, twice.rfind("\n ]") - begin);
  twice.insert(begin, table + ",\n");
  EXPECT_NE(refusal_of_text(twice).find("has a second table for this place"), std::string::npos);
}

TEST(Tuning, AFileThatCannotBeReadIsNamed) {
  try {
    (void)read_tuning("/nowhere/at/all.json");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    EXPECT_NE(std::string{error.what()}.find("/nowhere/at/all.json: no such file"),
              std::string::npos);
  }
}

TunedCosts costs_for(int ranks, int hosts, Femtoseconds alpha) {
  return {.ranks = ranks, .hosts = hosts, .transport = "shm", .costs = {.alpha = alpha}};
}

TEST(TunedCosts, AreReadAsTheyWereWritten) {
  Tuning tuning = tuning_with({{0, "ring", 0}});
  TunedCosts costs = costs_for(4, 1, 1'500'000'000);
  costs.costs = {.alpha = 1'500'000'000,
                 .beta = 100'000,
                 .gamma = 12'500,
                 .round = 3'000'000'000,
                 .overlaps = true,
                 .half_duplex = true,
                 .shared_cores = 2,
                 .buffered_bytes = 4096,
                 .gamma_read = 50'000};
  keep_costs(tuning, costs);
  const Tuning read = tuning_of(text_of(tuning));
  ASSERT_EQ(read.costs.size(), 1U);
  EXPECT_EQ(read.costs[0].costs, costs.costs);
  EXPECT_EQ(text_of(read), text_of(tuning));
}

TEST(TunedCosts, ThoseOfTheClosestNumberOfRanksHold) {
  Tuning tuning;
  keep_costs(tuning, costs_for(2, 1, 1));
  keep_costs(tuning, costs_for(16, 1, 2));
  keep_costs(tuning, costs_for(4, 4, 3));
  keep_costs(tuning, costs_for(16, 1, 4));  // instead of the earlier ones
  EXPECT_EQ(tuning.costs.size(), 3U);
  const auto alpha = [&](int ranks, int hosts) {
    return find_costs(tuning, costs_for(ranks, hosts, 0))->costs.alpha;
  };
  EXPECT_EQ(alpha(3, 1), 1);
  EXPECT_EQ(alpha(8, 1), 4);
  EXPECT_EQ(alpha(64, 64), 3);
  TunedCosts wanted = costs_for(2, 1, 0);
  wanted.costs.shared_cores = 2;
  EXPECT_EQ(find_costs(tuning, wanted), nullptr);
  wanted = costs_for(2, 1, 0);
  wanted.visible = true;
  EXPECT_EQ(find_costs(tuning, wanted), nullptr);
}

/// A communicator of four ranks that share memory, with what was measured.
Selector selector_of(std::shared_ptr<const Tuning> tuning) {
  auto shared_config = std::make_shared<SharedConfig>();
  shared_config->tuning = std::move(tuning);
  return Selector{
      CostModel{},
      nullptr,
      {.hosts = {0, 0, 0, 0}, .transport = "shm", .shared_config = std::move(shared_config)}};
}

Selector selector_with(std::vector<TunedRule> rules) {
  return selector_of(std::make_shared<const Tuning>(tuning_with(std::move(rules))));
}

Problem all_reduce_of(std::size_t bytes) {
  static const Operator kSum{OperatorKind::sum};
  return {.contract = {Collective::all_reduce, 4, 0},
          .type = Datatype::f32,
          .element_bytes = 4,
          .op = &kSum,
          .count = bytes / 4,
          .determinism = Determinism::rank_identical};
}

TEST(MeasuredChoice, FollowsTheRuleOfItsSize) {
  Selector selector = selector_with({{0, "ring", 0}, {4096, "segmented_ring", 8192}});
  const Selection small = selector.select(all_reduce_of(64));
  EXPECT_EQ(small.chosen.choice.text(), "ring");
  EXPECT_NE(small.explain().find("ring (measured: FILE, from 0 bytes on)"), std::string::npos)
      << small.explain();
  const Selection large = selector.select(all_reduce_of(1 << 20));
  EXPECT_EQ(large.chosen.choice.text(), "segmented_ring");
  EXPECT_EQ(large.chosen.segment_bytes, 8192U);
  EXPECT_EQ(selector.select(all_reduce_of(4096)).chosen.choice.text(), "segmented_ring");
  EXPECT_EQ(selector.select(all_reduce_of(4092)).chosen.choice.text(), "ring");
}

TEST(MeasuredChoice, HoldsOnlyWhereItWasMeasured) {
  Selector selector = selector_with({{0, "ring", 0}});
  Problem visible = all_reduce_of(64);
  visible.visible = true;
  EXPECT_TRUE(selector.select(visible).measured.empty());
  Problem fewer = all_reduce_of(64);
  fewer.contract.size = 3;
  EXPECT_TRUE(selector.select(fewer).measured.empty());
  EXPECT_FALSE(selector.select(all_reduce_of(64)).measured.empty());
}

TEST(MeasuredChoice, NeverSteersWhatEveryRunMustChooseAlike) {
  Selector selector = selector_with({{0, "ring", 0}});
  Problem problem = all_reduce_of(64);
  problem.determinism = Determinism::run_to_run;
  EXPECT_FALSE(selector.select(problem).chosen.is_measured);
}

TEST(MeasuredChoice, ThatCannotServeLeavesTheChoiceToTheModelAndSaysSo) {
  const auto expect = [](const char* rule, const char* said) {
    Selector selector = selector_with({{0, rule, 0}});
    const Selection selection = selector.select(all_reduce_of(64));
    EXPECT_FALSE(selection.chosen.is_measured);
    EXPECT_TRUE(selection.chosen.refusal.empty());
    EXPECT_NE(selection.explain().find(said), std::string::npos) << selection.explain();
  };
  expect("rung", "measured, but not applicable: FILE, from 0 bytes on: ");
  expect("knomial:k=0", "measured, but not applicable: FILE");
}

TEST(MeasuredCosts, AreCharged) {
  auto tuning = std::make_shared<Tuning>();
  tuning->origin = "FILE";
  keep_costs(*tuning, costs_for(4, 1, 77'000'000'000));
  Selector selector = selector_of(tuning);
  const Selection selection = selector.select(all_reduce_of(64));
  EXPECT_EQ(selection.charged.alpha, 77'000'000'000);
  EXPECT_EQ(selection.times, "calibrated");
  EXPECT_NE(selection.explain().find("77.0 us per message"), std::string::npos);
  EXPECT_NE(selection.explain().find("measured: FILE"), std::string::npos);
  Problem problem = all_reduce_of(64);
  problem.determinism = Determinism::run_to_run;
  EXPECT_EQ(selector.select(problem).charged.alpha, kDefaultCosts.alpha);
  EXPECT_EQ(selector.select(problem).times, "assumed");
}

TEST(MeasuredChoice, GivesWayToWhatACallNames) {
  Selector selector = selector_with({{0, "ring", 0}});
  Problem problem = all_reduce_of(64);
  problem.algorithm = "rabenseifner";
  EXPECT_EQ(selector.select(problem).chosen.choice.text(), "rabenseifner");
  problem.algorithm = {};
  problem.segment = 16;
  EXPECT_EQ(selector.select(problem).chosen.segment_bytes, 16U);
}

}  // namespace
}  // namespace tutti::detail
