// Messages that the system copies out of their sender's process.
#include <cstring>

#include <sys/types.h>
#include <unistd.h>

#include <tutti/spi/streaming.hpp>

#include "backends/shm/process_copies.hpp"
#include "pair.hpp"

namespace tutti::shm {
namespace {

constexpr std::size_t kMessage = (std::size_t{1} << 20) + 3;
constexpr std::size_t kSlice = std::size_t{256} << 10;  // that one poll reads
constexpr std::uint32_t kElsewhere = 99;                // the tag of what never comes

/// Rank 0 sends to rank 1, and waits for another message, so that no send is alone. Both publish
/// this process, whatever the speed of its copies.
class ShmProcessCopies : public ::testing::Test {
 protected:
  ShmProcessCopies() {
    for (const auto& segment : host_.segments) front_of(segment->mapping()).process = process();
    connect(1);
  }
  void connect(std::uint64_t communicator) {
    sender_ = host_.transport(0, communicator);
    receiver_ = host_.transport(1, communicator);
    const Transfer pending{
        .kind = Transfer::Kind::recv, .peer = 1, .tag = kElsewhere, .pieces = {&never_, 1}};
    sender_->post({&pending, 1});
  }
  [[nodiscard]] Process process() const {
    return {getpid(), reinterpret_cast<std::uint64_t>(&proof_), 77};
  }
  /// Rank 1 finds another process of rank 0.
  void replace(const Process& process) { front_of(host_.segment(0).mapping()).process = process; }

  /// @return whether a message comes while rank 0 does nothing. It comes in any case.
  bool comes_by_itself(std::span<const Piece> from, std::span<const Piece> to) {
    post(*sender_, Transfer::Kind::send, from);
    post(*receiver_, Transfer::Kind::recv, to);
    const bool came = completed(*receiver_) == 1;
    finish(came ? 1 : 0);
    return came;
  }
  bool comes_by_itself(std::vector<std::byte>& sent) {
    std::vector<std::byte> into(sent.size());
    const Piece from{sent.data(), sent.size()};
    const Piece to{into.data(), into.size()};
    const bool came = comes_by_itself({&from, 1}, {&to, 1});
    EXPECT_TRUE(into == sent);
    return came;
  }
  /// @param ended of the send and the receive.
  void finish(std::size_t ended) {
    for (int i = 0; i < 10000 && ended < 2; ++i)
      ended += completed(*sender_, 1) + completed(*receiver_, 1);
    EXPECT_EQ(ended, 2u);
  }

