// An object's segments that come where they belong, or stay where their sender has them.
#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "objects/object_stream.hpp"

namespace tutti::v0::detail {
namespace {

/// Notes which messages may go.
class Sender final : public Transport {
 public:
  [[nodiscard]] Rank self() const noexcept override { return 1; }
  [[nodiscard]] int size() const noexcept override { return 2; }
  [[nodiscard]] const Capabilities& capabilities() const noexcept override { return capabilities_; }
  [[nodiscard]] Duration now() const noexcept override { return {}; }
  void post(std::span<const Transfer> /*transfers*/) override {}
  void poll() override {}
  void signal(AccessId access, bool is_stored) override {
    EXPECT_FALSE(is_stored);
    ended.push_back(access);
  }
  bool abort(const Error& /*cause*/) noexcept override { return true; }

  std::vector<AccessId> ended{};

 private:
  Capabilities capabilities_{.name = "sender", .visible = true};
};

using Accesses = std::vector<AccessId>;

/// An object of 20 segments, of which the sender has all bytes.
class Arriving : public ::testing::Test {
 protected:
  static constexpr int kLanes = 8;

  Arriving() {
    theirs_.resize(shape_.bytes());
    for (std::size_t i = 0; i < theirs_.size(); ++i) theirs_[i] = static_cast<std::byte>(i / 3);
    shape_.end(theirs_, {});
    arrivals_.begin_decoding();
  }
  [[nodiscard]] std::size_t offset(std::size_t segment) const {
    return shape_.segments().offset(segment);
  }
  void leave(std::size_t segment) {
    arrivals_.stays(segment, {.cookie = 0,
                              .access = static_cast<AccessId>(segment),
                              .data = theirs_.data() + offset(segment)});
    arrivals_.arrived(segment);
  }
  void bring(std::size_t segment) {
    std::memcpy(ours_.data() + offset(segment), theirs_.data() + offset(segment),
                shape_.segments().size(segment));
    arrivals_.arrived(segment);
  }
  /// Wants what is there. @return where it lies.
  const std::byte* get(std::size_t from, std::size_t bytes) {
    arrivals_.expect(from, bytes);
    EXPECT_TRUE(arrivals_.done());
    const std::span<const std::byte> got = arrivals_.read(from, bytes);
    EXPECT_GE(got.size(), bytes);
    EXPECT_EQ(std::memcmp(got.data(), theirs_.data() + from, got.size()), 0);
    return got.data();
  }

