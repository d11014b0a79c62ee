// Messages of which the receiver reads the first bytes and the sender writes the others.
#include <algorithm>
#include <cstring>
#include <functional>
#include <thread>

#include <unistd.h>

#include <tutti/spi/pieces.hpp>

#include "partner.hpp"

namespace tutti::shm {
namespace {

constexpr std::size_t kMost = std::size_t{12} << 20;  // several polls on both sides

/// Both ranks are this process, so each can reach the other's memory.
TEST(ShmShare, EveryByteComesToItsPlace) {
  Host host{2, getpid()};
  const auto sender = host.transport(0);
  const auto receiver = host.transport(1);
  for (const std::size_t bytes :
       {std::size_t{8191}, std::size_t{8192}, std::size_t{40001}, std::size_t{65536},
        std::size_t{65537}, std::size_t{99991}, std::size_t{1} << 20, kMost + 3}) {
    std::vector<std::byte> into(bytes + 2);
    // So many that each way is taken, the last of them too.
    for (std::uint32_t turn = 0; turn < 8; ++turn) {
      const std::vector<std::byte> sent = message_of(turn, bytes);
      std::ranges::fill(into, std::byte{0});
      const Piece from{const_cast<std::byte*>(sent.data()), bytes};
      const Piece to{into.data() + 1, bytes};
      post(*receiver, Transfer::Kind::recv, {&to, 1});
      post(*sender, Transfer::Kind::send, {&from, 1});
      std::size_t done = 0;
      for (int i = 0; i < 1000 && done < 2; ++i)
        done += completed(*receiver, 1) + completed(*sender, 1);
      ASSERT_EQ(done, 2u);
      EXPECT_EQ(std::memcmp(to.data, sent.data(), bytes), 0) << bytes << ", turn " << turn;
      EXPECT_EQ(into.front(), std::byte{0});
      EXPECT_EQ(into.back(), std::byte{0});
    }
  }
}

TEST(ShmShare, TheSenderWritesTheLastBytes) {
  Partner partner;
  partner.be_sent();
  constexpr std::uint64_t kRest = 70000;
  partner.ask_for({partner.where(), kRest});
  EXPECT_EQ(partner.done(), 0u) << "the others may still be read";
  EXPECT_EQ(partner.next(), Kind::stored);
  EXPECT_EQ(partner.body<Answer>().is_stored, 1u);
  const std::byte* const last = partner.source().data() + Partner::kBytes - kRest;
  EXPECT_EQ(std::memcmp(partner.received().data(), last, kRest), 0);
  EXPECT_EQ(partner.received()[kRest], std::byte{0});
  EXPECT_FALSE(partner.is_written_to()) << "it may abort without waiting";
  partner.answer(Kind::done, false);
  EXPECT_EQ(partner.done(), 1u);
}

TEST(ShmShare, TheSenderWritesAllIfAsked) {
  Partner partner;
  partner.be_sent();
  partner.ask_for({partner.where(), Partner::kBytes});
  EXPECT_EQ(partner.done(), 0u);
  EXPECT_EQ(partner.received(), partner.source());
}

TEST(ShmShare, TheSenderSaysWhereItCannotWrite) {
  Partner partner;
  partner.be_sent();
  partner.ask_for({8, 70000});
  EXPECT_EQ(partner.done(), 0u);
  EXPECT_EQ(partner.next(), Kind::stored);
  EXPECT_EQ(partner.body<Answer>().is_stored, 0u);
  partner.answer(Kind::done, false);
  EXPECT_EQ(partner.done(), 1u);
}

TEST(ShmShare, TheSenderDoesNotWriteToOneThatGaveUp) {
  Partner partner;
  partner.be_sent();
  partner.give_up();
  partner.ask_for({partner.where(), 70000});
  EXPECT_EQ(partner.done(), 0u);
  EXPECT_EQ(partner.received(), std::vector<std::byte>(Partner::kBytes));
}

TEST(ShmShare, TheReceiverReadsTheFirstBytes) {
  Partner partner;
  const Range rest = partner.be_asked();
  EXPECT_EQ(rest.where % 4096, 0u);
  const std::uint64_t first = rest.where - partner.where();
  EXPECT_EQ(first + rest.bytes, Partner::kBytes);
  EXPECT_GT(first, Partner::kBytes / 2);
  EXPECT_EQ(std::memcmp(partner.received().data(), partner.source().data(), first), 0);
  EXPECT_EQ(partner.received()[first], std::byte{0}) << "is not its part";
  partner.answer(Kind::stored, true);
  EXPECT_EQ(partner.done(), 1u);
  EXPECT_EQ(partner.next(), Kind::done);
}

TEST(ShmShare, TheReceiverReadsWhatTheSenderCouldNotWrite) {
  Partner partner;
  (void)partner.be_asked();
  partner.answer(Kind::stored, false);
  EXPECT_EQ(partner.done(), 1u);
  EXPECT_EQ(partner.next(), Kind::done);
  EXPECT_EQ(partner.received(), partner.source());
  for (int i = 0; i < 200; ++i) ASSERT_NE(partner.send(), Kind::share) << "is not asked again";
}

TEST(ShmShare, TheReceiverDoesNotTrustOneThatGaveUp) {
  Partner partner;
  (void)partner.be_asked();
  partner.give_up();
  EXPECT_EQ(partner.done(), 0u);
  std::this_thread::sleep_for(2 * kSignalPatience);
  EXPECT_THROW((void)partner.done(), Error);
}

TEST(ShmShare, WhatMakesNoSenseIsRefused) {
  using Wrong = std::function<void(Partner&, Range)>;
  const std::vector<Wrong> wrongs{
      [](Partner& partner, Range place) {
        partner.ask_for({place.where, Partner::kBytes + 1});
      },
      [](Partner& partner, Range place) {
        partner.ask_for({place.where, 0});
      },
      [](Partner& partner, Range place) {
        partner.ask_for(place);
        partner.ask_for(place);
      },
      [](Partner& partner, Range place) {
        partner.ask_for(place);
        partner.answer(Kind::done, false);
      },
      [](Partner& partner, Range place) {
        partner.ask_for(place);
        partner.answer(Kind::grant, false);
      },
      [](Partner& partner, Range) { partner.answer(Kind::stored, true); },
      [](Partner& partner, Range) { partner.answer(Kind::stored, true, 5); }};
  for (std::size_t i = 0; i < wrongs.size(); ++i) {
    Partner partner;
    partner.be_sent();
    wrongs[i](partner, {partner.where(), 70000});
    EXPECT_THROW((void)partner.done(), Error) << "case " << i;
  }
  {
    Partner partner;
    partner.be_sent();
    partner.ask_for({partner.where(), 70000});
    EXPECT_EQ(partner.done(), 0u);
    partner.answer(Kind::grant, false);
    EXPECT_THROW((void)partner.done(), Error) << "it was shared before";
  }
  Partner partner;
  (void)partner.be_asked();
  partner.answer(Kind::stored, true);
  partner.answer(Kind::stored, true);
  EXPECT_THROW((void)partner.done(), Error) << "twice";
}

TEST(ShmShare, MessagesInPiecesComeToTheirPlaces) {
  Host host{2, getpid()};
  const auto sender = host.transport(0);
  const auto receiver = host.transport(1);
  constexpr std::size_t kHalf = 100001;
  constexpr std::size_t kGap = 5000;
  std::vector<std::byte> sent = message_of(3, 2 * kHalf + kGap);
  std::vector<std::byte> into(2 * kHalf + kGap);
  const std::array from{Piece{sent.data(), kHalf}, Piece{sent.data() + kHalf + kGap, kHalf}};
  const std::array to{Piece{into.data(), kHalf + 7},
                      Piece{into.data() + kHalf + 7 + kGap, kHalf - 7}};
  const Piece all_sent{sent.data(), 2 * kHalf};
  const Piece all_received{into.data(), 2 * kHalf};
  for (int turn = 0; turn < 48; ++turn) {
    std::ranges::fill(into, std::byte{0});
    const std::span<const Piece> ours =
        turn % 2 == 0 ? std::span<const Piece>{from} : std::span{&all_sent, 1};
    const std::span<const Piece> theirs =
        turn % 3 == 0 ? std::span<const Piece>{to} : std::span{&all_received, 1};
    post(*receiver, Transfer::Kind::recv, theirs);
    post(*sender, Transfer::Kind::send, ours);
    std::size_t done = 0;
    for (int i = 0; i < 1000 && done < 2; ++i)
      done += completed(*receiver, 1) + completed(*sender, 1);
    ASSERT_EQ(done, 2u);
    std::vector<std::byte> expected(into.size());
    Cursor source{ours};
    Cursor{theirs}.pass(2 * kHalf, [&](std::span<std::byte> run) {
      source.read(expected.data() + (run.data() - into.data()), run.size());
    });
    EXPECT_EQ(into, expected) << turn;
  }
}

}  // namespace
}  // namespace tutti::shm
