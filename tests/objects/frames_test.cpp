// Frames beside objects, one at a time: accepted and rejected ones, and the ranks that errors name.
#include <vector>

#include <gtest/gtest.h>

#include <tutti/error.hpp>

#include "objects/object_frames.hpp"

namespace tutti::v0::detail {
namespace {

constexpr ObjectReport kReport{.fingerprint = 7, .failed = 0, .most = 1000, .largest = 100};

ObjectFrame good_frame() {
  ObjectFrame frame;
  frame.report = kReport;
  frame.size = 100;
  return frame;
}

TEST(ObjectFrame, is_believed_where_it_can_be_one) {
  EXPECT_NO_THROW(good_frame().check(1, ObjectVote{kReport}));
}

TEST(ObjectFrame, is_not_believed_where_any_part_cannot_be) {
  const ObjectVote vote{kReport};
  std::vector<ObjectFrame> wrong(4, good_frame());
  wrong[0].magic ^= 1;
  wrong[1].size = wrong[1].report.largest + 1;
  wrong[2].report.failed = 2;
  wrong[3].report.largest = vote.largest() + 1;
  for (const ObjectFrame& frame : wrong) {
    const auto index = &frame - wrong.data();
    try {
      frame.check(1, vote);
      ADD_FAILURE() << "frame " << index << " was believed";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::mismatch) << index;
      EXPECT_EQ(error.culprit(), 1) << index;
    }
  }
}

TEST(ObjectFrame, is_not_believed_where_no_memory_is_so_large) {
  ObjectFrame frame = good_frame();
  for (const std::uint64_t bytes : {kMostObjectBytes, kMostObjectBytes + 1, ~std::size_t{0}}) {
    frame.size = frame.report.largest = bytes;
    const ObjectVote vote{frame.report};
    if (bytes > kMostObjectBytes) {
      EXPECT_THROW(frame.check(1, vote), Error) << bytes;
    } else {
      EXPECT_NO_THROW(frame.check(1, vote));
    }
  }
}

// The error names the first among equals, and the last.
TEST(ObjectAccount, of_what_is_too_large_names_the_giver_and_the_taker) {
  for (std::size_t giver = 0; giver < 3; ++giver)
    for (std::size_t taker = 0; taker < 3; ++taker) {
      std::vector<ObjectAccount> accounts(3, ObjectAccount{kReport, "gather_object of T", ""});
      accounts[giver].report.largest = 500;
      accounts[taker].report.most = 400;
      const Error error = failure_of(accounts);
      EXPECT_EQ(error.code(), ErrorCode::object);
      EXPECT_EQ(error.culprit(), static_cast<Rank>(giver));
      EXPECT_EQ(std::string{error.what()}, "gather_object of T: rank " + std::to_string(giver) +
                                               " gives an object of 500 bytes, rank " +
                                               std::to_string(taker) +
                                               " accepts at most 400 (ObjectOptions::most_bytes)");
    }
}

}  // namespace
}  // namespace tutti::v0::detail