  StreamShape shape_{std::size_t{20} << 16, true};
  std::vector<std::byte> theirs_{};
  std::vector<std::byte> ours_ = std::vector<std::byte>(shape_.bytes());
  Sender sender_{};
  ObjectArrivals arrivals_{sender_, shape_, ours_.data(), kLanes};
};

TEST(StreamShapes, AreOfEvenSegmentsThatAreNotShort) {
  for (const std::size_t object :
       {kStreamedBytes + 1, std::size_t{65536}, std::size_t{131063}, std::size_t{131064},
        std::size_t{131065}, std::size_t{1000000}}) {
    const StreamShape shape{object, true};
    EXPECT_EQ(shape.object(), object);
    EXPECT_EQ(shape.bytes(), object + StreamShape::kEnd);
    const std::size_t parts = shape.segments().parts;
    EXPECT_EQ(parts, std::max<std::size_t>(shape.bytes() / 65536, 1));
    EXPECT_EQ(StreamShape(object, false).segments().parts, 1U);
    EXPECT_EQ(StreamShape(object, false).object(), object);
    // The executor's number of segments.
    EXPECT_EQ((shape.bytes() + shape.segment() - 1) / shape.segment(), parts);
  }
}

TEST(StreamShapes, OfLongSegmentsAreAsTheExecutorsAre) {
  constexpr std::size_t kGiB = std::size_t{1} << 30;
  for (const std::size_t object : {std::size_t{3000001}, kGiB / 10, kGiB / 8 - 1, 5 * kGiB + 1000,
                                   6 * kGiB + 5, 8 * kGiB, 300 * kGiB + 77777}) {
    const StreamShape shape{object, true};
    const std::size_t parts = shape.segments().parts;
    EXPECT_EQ((shape.bytes() + shape.segment() - 1) / shape.segment(), parts) << object;
    EXPECT_LE(parts, shape.bytes() / 65536);
    EXPECT_GE(parts, shape.bytes() / (4 << 20) / 2);
  }
}

TEST(StreamShapes, SayAtTheEndHowItWent) {
  const StreamShape shape{40000, true};
  std::vector<std::byte> bytes(shape.bytes(), std::byte{1});
  shape.end(bytes, {});
  EXPECT_EQ(StreamShape::problem_at(&bytes[40000]), "");
  EXPECT_EQ(bytes[39999], std::byte{1});
  shape.end(bytes, "no ink");
  EXPECT_EQ(StreamShape::problem_at(&bytes[40000]), "no ink");
  EXPECT_EQ(bytes[39993], std::byte{1});
  shape.end(bytes, std::string(1000, 'x'));
  EXPECT_EQ(StreamShape::problem_at(&bytes[40000]), std::string(304, 'x'));
  bytes[40004] = std::byte{1};
  EXPECT_THROW(static_cast<void>(StreamShape::problem_at(&bytes[40000])), Error);
  bytes[40004] = std::byte{0};
  bytes[40000] = std::byte{0x31};  // 305
  EXPECT_THROW(static_cast<void>(StreamShape::problem_at(&bytes[40000])), Error);
}

TEST_F(Arriving, IsReadWhereItStays) {
  for (std::size_t segment = 0; segment < 4; ++segment) leave(segment);
  EXPECT_EQ(get(0, 8), &theirs_[0]);
  EXPECT_EQ(get(offset(1) - 4, 8), &theirs_[offset(1) - 4]) << "across two segments";
  EXPECT_EQ(sender_.ended, Accesses{});
  EXPECT_EQ(get(offset(1), 1), &theirs_[offset(1)]);
  EXPECT_EQ(sender_.ended, Accesses{0});
  EXPECT_EQ(get(offset(3) + 5, 1), &theirs_[offset(3) + 5]);
  EXPECT_EQ(sender_.ended, (Accesses{0, 1, 2}));
}

TEST_F(Arriving, IsNotThereBeforeAllOfItIs) {
  arrivals_.expect(offset(1) - 1, 2);
  EXPECT_FALSE(arrivals_.done());
  leave(1);
  EXPECT_FALSE(arrivals_.done());
  leave(0);
  EXPECT_TRUE(arrivals_.done());
  arrivals_.expect(offset(2) - 1, 1);
  EXPECT_TRUE(arrivals_.done());
  arrivals_.expect(offset(2), 1);
  EXPECT_FALSE(arrivals_.done());
}

TEST_F(Arriving, IsPutTogetherWhereItLiesApart) {
  leave(0);
  bring(1);
  leave(2);
  EXPECT_EQ(get(3, 8), &theirs_[3]);
  EXPECT_EQ(get(offset(1) - 4, 8), &ours_[offset(1) - 4]);
  EXPECT_EQ(sender_.ended, Accesses{0});
  EXPECT_EQ(get(offset(1), 8), &ours_[offset(1)]);
  EXPECT_EQ(get(offset(2) - 4, 8), &ours_[offset(2) - 4]);
  EXPECT_EQ(sender_.ended, (Accesses{0, 2}));
  EXPECT_EQ(get(offset(2), 8), &ours_[offset(2)]);
}

TEST_F(Arriving, IsCopiedWhereItWouldHoldItsSenderUp) {
  leave(0);
  arrivals_.expect(5, offset(5) - 5);
  EXPECT_EQ(sender_.ended, Accesses{0}) << "five of eight segments in flight";
  for (std::size_t segment = 1; segment < 5; ++segment) leave(segment);
  EXPECT_EQ(sender_.ended, (Accesses{0, 1, 2, 3, 4}));
  EXPECT_EQ(get(5, offset(5) - 5), &ours_[5]);
  leave(5);
  EXPECT_EQ(sender_.ended.size(), 5U);
  EXPECT_EQ(get(offset(5), 1), &theirs_[offset(5)]);
}

TEST_F(Arriving, IsKeptInHalfTheLanesAtMost) {
  for (std::size_t segment = 0; segment < 4; ++segment) leave(segment);
  EXPECT_EQ(get(0, offset(4)), &theirs_[0]);
  EXPECT_EQ(sender_.ended, Accesses{});
}

TEST_F(Arriving, IsCopiedWhenNobodyDecodesIt) {
  leave(0);
  leave(1);
  arrivals_.expect(offset(1), 1);
  arrivals_.leave();
  EXPECT_EQ(sender_.ended, (Accesses{0, 1}));
  for (std::size_t segment = 2; segment < 20; ++segment) leave(segment);
  EXPECT_EQ(sender_.ended.size(), 20U);
  EXPECT_EQ(std::memcmp(&ours_[offset(2)], &theirs_[offset(2)], theirs_.size() - offset(2)), 0);
}

TEST_F(Arriving, KeepsItsLastSegmentUntilItsEndIsRead) {
  for (std::size_t segment = 0; segment < 20; ++segment) leave(segment);
  const std::byte* const end = get(shape_.object(), StreamShape::kEnd);
  EXPECT_EQ(end, &theirs_[shape_.object()]);
  EXPECT_EQ(sender_.ended.size(), 19U);
  EXPECT_EQ(StreamShape::problem_at(end), "");
  arrivals_.leave();
  EXPECT_EQ(sender_.ended.size(), 20U);
}

}  // namespace
}  // namespace tutti::v0::detail
