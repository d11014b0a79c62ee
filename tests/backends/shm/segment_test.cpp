// Memory that ranks of a host share: who maps what, and where blocks lie.
#include <gtest/gtest.h>

#include <cstring>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backends/shm/segment.hpp"

namespace tutti::shm {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kHugePage = std::size_t{2} << 20;
constexpr std::size_t kSize = std::size_t{64} << 20;

/// A file that is closed after the test.
struct File {
  explicit File(int opened) : descriptor{opened} {}
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() { close(descriptor); }
  int descriptor;
};

ErrorCode refusal(int descriptor) {
  try {
    const Mapping mapping{descriptor};
  } catch (const Error& error) {
    return error.code();
  }
  return ErrorCode::bug;
}

TEST(ShmMapping, IsOfSealedFilesOnly) {
  const File open_length{memfd_create("test", MFD_ALLOW_SEALING)};
  ASSERT_EQ(ftruncate(open_length.descriptor, kPage), 0);
  EXPECT_EQ(refusal(open_length.descriptor), ErrorCode::transport);
  for (const int seals : {F_SEAL_SHRINK, F_SEAL_SHRINK | F_SEAL_GROW, F_SEAL_GROW | F_SEAL_SEAL}) {
    const File some{memfd_create("test", MFD_ALLOW_SEALING)};
    ASSERT_EQ(ftruncate(some.descriptor, kPage), 0);
    ASSERT_EQ(fcntl(some.descriptor, F_ADD_SEALS, seals), 0);
    EXPECT_EQ(refusal(some.descriptor), ErrorCode::transport) << seals;
  }
  const File empty{memfd_create("test", MFD_ALLOW_SEALING)};
  ASSERT_EQ(fcntl(empty.descriptor, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL), 0);
  EXPECT_EQ(refusal(empty.descriptor), ErrorCode::transport);
  const File device{open("/dev/zero", O_RDWR | O_CLOEXEC)};
  EXPECT_EQ(refusal(device.descriptor), ErrorCode::transport);
  EXPECT_EQ(refusal(-1), ErrorCode::transport);
}

TEST(ShmMapping, SeesWhatTheOwnerWrites) {
  const Segment segment{kPage, kSize};
  const Mapping first{segment.descriptor()};
  Mapping second{};
  second = Mapping{segment.descriptor()};
  EXPECT_EQ(first.size(), kSize);
  EXPECT_NE(first.base(), segment.mapping().base());
  *segment.mapping().base() = std::byte{42};
  EXPECT_EQ(*first.base(), std::byte{42});
  EXPECT_EQ(*second.base(), std::byte{42});
}

TEST(ShmMapping, HoldsWhatIsWithinIt) {
  const Segment segment{kPage, kSize};
  const Mapping& mapping = segment.mapping();
  EXPECT_TRUE(mapping.holds(0, kSize));
  EXPECT_TRUE(mapping.holds(kSize, 0));
  EXPECT_TRUE(mapping.holds(kSize - 1, 1));
  EXPECT_FALSE(mapping.holds(kSize - 1, 2));
  EXPECT_FALSE(mapping.holds(kSize + 1, 0));
  EXPECT_FALSE(mapping.holds(8, ~std::uint64_t{0}));
  EXPECT_FALSE(mapping.holds(~std::uint64_t{0}, 8));
}

TEST(ShmSegment, KnowsItsAddresses) {
  const Segment segment{kPage, kSize};
  std::byte* const base = segment.mapping().base();
  EXPECT_TRUE(segment.contains(base, kSize));
  EXPECT_FALSE(segment.contains(base, kSize + 1));
  EXPECT_FALSE(segment.contains(base - 1, 1));
  EXPECT_TRUE(segment.contains(base + kSize - 1, 1));
  EXPECT_FALSE(segment.contains(base + kSize, 0));
  const int elsewhere = 0;
  EXPECT_FALSE(segment.contains(&elsewhere, sizeof elsewhere));
}

/// @return the number that the next file of this process will have.
int next_descriptor() {
  const int descriptor = dup(STDERR_FILENO);
  close(descriptor);
  return descriptor;
}

TEST(ShmSegment, CannotBeMadeTooSmallToBeUsed) {
  const int next = next_descriptor();
  EXPECT_THROW((Segment{kPage, kSize / 2}), Error);
  EXPECT_EQ(next_descriptor(), next) << "nothing stays open";
}

TEST(ShmSegment, LaysBlocksOnPages) {
  Segment segment{kPage + 1, kSize};
  EXPECT_EQ(segment.used(), 2 * kPage);  // the front
  EXPECT_EQ(segment.allocate(1), 2 * kPage);
  EXPECT_EQ(segment.allocate(kPage), 3 * kPage);
  EXPECT_EQ(segment.allocate(kPage + 1), 4 * kPage);
  EXPECT_EQ(segment.used(), 6 * kPage);
  const std::uint64_t huge = segment.allocate(kHugePage);
  EXPECT_EQ(huge, kHugePage);
  EXPECT_EQ(segment.allocate(kHugePage + 1), 2 * kHugePage);
  EXPECT_EQ(segment.used(), 6 * kPage + 3 * kHugePage);
  EXPECT_EQ(segment.allocate(kHugePage - 1), 4 * kHugePage) << "no gap is large enough";
}

TEST(ShmSegment, FillsGapsThatFit) {
  constexpr std::size_t kLarge = 8 * kPage;
  Segment segment{kPage, kSize};
  const std::uint64_t one = segment.allocate(kLarge);
  const std::uint64_t two = segment.allocate(2 * kLarge);
  const std::uint64_t end = segment.allocate(kLarge);
  segment.deallocate(two);
  segment.deallocate(one);
  EXPECT_EQ(segment.used(), kPage + kLarge);
  EXPECT_EQ(segment.allocate(4 * kLarge), end + kLarge);
  EXPECT_EQ(segment.allocate(3 * kLarge), one);
  EXPECT_EQ(segment.allocate(kLarge), end + 5 * kLarge);
}

TEST(ShmSegment, KeepsALittleOfWhatIsSmall) {
  Segment segment{kPage, kSize};
  std::vector<std::uint64_t> all;
  const auto memory = [&] {  // that the file has
    struct stat status {};
    EXPECT_EQ(fstat(segment.descriptor(), &status), 0);
    return static_cast<std::size_t>(status.st_blocks) * 512;
  };
  const std::size_t before = memory();
  for (int i = 0; i < 1000; ++i) all.push_back(segment.allocate(4 * kPage));
  EXPECT_GE(memory(), before + 4000 * kPage);
  for (const std::uint64_t offset : all) segment.deallocate(offset);
  EXPECT_EQ(segment.used(), kPage);
  EXPECT_LE(memory(), before + (std::size_t{1} << 20));
}

TEST(ShmSegment, GivesZeroedMemoryAgain) {
  Segment segment{kPage, kSize};
  for (const std::size_t bytes : {kPage, kHugePage}) {
    const std::uint64_t first = segment.allocate(bytes);
    std::memset(segment.mapping().base() + first, 0x5a, bytes);
    segment.deallocate(first);
    const std::uint64_t again = segment.allocate(bytes);
    EXPECT_EQ(again, first);
    EXPECT_EQ(segment.mapping().base()[again], std::byte{0});
    EXPECT_EQ(segment.mapping().base()[again + bytes - 1], std::byte{0});
  }
}

TEST(ShmSegment, RefusesWhatDoesNotFit) {
  Segment segment{kPage, kSize};
  EXPECT_THROW(static_cast<void>(segment.allocate(kSize + 1)), std::bad_alloc);
  EXPECT_THROW(static_cast<void>(segment.allocate(kSize)), std::bad_alloc);
  EXPECT_THROW(static_cast<void>(segment.allocate(~std::size_t{0})), std::bad_alloc);
  const std::size_t used = segment.used();
  EXPECT_EQ(segment.allocate(kSize - kHugePage), kHugePage);  // all that a huge page may begin
  EXPECT_THROW(static_cast<void>(segment.allocate(kHugePage)), std::bad_alloc);
  EXPECT_EQ(segment.allocate(kPage), kPage);
  segment.deallocate(kPage);
  segment.deallocate(kHugePage);
  EXPECT_EQ(segment.used(), used);
  segment.deallocate(kHugePage);  // not allocated: nothing happens
  EXPECT_EQ(segment.used(), used);
}

}  // namespace
}  // namespace tutti::shm
