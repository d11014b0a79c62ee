#include "proof/verify_row.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include <tutti/error.hpp>
#include <tutti/spi/catalog.hpp>

#include "verify_samples.hpp"

namespace tutti::v0 {
namespace {

Schedule build_ring(const Shape& shape, Rank self) {
  return samples::ring_all_reduce(shape.size).schedules[static_cast<std::size_t>(self)];
}

Schedule build_butterfly(const Shape& shape, Rank self) {
  if (!admits(Sizes::power_of_two, shape.size))
    throw Error{ErrorCode::invalid_argument, "a butterfly needs a power of two"};
  return samples::recursive_doubling_all_reduce(shape.size)
      .schedules[static_cast<std::size_t>(self)];
}

Schedule build_either(const Shape& shape, Rank self) {
  return admits(Sizes::power_of_two, shape.size) ? build_butterfly(shape, self)
                                                 : build_ring(shape, self);
}

Schedule build_chain(const Shape& shape, Rank self) {
  const int n = shape.size;
  const auto real = [&](int v) { return (v + shape.root) % n; };
  const int v = (self - shape.root + n) % n;
  Schedule schedule{1};
  if (v + 1 < n) schedule.round({RecvReduce{real(v + 1), {}, Side::right}});
  if (v > 0) schedule.round({Send{real(v - 1), {}}});
  if (v == 0) schedule.round({Finish{{}}});
  return schedule;
}

Schedule build_scatter(const Shape& shape, Rank self) {
  return samples::linear_scatter(shape.size, shape.root).schedules[static_cast<std::size_t>(self)];
}

constexpr VerifyRange kWide{.min_size = 1, .max_size = 16};

Algorithm ring_row() {
  return {.collective = Collective::all_reduce,
          .name = "ring",
          .build = build_ring,
          .traits = {.rotational = true}};
}

Algorithm butterfly_row() {
  return {
      .collective = Collective::all_reduce,
      .name = "butterfly",
      .build = build_butterfly,
      .traits = {
          .sizes = Sizes::power_of_two, .ordered = When::always, .size_invariant = When::always}};
}

Algorithm either_row() {
  return {.collective = Collective::all_reduce,
          .name = "either",
          .build = build_either,
          .traits = {.ordered = When::power_of_two, .size_invariant = When::power_of_two}};
}

Algorithm chain_row() {
  return {.collective = Collective::reduce,
          .name = "chain",
          .build = build_chain,
          .traits = {.ordered = When::root_is_zero, .size_invariant = When::always}};
}

Algorithm scatter_row() {
  return {.collective = Collective::scatter,
          .name = "direct",
          .build = build_scatter,
          .traits = {.own_counts_only = true}};
}

void expect_proved(const Algorithm& row) {
  const RowReport report = verify_row(row, kWide);
  for (const Finding& finding : report.findings)
    ADD_FAILURE() << name_of(finding.kind) << ": " << finding.message;
}

void expect_finding(const Algorithm& row, CheckKind kind, const VerifyRange& range = kWide) {
  const RowReport report = verify_row(row, range);
  EXPECT_FALSE(report.proved()) << row.name << " should fail by " << name_of(kind);
  for (const Finding& finding : report.findings)
    EXPECT_EQ(name_of(finding.kind), name_of(kind)) << finding.message;
}

TEST(VerifyRow, HonestRowsAreProved) {
  for (const Algorithm& row :
       {ring_row(), butterfly_row(), either_row(), chain_row(), scatter_row()})
    expect_proved(row);
  EXPECT_EQ(verify_row(either_row(), kWide).proved_traits.ordered, When::power_of_two);
}

TEST(VerifyRow, ReportsCostsPerSizeAndRefusals) {
  const RowReport report = verify_row(butterfly_row(), kWide);
  ASSERT_EQ(report.sizes.size(), 5U);
  EXPECT_EQ(report.sizes.back().size, 16);
  EXPECT_EQ(report.sizes.back().facts.rounds, 5U);
  EXPECT_EQ(report.shapes, 5U);
  ASSERT_EQ(report.refusals.size(), 11U);
  EXPECT_EQ(report.refusals.front().size, 3);
  EXPECT_NE(report.refusals.front().reason.find("needs a power of two"), std::string::npos);
  EXPECT_EQ(report.proved_traits.ordered, When::always);
  EXPECT_FALSE(report.proved_traits.rotational);
}

TEST(VerifyRow, NothingIsNotAProof) {
  const RowReport report = verify_row(butterfly_row(), {.min_size = 5, .max_size = 7});
  EXPECT_EQ(report.shapes, 0U);
  EXPECT_EQ(report.refusals.size(), 3U);
  EXPECT_FALSE(report.proved());
  EXPECT_TRUE(report.findings.empty());
}

TEST(VerifyRow, EveryRootIsTried) {
  EXPECT_EQ(verify_row(chain_row(), kWide).shapes, 16U * 17 / 2);
  EXPECT_EQ(verify_row(chain_row(), kWide).proved_traits.ordered, When::root_is_zero);
}

TEST(VerifyRow, AnotherTreeClaimed) {
  Algorithm row = butterfly_row();
  for (const char* const other : {"direct", "ring"}) {  // another tree, and none
    row.traits.same_tree_as = other;
    expect_finding(row, CheckKind::not_same_tree);
  }
  for (const char* const other : {"nothing of the kind", "rabenseifner", "multitree"}) {
    row.traits.same_tree_as = other;
    expect_finding(row, CheckKind::build_failed, {.min_size = 4, .max_size = 4});
  }
}

TEST(VerifyRow, TooMuchClaimed) {
  Algorithm row = ring_row();
  row.traits.ordered = When::always;
  expect_finding(row, CheckKind::operand_order);
  row = ring_row();
  row.traits.size_invariant = When::power_of_two;
  expect_finding(row, CheckKind::not_size_invariant);
  row = butterfly_row();
  row.traits.rotational = true;
  expect_finding(row, CheckKind::not_rotational);
  row = chain_row();
  row.traits.ordered = When::power_of_two;
  expect_finding(row, CheckKind::operand_order);
  row = either_row();
  row.traits.ordered = When::always;
  expect_finding(row, CheckKind::operand_order);
  row = butterfly_row();
  row.traits.sizes = Sizes::any;
  expect_finding(row, CheckKind::build_failed);
}

TEST(VerifyRow, TooLittleClaimed) {
  Algorithm row = ring_row();
  row.traits.rotational = false;
  expect_finding(row, CheckKind::too_little_claimed);
  row = ring_row();
  row.traits.rank_identical = When::power_of_two;
  expect_finding(row, CheckKind::too_little_claimed);
  row = ring_row();
  row.traits.sizes = Sizes::power_of_two;
  expect_finding(row, CheckKind::too_little_claimed);
  row = ring_row();
  row.traits.sizes = Sizes::even;
  expect_finding(row, CheckKind::too_little_claimed);
  row = either_row();
  row.traits.ordered = When::never;
  expect_finding(row, CheckKind::too_little_claimed);
  row = butterfly_row();
  row.traits.ordered = When::never;
  expect_finding(row, CheckKind::too_little_claimed);
  row = chain_row();
  row.traits.ordered = When::never;
  expect_finding(row, CheckKind::too_little_claimed);
  row = ring_row();
  row.traits.lockstep = false;
  expect_finding(row, CheckKind::too_little_claimed);
  row = scatter_row();
  row.traits.own_counts_only = false;
  expect_finding(row, CheckKind::too_little_claimed);
}

// On two ranks a ring is ordered, too; that says nothing.
TEST(VerifyRow, FewRanksDoNotShowThatTooLittleIsClaimed) {
  EXPECT_TRUE(verify_row(ring_row(), {.min_size = 1, .max_size = 2}).proved());
}

TEST(VerifyRow, RandomSkipsAreLegalAndReproducible) {
  Algorithm row = ring_row();
  row.parameter = AlgorithmParameter::skips;
  std::size_t sequences = 0;
  for (int n = 1; n <= 100; ++n) {
    const auto choices = verified_choices(row, n, 7);
    EXPECT_TRUE(choices.front().skips.empty());
    for (std::size_t index = 1; index < choices.size(); ++index) {
      ++sequences;
      EXPECT_EQ(choices[index].skips, verified_choices(row, n, 7)[index].skips);
      int last = n;
      for (const int skip : choices[index].skips) {
        EXPECT_GE(skip, (last + 1) / 2);
        EXPECT_LT(skip, last);
        last = skip;
      }
      EXPECT_EQ(last, 1);
    }
  }
  EXPECT_GE(sequences, 98U);
}

TEST(VerifyRow, EveryRadixIsTriedOnce) {
  Algorithm row = chain_row();
  row.parameter = AlgorithmParameter::radix;
  row.default_number = 4;
  std::vector<int> radices{};
  for (const Choice& choice : verified_choices(row, 9, 1)) radices.push_back(choice.number);
  EXPECT_EQ(radices.front(), 4);
  std::sort(radices.begin(), radices.end());
  EXPECT_EQ(radices, (std::vector<int>{2, 3, 4, 8}));
}

// A choice is proved where it serves, and says of other sizes why not.
TEST(VerifyRow, OneChoiceIsProvedByItself) {
  const Algorithm& row = *parse_choice(Collective::all_reduce, "hierarchical").algorithm;
  RowReport report = verify_row(
      row, {.min_size = 1, .max_size = 9, .choice = "hierarchical(circulant, ring):groups=3+2"});
  EXPECT_TRUE(report.proved());
  EXPECT_EQ(report.shapes, 1U);
  ASSERT_EQ(report.sizes.size(), 1U);
  EXPECT_EQ(report.sizes.front().size, 5);
  ASSERT_EQ(report.refusals.size(), 8U);
  EXPECT_NE(report.refusals.front().reason.find("its groups have 5 ranks together, and there is"),
            std::string::npos)
      << report.refusals.front().reason;
  report = verify_row(*parse_choice(Collective::reduce, "knomial").algorithm,
                      {.min_size = 1, .max_size = 16, .choice = "knomial:k=16"});
  EXPECT_TRUE(report.proved()) << "of one choice more may hold than is claimed";
  EXPECT_EQ(report.shapes, 16U * 17 / 2);
}

TEST(VerifyRow, ASampleReachesFurther) {
  const VerifyRange range{.min_size = 1, .max_size = 4, .sample_to = 40, .samples = 2, .seed = 3};
  const RowReport report = verify_row(ring_row(), range);
  EXPECT_TRUE(report.proved());
  EXPECT_EQ(report.shapes, 6U);
  EXPECT_EQ(report.sizes.size(), 4U);
}

}  // namespace
}  // namespace tutti::v0
