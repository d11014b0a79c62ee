// Messages that are read where they lie: the receiver needs nothing of the sender's but its bytes.
#include <cstring>

#include <unistd.h>

#include "pair.hpp"

namespace tutti::shm {
namespace {

constexpr std::size_t kVisibleBytes = (std::size_t{3} << 20) + 5;

void fill(std::byte* data, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i) data[i] = static_cast<std::byte>(i * 7 + i / 251);
}

/// Sends pieces from rank 0 to 1. @return whether they come while rank 0 does nothing.
bool comes_by_itself(Host& host, std::span<const Piece> pieces) {
  const std::uint64_t communicator = pieces.size();
  const auto sender = host.transport(0, communicator);
  const auto receiver = host.transport(1, communicator);
  std::vector<std::byte> sent;
  for (const Piece& piece : pieces) sent.insert(sent.end(), piece.data, piece.data + piece.bytes);
  std::vector<std::byte> received(sent.size());
  const Piece into{received.data(), received.size()};
  post(*sender, Transfer::Kind::send, pieces);
  post(*receiver, Transfer::Kind::recv, {&into, 1});
  const bool came = completed(*receiver) == 1;
  std::size_t receives = came ? 1 : 0;
  std::size_t sends = 0;
  for (int i = 0; i < 10000 && sends + receives < 2; ++i) {
    sends += completed(*sender, 1);
    receives += completed(*receiver, 1);
  }
  EXPECT_EQ(sends, 1u);
  EXPECT_EQ(receives, 1u);
  EXPECT_TRUE(sent == received);
  return came;
}

TEST(ShmVisible, BytesInTheSegmentAreReadThere) {
  Host host{2};
  const auto memory = make_visible_memory(host.segments[0]);
  std::byte* const data = memory->allocate(kVisibleBytes);
  fill(data, kVisibleBytes);
  const Piece whole{data, kVisibleBytes};
  EXPECT_TRUE(comes_by_itself(host, {&whole, 1}));
  memory->deallocate(data, kVisibleBytes);
}

TEST(ShmVisible, BytesElsewhereAreStreamed) {
  Host host{2};
  std::vector<std::byte> data(kVisibleBytes);
  fill(data.data(), data.size());
  const Piece whole{data.data(), data.size()};
  EXPECT_FALSE(comes_by_itself(host, {&whole, 1}));
}

TEST(ShmVisible, OnePieceElsewhereIsEnoughToStreamAll) {
  Host host{2};
  const auto memory = make_visible_memory(host.segments[0]);
  std::byte* const data = memory->allocate(kVisibleBytes);
  fill(data, kVisibleBytes);
  std::vector<std::byte> own(kVisibleBytes, std::byte{3});
  const std::array<Piece, 2> pieces{Piece{data, kVisibleBytes}, Piece{own.data(), kVisibleBytes}};
  EXPECT_FALSE(comes_by_itself(host, pieces));
  memory->deallocate(data, kVisibleBytes);
}

TEST(ShmVisible, PiecesAreReadInTheirOrder) {
  Host host{2};
  const auto memory = make_visible_memory(host.segments[0]);
  std::byte* const data = memory->allocate(kVisibleBytes);
  fill(data, kVisibleBytes);
  std::vector<Piece> pieces;
  for (std::size_t at = kVisibleBytes; at >= 100000; at -= 100000)
    pieces.push_back({data + at - 100000, 99000 + at % 1000});
  EXPECT_TRUE(comes_by_itself(host, pieces));
  while (pieces.size() < 1000) pieces.push_back({data + pieces.size(), 1000});
  EXPECT_FALSE(comes_by_itself(host, pieces)) << "too many to be listed";
  memory->deallocate(data, kVisibleBytes);
}

TEST(ShmVisible, ManyMessagesWaitForRoomInTheList) {
  Host host{2};
  const auto memory = make_visible_memory(host.segments[0]);
  std::byte* const data = memory->allocate(kVisibleBytes);
  fill(data, kVisibleBytes);
  const auto sender = host.transport(0);
  const auto receiver = host.transport(1);
  constexpr std::size_t kMessages = 600;
  constexpr std::size_t kPieces = 60;
  constexpr std::size_t kEach = 500;
  std::vector<Piece> pieces;
  for (std::size_t i = 0; i < kPieces; ++i) pieces.push_back({data + i * 1000, kEach});
  for (std::size_t i = 0; i < kMessages; ++i) post(*sender, Transfer::Kind::send, pieces);
  std::vector<std::byte> received(kPieces * kEach);
  const Piece into{received.data(), received.size()};
  std::size_t sends = 0;
  for (std::size_t i = 0; i < kMessages; ++i) {
    std::fill(received.begin(), received.end(), std::byte{0});
    post(*receiver, Transfer::Kind::recv, {&into, 1});
    std::size_t receives = 0;
    for (int k = 0; k < 10000 && receives == 0; ++k) {
      receives = completed(*receiver, 1);
      sends += completed(*sender, 1);
    }
    ASSERT_EQ(receives, 1u) << "message " << i;
    for (std::size_t k = 0; k < kPieces; ++k)
      ASSERT_EQ(std::memcmp(received.data() + k * kEach, data + k * 1000, kEach), 0) << i;
  }
  EXPECT_EQ(sends + completed(*sender), kMessages);
  memory->deallocate(data, kVisibleBytes);
}

TEST(ShmVisible, MemoryOfTheSegmentIsMemoryLikeAnyOther) {
  Host host{2};
  const std::size_t used = host.segment(0).used();
  const auto memory = make_visible_memory(host.segments[0]);
  std::byte* const one = memory->allocate(4000);
  std::byte* const other = memory->allocate(4000);
  EXPECT_TRUE(host.segment(0).contains(one, 4000));
  EXPECT_TRUE(host.segment(0).contains(other, 4000));
  fill(one, 4000);
  memory->copy(other, one, 4000);
  EXPECT_EQ(std::memcmp(one, other, 4000), 0);
  memory->deallocate(one, 4000);
  EXPECT_GT(host.segment(0).used(), used);
  memory->deallocate(other, 4000);
  EXPECT_EQ(host.segment(0).used(), used);
}

}  // namespace
}  // namespace tutti::shm
