// Schedules of hierarchies one after the other, whose groups differ.
#include <gtest/gtest.h>

#include <vector>

#include <tutti/spi/algorithm.hpp>

namespace tutti::v0 {
namespace {

using enum Collective;

std::vector<Schedule> all_of(const Choice& choice, int size) {
  std::vector<Schedule> schedules;
  for (Rank rank = 0; rank < size; ++rank) schedules.push_back(choice.build(size, 0, rank));
  return schedules;
}

// The groups of the last hierarchy are remembered, those of others are not taken for them.
TEST(Grouping, ScheduleOfARankDoesNotDependOnWhatWasBuiltBefore) {
  const Choice even = parse_choice(all_reduce, "hierarchical(circulant, ring):groups=4");
  const Choice odd = parse_choice(all_reduce, "hierarchical(circulant, ring):groups=5+3");
  const Choice apart =
      parse_choice(all_reduce, "hierarchical(circulant, ring):ranks=0+1+0+1+0+1+0+1");
  const auto all_even = all_of(even, 8), all_odd = all_of(odd, 8), all_apart = all_of(apart, 8),
             more = all_of(even, 16);
  for (Rank rank = 0; rank < 8; ++rank) {
    const auto at = static_cast<std::size_t>(rank);
    EXPECT_EQ(even.build(8, 0, rank), all_even[at]);
    EXPECT_EQ(odd.build(8, 0, rank), all_odd[at]);
    EXPECT_EQ(apart.build(8, 0, rank), all_apart[at]);
    EXPECT_EQ(even.build(16, 0, rank), more[at]);
    EXPECT_NE(all_even[at], all_odd[at]);
  }
}

}  // namespace
}  // namespace tutti::v0
