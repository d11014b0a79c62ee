// Long messages, which are staged in the window of their sender.
#include <algorithm>
#include <cstring>
#include <thread>

#include <tutti/spi/pieces.hpp>

#include "pair.hpp"

namespace tutti::shm {
namespace {

constexpr std::size_t kMost = std::size_t{12} << 20;  // more than a window
constexpr std::size_t kLong = 100001;                 // stands in one piece

constexpr Options kStaged{.reads_processes = false};

Transfer transfer(Transfer::Kind kind, Rank peer, std::uint32_t tag,
                  std::span<const Piece> pieces) {
  return {.kind = kind, .peer = peer, .tag = tag, .pieces = pieces};
}

/// @return what the transports complete until all of it has come, or nothing moves any more.
std::size_t finish(std::initializer_list<Transport*> transports, std::size_t expected) {
  std::size_t done = 0;
  for (int i = 0; i < 10000 && done < expected; ++i)
    for (Transport* const transport : transports) done += completed(*transport, 1);
  return done;
}

TEST(ShmWindow, EveryByteComesToItsPlace) {
  Host host{2, kStaged};
  const auto sender = host.transport(0);
  const auto receiver = host.transport(1);
  for (const std::size_t bytes : {std::size_t{32767}, std::size_t{32769}, std::size_t{65536}, kLong,
                                  (std::size_t{1} << 20) + 1, kMost + 3}) {
    std::vector<std::byte> into(bytes + 2);
    for (std::uint32_t turn = 0; turn < 8; ++turn) {
      std::vector<std::byte> sent = message_of(turn, bytes);
      std::ranges::fill(into, std::byte{0});
      const Piece from{sent.data(), bytes};
      const Piece to{into.data() + 1, bytes};
      if (turn % 2 == 0) post(*receiver, Transfer::Kind::recv, {&to, 1});
      post(*sender, Transfer::Kind::send, {&from, 1});
      if (turn % 2 == 1) post(*receiver, Transfer::Kind::recv, {&to, 1});
      ASSERT_EQ(finish({receiver.get(), sender.get()}, 2), 2u);
      EXPECT_EQ(std::memcmp(to.data, sent.data(), bytes), 0) << bytes << ", turn " << turn;
      EXPECT_EQ(into.front(), std::byte{0});
      EXPECT_EQ(into.back(), std::byte{0});
    }
  }
}

TEST(ShmWindow, MessagesInPiecesComeToTheirPlaces) {
  Host host{2, kStaged};
  const auto sender = host.transport(0);
  const auto receiver = host.transport(1);
  constexpr std::size_t kGap = 5000;
  std::vector<std::byte> sent = message_of(3, 2 * kLong + kGap);
  std::vector<std::byte> into(2 * kLong + kGap);
  const std::array from{Piece{sent.data(), kLong}, Piece{sent.data() + kLong + kGap, kLong}};
  const std::array to{Piece{into.data(), kLong + 7},
                      Piece{into.data() + kLong + 7 + kGap, kLong - 7}};
  for (int turn = 0; turn < 12; ++turn) {
    std::ranges::fill(into, std::byte{0});
    post(*receiver, Transfer::Kind::recv, to);
    post(*sender, Transfer::Kind::send, from);
    ASSERT_EQ(finish({receiver.get(), sender.get()}, 2), 2u);
    std::vector<std::byte> expected(into.size());
    Cursor source{from};
    Cursor{to}.pass(2 * kLong, [&](std::span<std::byte> run) {
      source.read(expected.data() + (run.data() - into.data()), run.size());
    });
    EXPECT_EQ(into, expected) << turn;
  }
}

/// Three ranks.
class ShmWindowOfThree : public testing::Test {
 protected:
  void post(Rank rank, std::span<const Transfer> transfers) { at(rank).post(transfers); }
  [[nodiscard]] Transport& at(Rank rank) { return *transports_[static_cast<std::size_t>(rank)]; }
  /// @return how often a rank has read each piece of rank 0.
  [[nodiscard]] std::vector<std::uint32_t> read_by(Rank rank) {
    const Mapping& mapping = host_.segment(rank).mapping();
    const Consumed* const consumed =
        consumed_of(mapping, find_entry(front_of(mapping), 1)->block.load(), 0);
    return {consumed->pieces.begin(), consumed->pieces.end()};
  }