  std::uint64_t proof_ = 77;
  Host host_{2};
  std::byte never_byte_{};
  Piece never_{&never_byte_, 1};
  std::unique_ptr<Transport> sender_{};
  std::unique_ptr<Transport> receiver_{};
};

TEST_F(ShmProcessCopies, LongMessagesAreCopiedWithoutTheirSender) {
  for (const std::size_t bytes : {std::size_t{32769}, kSlice, kSlice + 1, kMessage}) {
    std::vector<std::byte> sent = message_of(1, bytes);
    EXPECT_TRUE(comes_by_itself(sent)) << bytes;
  }
}

TEST_F(ShmProcessCopies, ShortOnesAreNot) {
  std::vector<std::byte> sent = message_of(1, 1000);
  EXPECT_TRUE(comes_by_itself(sent));
  replace({});
  EXPECT_TRUE(comes_by_itself(sent)) << "it came with its slot";
}

TEST_F(ShmProcessCopies, PiecesComeToTheirPlaces) {
  std::vector<std::byte> sent = message_of(2, 2 * kMessage);
  std::vector<std::byte> into(2 * kMessage);
  std::vector<Piece> from;
  for (std::size_t i = 60; i-- > 0;) from.push_back({sent.data() + i * 30000, 10007 + i});
  const std::uint64_t bytes = bytes_of(from);
  std::vector<Piece> to;
  std::uint64_t room = 0;
  for (std::size_t i = 0; room < bytes; ++i) {
    const std::uint64_t next = std::min<std::uint64_t>(bytes - room, 1000 + i);
    to.push_back({into.data() + i * 3000, next});
    room += next;
  }
  ASSERT_GT(to.size(), 200u) << "several system calls for each slice";
  EXPECT_TRUE(comes_by_itself(from, to));
  std::vector<std::byte> expected(into.size());
  Cursor source{from};
  for (const Piece& piece : to)
    source.read(expected.data() + (piece.data - into.data()), piece.bytes);
  EXPECT_TRUE(into == expected);
}

TEST_F(ShmProcessCopies, AReceiverMayCombineThem) {
  struct Sum final : Combiner {
    void combine(std::span<const std::byte> part) override {
      bytes += part.size();
      for (const std::byte byte : part) sum = sum * 31 + static_cast<std::uint64_t>(byte);
    }
    std::size_t bytes = 0;
    std::uint64_t sum = 0;
  };
  std::vector<std::byte> sent = message_of(3, kMessage);
  Sum expected;
  expected.combine(sent);
  Sum sum;
  std::vector<std::byte> into(kMessage);
  const Piece from{sent.data(), kMessage};
  const Piece to{into.data(), kMessage};
  const Transfer receive{
      .kind = Transfer::Kind::recv, .peer = 0, .pieces = {&to, 1}, .combiner = &sum};
  post(*sender_, Transfer::Kind::send, {&from, 1});
  receiver_->post({&receive, 1});
  EXPECT_EQ(completed(*receiver_), 1u);
  EXPECT_EQ(sum.bytes, kMessage);
  EXPECT_EQ(sum.sum, expected.sum);
  finish(1);
}

// For example the number of a process in another container, which names a third one here.
TEST_F(ShmProcessCopies, AProcessWithoutTheProofIsNotTheRank) {
  std::vector<std::byte> sent = message_of(4, kMessage);
  const std::uint64_t other = 78;
  const Process right = process();
  std::uint64_t communicator = 1;
  for (const Process& wrong :
       {Process{right.id, reinterpret_cast<std::uint64_t>(&other), right.proof},
        Process{right.id, 8, right.proof}, Process{1 << 30, right.proof_address, right.proof},
        Process{-1, right.proof_address, right.proof}}) {
    connect(++communicator);
    replace(wrong);
    EXPECT_FALSE(comes_by_itself(sent));
    replace(right);
    EXPECT_FALSE(comes_by_itself(sent)) << "the sender tries it once";
  }
}

TEST_F(ShmProcessCopies, WhatIsNotCopiedAnyMoreIsStaged) {
  std::vector<std::byte> sent = message_of(5, 3 * kMessage);
  std::vector<std::byte> into(sent.size());
  const Piece from{sent.data(), sent.size()};
  const Piece to{into.data(), into.size()};
  post(*sender_, Transfer::Kind::send, {&from, 1});
  post(*receiver_, Transfer::Kind::recv, {&to, 1});
  EXPECT_EQ(completed(*receiver_, 2), 0u);
  EXPECT_TRUE(std::equal(into.begin(), into.begin() + kSlice, sent.begin()));
  proof_ = 0;
  finish(0);
  EXPECT_TRUE(into == sent);
}

TEST_F(ShmProcessCopies, ASenderThatGaveUpFailsItsReceiver) {
  std::vector<std::byte> sent = message_of(6, kMessage);
  std::vector<std::byte> into(sent.size());
  const Piece from{sent.data(), sent.size()};
  const Piece to{into.data(), into.size()};
  post(*sender_, Transfer::Kind::send, {&from, 1});
  EXPECT_TRUE(sender_->abort(Error{ErrorCode::timeout, "test"}));
  EXPECT_THROW(
      {
        post(*receiver_, Transfer::Kind::recv, {&to, 1});
        for (int i = 0; i < 1000; ++i) (void)completed(*receiver_);
      },
      Error);
}

// Whether a process wants to be read depends on the speed of this machine.
TEST(ShmReadableProcess, IsThisProcessOrNone) {
  const ReadableProcess own;
  const std::uint64_t proof = 77;
  const Process known{getpid(), reinterpret_cast<std::uint64_t>(&proof), proof};
  const Process published = own.published();
  std::vector<std::byte> from = message_of(7, kMessage);
  std::vector<std::byte> into(kMessage);
  const Piece to{into.data(), kMessage};
  for (const Process& process : {known, published.id == 0 ? known : published}) {
    std::ranges::fill(into, std::byte{0});
    EXPECT_TRUE(read_process(process, reinterpret_cast<std::uint64_t>(from.data()),
                             Cursor{{&to, 1}}, kMessage));
    EXPECT_TRUE(into == from);
    EXPECT_FALSE(read_process(process, 8, Cursor{{&to, 1}}, kMessage)) << "no memory";
  }
}

}  // namespace
}  // namespace tutti::shm
