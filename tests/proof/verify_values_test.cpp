#include <gtest/gtest.h>

#include "proof/verify_values.hpp"

namespace tutti::verifying {
namespace {

TEST(VerifyValues, OperandsMayChangePlacesButNotPartners) {
  ValueStore store{};
  store.reset(3, false);
  const Value ab = store.combine(store.leaf(0), store.leaf(1));
  const Value ba = store.combine(store.leaf(1), store.leaf(0));
  EXPECT_EQ(ab.tree(), ba.tree());
  EXPECT_TRUE(ab.ordered());
  EXPECT_FALSE(ba.ordered());
  const Value abc = store.combine(ab, store.leaf(2));
  const Value bca = store.combine(store.combine(store.leaf(1), store.leaf(2)), store.leaf(0));
  EXPECT_TRUE(store.complete(abc, 3));
  EXPECT_TRUE(store.complete(bca, 3));
  EXPECT_NE(abc.tree(), bca.tree());
  EXPECT_NE(ab.tree(), ab.rounded().tree());
  // Finished with the fold, a value is rounded once; finished later, twice.
  EXPECT_EQ(ab.rounded().tree(), ab.rounded().finished_in_fold().tree());
  EXPECT_NE(ab.rounded().tree(), ab.rounded().finished_apart().tree());
  EXPECT_EQ(store.leaf(0).tree(), store.leaf(0).finished_apart().tree());
}

TEST(VerifyValues, OperandsThatInterleaveAreOutOfOrder) {
  ValueStore store{};
  store.reset(4, false);
  const Value even = store.combine(store.leaf(0), store.leaf(2));
  const Value odd = store.combine(store.leaf(1), store.leaf(3));
  EXPECT_TRUE(even.ordered());
  EXPECT_TRUE(odd.ordered());
  EXPECT_FALSE(store.combine(even, odd).ordered());
  EXPECT_FALSE(store.combine(even, store.leaf(1)).ordered());
  EXPECT_TRUE(store.combine(even, store.leaf(3)).ordered());
}

TEST(VerifyValues, OverlapIsNothingUnlessIdempotent) {
  ValueStore store{};
  store.reset(2, false);
  EXPECT_FALSE(store.combine(store.leaf(0), store.leaf(0)).present());
  store.reset(2, true);
  EXPECT_TRUE(store.combine(store.leaf(0), store.leaf(0)).present());
}

// An operand that counts on both sides is out of order.
TEST(VerifyValues, OperandsThatOverlapAreOutOfOrder) {
  ValueStore store{};
  store.reset(3, true);
  const Value low = store.combine(store.leaf(0), store.leaf(1));
  const Value high = store.combine(store.leaf(1), store.leaf(2));
  const Value all = store.combine(low, high);
  EXPECT_TRUE(store.complete(all, 3));
  EXPECT_FALSE(all.ordered());
}

// More ranks than bits in a word, more trees than the table first holds.
TEST(VerifyValues, ManyRanks) {
  constexpr int kRanks = 300;
  ValueStore store{};
  store.reset(kRanks, false);
  for (Rank first = 0; first < kRanks; first += 7) {
    Value sum = store.leaf(first);
    for (Rank step = 1; step < kRanks; ++step) {
      EXPECT_FALSE(store.complete(sum, kRanks));
      const Rank next = (first + step) % kRanks;
      EXPECT_FALSE(store.contains(sum, next));
      sum = store.combine(sum, store.leaf(next));
      ASSERT_TRUE(sum.present());
      EXPECT_TRUE(store.contains(sum, next));
    }
    EXPECT_TRUE(store.complete(sum, kRanks));
    EXPECT_EQ(sum.ordered(), first == 0);
  }
}

}  // namespace
}  // namespace tutti::verifying