  Host host_{3, kStaged};
  std::array<std::unique_ptr<Transport>, 3> transports_{host_.transport(0), host_.transport(1),
                                                        host_.transport(2)};
};

TEST_F(ShmWindowOfThree, WhatGoesToSeveralIsStagedOnce) {
  for (const std::size_t bytes : {kLong, kMost}) {
    std::vector<std::byte> sent = message_of(1, bytes);
    std::array into{std::vector<std::byte>(bytes), std::vector<std::byte>(bytes)};
    const Piece from{sent.data(), bytes};
    const std::array to{Piece{into[0].data(), bytes}, Piece{into[1].data(), bytes}};
    const std::array sends{transfer(Transfer::Kind::send, 1, 0, {&from, 1}),
                           transfer(Transfer::Kind::send, 2, 0, {&from, 1})};
    const std::array receives{transfer(Transfer::Kind::recv, 0, 0, {&to[0], 1}),
                              transfer(Transfer::Kind::recv, 0, 0, {&to[1], 1})};
    for (const Rank rank : {1, 2}) post(rank, {&receives[static_cast<std::size_t>(rank) - 1], 1});
    post(0, sends);
    ASSERT_EQ(finish({&at(0), &at(1), &at(2)}, 4), 4u);
    EXPECT_EQ(into[0], sent);
    EXPECT_EQ(into[1], sent);
    EXPECT_EQ(read_by(1), read_by(2)) << "the same pieces";
  }
}

// The bytes of the second message are others, though they lie where those of the first did.
TEST_F(ShmWindowOfThree, WhatIsSentLaterIsStagedAgain) {
  std::vector<std::byte> data = message_of(1, kLong);
  const std::vector<std::byte> first = data;
  std::byte byte{};
  const Piece small{&byte, 1};
  const Transfer pending = transfer(Transfer::Kind::recv, 1, 9, {&small, 1});
  post(0, {&pending, 1});  // what is sent beside others is staged as a whole
  const Piece from{data.data(), kLong};
  const Transfer to_one = transfer(Transfer::Kind::send, 1, 0, {&from, 1});
  post(0, {&to_one, 1});
  ASSERT_EQ(completed(at(0), 2), 1u) << "is staged, and its memory free";
  std::ranges::copy(message_of(2, kLong), data.begin());
  const Transfer to_two = transfer(Transfer::Kind::send, 2, 0, {&from, 1});
  post(0, {&to_two, 1});
  ASSERT_EQ(completed(at(0), 2), 1u);
  std::array into{std::vector<std::byte>(kLong), std::vector<std::byte>(kLong)};
  const std::array to{Piece{into[0].data(), kLong}, Piece{into[1].data(), kLong}};
  for (const Rank rank : {1, 2}) {
    const Transfer receive =
        transfer(Transfer::Kind::recv, 0, 0, {&to[static_cast<std::size_t>(rank) - 1], 1});
    post(rank, {&receive, 1});
    ASSERT_EQ(finish({&at(rank)}, 1), 1u);
  }
  EXPECT_EQ(into[0], first);
  EXPECT_EQ(into[1], data);
}

// Rank 2 has posted its receive, and waits elsewhere, perhaps for rank 1.
TEST_F(ShmWindowOfThree, ARankThatReadsNothingKeepsNobody) {
  std::vector<std::byte> sent = message_of(1, kMost);
  std::vector<std::byte> into(kMost);
  std::vector<std::byte> other(kMost);
  const Piece from{sent.data(), kMost};
  const Piece to{into.data(), kMost};
  const Piece elsewhere{other.data(), kMost};
  std::vector<Transfer> sends;
  for (std::uint32_t tag = 0; tag < 8; ++tag)
    sends.push_back(transfer(Transfer::Kind::send, 2, tag, {&from, 1}));
  for (std::uint32_t tag = 0; tag < 8; ++tag) {
    const Transfer receive = transfer(Transfer::Kind::recv, 0, tag, {&elsewhere, 1});
    post(2, {&receive, 1});
  }
  post(0, sends);
  (void)completed(at(2), 1);  // grants, and no more
  (void)completed(at(0), 20);
  const Transfer send = transfer(Transfer::Kind::send, 1, 0, {&from, 1});
  const Transfer receive = transfer(Transfer::Kind::recv, 0, 0, {&to, 1});
  post(0, {&send, 1});
  post(1, {&receive, 1});
  ASSERT_EQ(finish({&at(1), &at(0)}, 2), 2u);
  EXPECT_EQ(into, sent);
}

TEST(ShmWindow, MessagesWithoutAReceiveKeepNobody) {
  Host host{2, kStaged};
  const auto sender = host.transport(0);
  const auto receiver = host.transport(1);
  constexpr std::uint32_t kMessages = 20;
  std::vector<std::vector<std::byte>> sent;
  std::vector<Piece> from;
  for (std::uint32_t tag = 0; tag < kMessages; ++tag) {
    sent.push_back(message_of(tag, kLong + tag));
    from.push_back({sent[tag].data(), sent[tag].size()});
  }
  std::vector<std::byte> into(kLong + kMessages);
  for (std::uint32_t tag = 0; tag < kMessages; ++tag) {
    const Transfer send = transfer(Transfer::Kind::send, 1, tag, {&from[tag], 1});
    sender->post({&send, 1});
    (void)completed(*sender, 1);
  }
  for (std::uint32_t tag = kMessages; tag-- > 0;) {
    const Piece to{into.data(), sent[tag].size()};
    const Transfer receive = transfer(Transfer::Kind::recv, 0, tag, {&to, 1});
    receiver->post({&receive, 1});
    std::size_t done = 0;
    for (int i = 0; i < 1000 && done == 0; ++i) {
      done = completed(*receiver, 1);
      (void)completed(*sender, 1);
    }
    ASSERT_EQ(done, 1u) << tag;
    EXPECT_EQ(std::memcmp(into.data(), sent[tag].data(), sent[tag].size()), 0) << tag;
  }
}

// The rings carry the messages if there is memory for them.
TEST(ShmWindow, WithoutMemoryForAWindowMessagesComeToo) {
  Host host{2, kStaged};
  const auto sender = host.transport(0);
  const auto receiver = host.transport(1);
  const auto take_all = [&host] {
    while (true) (void)host.segment(0).reserve_addresses(std::size_t{2} << 20);
  };
  EXPECT_THROW(take_all(), std::bad_alloc) << "what is left has room for rings alone";
  std::vector<std::byte> sent = message_of(5, kMost);
  std::vector<std::byte> into(kMost);
  const Piece from{sent.data(), kMost};
  const Piece to{into.data(), kMost};
  post(*receiver, Transfer::Kind::recv, {&to, 1});
  post(*sender, Transfer::Kind::send, {&from, 1});
  ASSERT_EQ(finish({receiver.get(), sender.get()}, 2), 2u);
  EXPECT_EQ(into, sent);
}

}  // namespace
}  // namespace tutti::shm
