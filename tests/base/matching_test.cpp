// Messages and receives of one sender and tag match in the order in which they come.
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "base/matching.hpp"

namespace tutti::v0::detail {
namespace {

struct Item {
  Item* next = nullptr;
  Envelope on{};
  [[nodiscard]] Envelope envelope() const noexcept { return on; }
};
using ItemMatcher = Matcher<Item, Item, 4>;

TEST(Matching, KeepsTheOrderOfEachSenderAndTag) {
  std::vector<Item> messages(8);
  ItemMatcher matcher{2};
  for (std::size_t i = 0; i < messages.size(); ++i) {
    messages[i].on = {.tag = i % 2 == 0 ? 1U : 5U, .bytes = i};  // in one queue
    EXPECT_EQ(matcher.match_message(static_cast<Rank>(i / 4), messages[i].on.tag), nullptr);
    matcher.add_message(static_cast<Rank>(i / 4), &messages[i]);
  }
  EXPECT_EQ(matcher.unexpected(), 8U);
  EXPECT_EQ(matcher.match_receive(1, 5), &messages[5]);
  EXPECT_EQ(matcher.match_receive(1, 5), &messages[7]);
  EXPECT_EQ(matcher.match_receive(1, 5), nullptr);
  EXPECT_EQ(matcher.match_receive(0, 1), &messages[0]);
  EXPECT_EQ(matcher.match_receive(1, 9), nullptr) << "no such tag, in the same queue";
  EXPECT_EQ(matcher.unexpected(), 5U);
  EXPECT_FALSE(matcher.is_empty(0, 1));
  EXPECT_TRUE(matcher.is_empty(0, 2));
  std::vector<Item> receives(2);
  for (Item& receive : receives) matcher.add_receive(0, &(receive.on.tag = 2, receive));
  EXPECT_EQ(matcher.match_message(0, 2), receives.data());
  EXPECT_EQ(matcher.match_message(1, 2), nullptr);
  EXPECT_EQ(matcher.match_message(0, 2), &receives[1]);
  std::size_t drained = 0;
  for (const Rank rank : {0, 1}) matcher.drain(rank, [&](const Item*) { ++drained; });
  EXPECT_EQ(drained, 5U);
  EXPECT_EQ(matcher.unexpected(), 0U);
  EXPECT_TRUE(matcher.is_empty(0, 1));
}

TEST(Matching, ProbesPassNoSenderOver) {
  std::vector<Item> messages(3);
  ItemMatcher matcher{3};
  for (Rank from = 0; from < 3; ++from) {
    messages[static_cast<std::size_t>(from)].on = {.tag = 7, .fingerprint = 3, .bytes = 10};
    matcher.add_message(from, &messages[static_cast<std::size_t>(from)]);
  }
  std::vector<Rank> read;
  const auto note = [&read](Rank rank) { read.push_back(rank); };
  for (const Rank expected : {0, 1, 2, 0}) {
    const auto found = matcher.probe(any_rank, 7, note);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->from, expected);
    EXPECT_EQ(found->bytes, 10U);
    EXPECT_EQ(found->fingerprint, 3U);
  }
  EXPECT_EQ(read, (std::vector<Rank>{0, 1, 2, 0}));
  EXPECT_FALSE(matcher.probe(any_rank, 6, note));
  EXPECT_FALSE(matcher.probe(1, 3, note));
}

TEST(Matching, FindsMessagesThatNoReceiveWillMatch) {
  std::vector<Item> messages(3);
  ItemMatcher matcher{1};
  messages[0].on = {.fingerprint = fingerprint_of_two(Datatype::i32, 4)};
  messages[1].on = {.fingerprint = make_fingerprint(1, 9)};
  messages[2].on = {.fingerprint = make_fingerprint(1, 7)};
  for (Item& message : messages) matcher.add_message(0, &message);
  EXPECT_FALSE(matcher.find_unmatched(0, make_fingerprint(0, 7)));
  EXPECT_FALSE(matcher.find_unmatched(0, make_fingerprint(0, 8), 1)) << "behind a later one";
  const auto error = matcher.find_unmatched(0, make_fingerprint(0, 8));
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::mismatch);
}

TEST(Matching, ComparesAllButTheHighestBit) {
  const Envelope sent{.tag = 1, .fingerprint = 5, .bytes = 8};
  EXPECT_TRUE(agree(sent, {.tag = 1, .fingerprint = 5 | std::uint64_t{1} << 63U, .bytes = 8}));
  EXPECT_FALSE(agree(sent, {.tag = 1, .fingerprint = 5, .bytes = 9}));
  EXPECT_FALSE(agree(sent, {.tag = 1, .fingerprint = 5 | std::uint64_t{1} << 62U, .bytes = 8}));
  const Envelope room{.tag = 1, .fingerprint = 5, .bytes = 9, .accepts_shorter = true};
  EXPECT_TRUE(agree(sent, room));
  EXPECT_FALSE(agree(room, sent)) << "a receive decides";
  EXPECT_FALSE(agree({.tag = 1, .fingerprint = 6, .bytes = 8}, room));
  EXPECT_FALSE(agree({.tag = 1, .fingerprint = 5, .bytes = 10}, room));
  const std::string text = mismatch(3, sent, {.tag = 1, .fingerprint = 5, .bytes = 9}).what();
  EXPECT_EQ(text.find("rank 3 sent 8 bytes, this rank expects 9"), 0U) << text;
}

/// As Item, for queues that share their items.
struct Shared {
  std::shared_ptr<Shared> next{};
  [[nodiscard]] Envelope envelope() const noexcept { return {}; }
};

TEST(Matching, SharesItemsWhoseLinksDo) {
  Matcher<Shared, Shared> matcher{1};
  const auto message = std::make_shared<Shared>();
  matcher.add_message(0, message);
  matcher.add_message(0, std::make_shared<Shared>());
  EXPECT_EQ(message.use_count(), 2);
  EXPECT_EQ(matcher.match_receive(0, 0), message);
  EXPECT_EQ(message.use_count(), 1);
  EXPECT_NE(matcher.match_receive(0, 0), nullptr);
  EXPECT_EQ(matcher.match_receive(0, 0), nullptr);
}

}  // namespace
}  // namespace tutti::v0::detail
