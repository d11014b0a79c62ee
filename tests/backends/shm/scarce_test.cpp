// Blocks of a segment stay apart if there is no memory for its lists.
#include <gtest/gtest.h>

#include <new>

#include "backends/shm/segment.hpp"
#include "tests/support/replaced_new.hpp"

namespace tutti::shm {
namespace {

constexpr std::size_t kSmall = std::size_t{64} << 10;
constexpr std::size_t kLarge = std::size_t{1} << 20;

bool allocates_when(std::uint32_t successes, Segment& segment, std::size_t bytes) {
  harness::failing_allocation = successes + 1;
  try {
    static_cast<void>(segment.allocate(bytes));
  } catch (const std::bad_alloc&) {
    return false;
  }
  harness::failing_allocation = 0;
  return true;
}

TEST(SegmentWithoutMemory, KeepsBlocksApart) {
  std::uint32_t successes = 0;
  for (bool is_over = false; !is_over; ++successes) {
    Segment segment{0, std::size_t{64} << 20};
    is_over = allocates_when(successes, segment, kLarge);
    const std::uint64_t first = segment.allocate(kSmall);
    const std::uint64_t second = segment.allocate(kSmall);
    segment.deallocate(first);
    const std::uint64_t third = segment.allocate(kLarge);
    EXPECT_TRUE(third >= second + kSmall || second >= third + kLarge)
        << "after " << successes << " allocations";
    segment.deallocate(second);
    segment.deallocate(third);
    EXPECT_EQ(segment.used(), is_over ? kLarge : 0U);
  }
  EXPECT_GT(successes, 2U) << "it allocates for both of its lists";
}

}  // namespace
}  // namespace tutti::shm
