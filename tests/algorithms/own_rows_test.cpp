// Catalogs to which algorithms are added.
#include <gtest/gtest.h>

#include <tutti/error.hpp>
#include <tutti/spi/catalog.hpp>

#include "proof/verify_row.hpp"

namespace tutti::v0 {
namespace {

using enum Collective;

Schedule of_ring(const Shape& shape, Rank self) {
  return parse_choice(all_reduce, "ring").build(shape.size, 0, self);
}

Algorithm row(std::string_view name) {
  return {.collective = all_reduce, .name = name, .build = of_ring, .summary = "a ring"};
}

std::string refusal(const Algorithm& added, Catalog catalog = {}) {
  try {
    catalog.add(added);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    return error.what();
  }
  return {};
}

TEST(OwnRows, AreFoundAmongThoseOfTheirCollective) {
  Catalog catalog_with;
  std::string name = "mine";
  catalog_with.add(row(name));
  name = "gone";
  const Algorithm* const found = catalog_with.find(all_reduce, "mine");
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->name, "mine");
  EXPECT_EQ(catalog_with.find(reduce, "mine"), nullptr);
  EXPECT_EQ(catalog_with.rows().size(), catalog().size() + 1);
  Collective last = all_reduce;
  for (const Algorithm* const each : catalog_with.rows()) {
    EXPECT_GE(each->collective, last) << "grouped by collective";
    last = each->collective;
  }
  const Catalog copy = catalog_with;
  catalog_with = {};
  EXPECT_EQ(copy.find(all_reduce, "mine"), found);
}

TEST(OwnRows, AreChosenAsTheOthersAre) {
  Catalog own;
  own.add(row("mine"));
  EXPECT_TRUE(is_added(parse_choice(own, all_reduce, "mine")));
  EXPECT_FALSE(is_added(parse_choice(own, all_reduce, "ring")));
  EXPECT_TRUE(is_added(parse_choice(own, all_reduce, "hierarchical(ring, mine):groups=2")));
  EXPECT_THROW((void)parse_choice(all_reduce, "mine"), Error);
  EXPECT_THROW((void)parse_choice(own, broadcast, "mine"), Error);
}

TEST(OwnRows, ThatCannotBeAreRefused) {
  EXPECT_NE(refusal(row("ring")).find("there is an algorithm 'ring' for all_reduce already"),
            std::string::npos);
  for (const char* const name : {"", "My", "a b", "a:b", "knomial:k=4", "x(y)"})
    EXPECT_NE(refusal(row(name)).find("cannot be named"), std::string::npos) << name;
  for (const char* const name : {"a", "z", "ring_09", "0"})
    EXPECT_EQ(refusal(row(name)), "") << name;
  Algorithm nothing = row("nothing");
  nothing.build = nullptr;
  EXPECT_NE(refusal(nothing).find("no function that builds"), std::string::npos);
  EXPECT_THROW(Catalog{}.add(nothing, ScheduleTable{}), Error);
  Catalog twice;
  twice.add(row("mine"));
  EXPECT_FALSE(refusal(row("mine"), twice).empty());
}

TEST(OwnRows, MayBeWrittenDown) {
  ScheduleTable table;
  for (const Rank root : {0, 2}) {
    std::vector<Schedule> schedules;
    for (Rank rank = 0; rank < 4; ++rank)
      schedules.push_back(parse_choice(broadcast, "chain").build(4, root, rank));
    table.add(root, std::move(schedules));
  }
  Catalog own;
  own.add({.collective = broadcast, .name = "mine", .traits = {.rank_identical = When::always}},
          std::move(table));
  const Choice choice = parse_choice(own, broadcast, "mine");
  EXPECT_EQ(choice.build(4, 2, 1), parse_choice(broadcast, "chain").build(4, 2, 1));
  EXPECT_NO_THROW(require(choice, 4));
  EXPECT_THROW(require(choice, 5), Error);
  try {
    (void)choice.build(4, 1, 0);
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "it has written-down schedules for 4 ranks, 4 ranks and root 2, not for 4 ranks "
                 "and root 1");
  }
  const RowReport report = verify_row(*choice.algorithm, {.min_size = 1, .max_size = 8});
  EXPECT_TRUE(report.proved()) << report.findings.front().message;
  EXPECT_EQ(report.shapes, 2U);
  EXPECT_EQ(report.refusals.size(), 7U);
}

}  // namespace
}  // namespace tutti::v0
