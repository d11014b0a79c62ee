// Messages of which the receiver reads the first bytes and the sender writes the others.
#include <algorithm>
#include <cstring>
#include <functional>
#include <thread>

#include <unistd.h>

#include "pair.hpp"

namespace tutti::shm {
namespace {

constexpr std::size_t kMost = std::size_t{12} << 20;  // several polls on both sides

/// @param seed of a message. @param bytes of it. @return its bytes, no two runs of which are alike.
std::vector<std::byte> message_of(std::uint32_t seed, std::size_t bytes) {
  std::vector<std::byte> message(bytes);
  for (std::size_t i = 0; i < bytes; ++i) {
    seed = seed * 1664525 + 1013904223;
    message[i] = static_cast<std::byte>(seed >> 24);
  }
  return message;
}

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

/// Rank 0 is a transport; rank 1 is whatever a test writes into its road to rank 0.
class Partner {
 public:
  static constexpr std::uint64_t kBytes = 200000;

  /// Rank 0 sends source(), and says so.
  void be_sent() {
    post(*transport_, Transfer::Kind::send, {&from_, 1});
    EXPECT_EQ(completed(*transport_), 0u);
    EXPECT_EQ(next(), Kind::request);
  }
  void ask_for(Range place) {
    set_body(slot(Kind::share, 0), Share{place, kOurs});
    out_.send();
  }
  void answer(Kind kind, bool is_there, std::uint32_t id = 0) {
    set_body(slot(kind, id), Answer{kOurs, is_there ? 1u : 0u});
    out_.send();
  }
  /// Rank 0 is to receive source(), which is sent if it is asked for. @return what rank 0 says.
  Kind send() {
    received_.assign(kBytes, std::byte{0});
    post(*transport_, Transfer::Kind::recv, {&to_, 1});
    request();
    const std::size_t done = completed(*transport_);
    const Kind kind = next();
    EXPECT_EQ(done, kind == Kind::done ? 1u : 0u);
    for (std::uint64_t moved = 0; kind == Kind::grant && moved < kBytes; moved += kBytes / 4) {
      Extent extent{};
      EXPECT_TRUE(out_.find_room(kBytes / 4, extent));
      std::memcpy(out_.at(extent), source_.data() + moved, kBytes / 4);
      set_body(slot(Kind::chunk, 0), extent);
      out_.take_room(extent);
      out_.send();
      (void)completed(*transport_);
    }
    return kind;
  }
  /// Sends until it is asked to write. @return where.
  Range be_asked() {
    EXPECT_EQ(send(), Kind::grant);
    EXPECT_EQ(way_, Way::stream);
    EXPECT_EQ(send(), Kind::grant);
    EXPECT_EQ(way_, Way::past);
    EXPECT_EQ(send(), Kind::done);
    EXPECT_EQ(send(), Kind::share);
    return body<Share>().place;
  }
  /// @return the kind of the slot that rank 0 has sent next.
  Kind next() {
    EXPECT_TRUE(in_.has_slot());
    const Slot& slot = in_.slot();
    const Kind kind = slot.kind;
    way_ = slot.way;
    EXPECT_EQ(slot.id, kind == Kind::request ? 0 : kOurs);
    std::memcpy(body_.data(), slot.body, kInlineBytes);
    in_.consume();
    return kind;
  }
  /// @tparam Body of the slot that next() saw last. @return it.
  template <class Body>
  [[nodiscard]] Body body() const {
    Body body;
    std::memcpy(&body, body_.data(), sizeof body);
    return body;
  }
  /// @return what rank 0 has done by now, or its error.
  std::size_t done() { return completed(*transport_); }
  void give_up() {
    find_entry(front_of(host_.segment(1).mapping()), 1)->state.store(Entry::failed);
  }
  [[nodiscard]] const std::vector<std::byte>& source() const { return source_; }
  [[nodiscard]] const std::vector<std::byte>& received() const { return received_; }
  /// @return where the bytes are that are received.
  [[nodiscard]] std::uint64_t where() const {
    return reinterpret_cast<std::uint64_t>(received_.data());
  }

 private:
  static constexpr std::uint32_t kOurs = 77;

  Slot& slot(Kind kind, std::uint32_t id) {
    Slot& slot = out_.slot();
    slot.kind = kind;
    slot.tag = 0;
    slot.id = id;
    slot.alone = 1;
    slot.fingerprint = 0;
    slot.way = Way::process;
    return slot;
  }
  void request() {
    Request request{.bytes = kBytes, .ranges = {}, .timing = 1};
    const Range range{reinterpret_cast<std::uint64_t>(source_.data()), kBytes};
    ASSERT_TRUE(out_.find_room(sizeof range, request.ranges));
    std::memcpy(out_.at(request.ranges), &range, sizeof range);
    set_body(slot(Kind::request, kOurs), request);
    out_.take_room(request.ranges);
    out_.send();
  }
  Inbox inbox() {
    const Mapping& theirs = host_.segment(0).mapping();
    const std::uint64_t block = find_entry(front_of(theirs), 1)->block.load();
    out_.attach(consumed_of(theirs, block, 1));
    Road road = road_of(theirs, block, 1);
    road.consumed = consumed_of(host_.segment(1).mapping(), block_, 0);
    return Inbox{road};
  }

  Host host_{2, getpid()};
  std::vector<std::byte> source_ = message_of(1, kBytes);
  std::vector<std::byte> received_ = std::vector<std::byte>(kBytes);
  Piece from_{source_.data(), kBytes};
  Piece to_{received_.data(), kBytes};
  std::unique_ptr<Transport> transport_ = host_.transport(0);
  std::uint64_t block_ = host_.domain(1).open(1, kBoth);
  Outbox out_{road_of(host_.segment(1).mapping(), block_, 0)};
  Inbox in_ = inbox();
  std::array<std::byte, kInlineBytes> body_{};
  Way way_ = Way::stream;
};

TEST(ShmShare, TheSenderWritesTheLastBytes) {
  Partner partner;
  partner.be_sent();
  constexpr std::uint64_t kRest = 70000;
  partner.ask_for({partner.where(), kRest});
  EXPECT_EQ(partner.done(), 0u) << "the others may still be read";
  EXPECT_EQ(partner.next(), Kind::stored);
  EXPECT_EQ(partner.body<Answer>().is_there, 1u);
  const std::byte* const last = partner.source().data() + Partner::kBytes - kRest;
  EXPECT_EQ(std::memcmp(partner.received().data(), last, kRest), 0);
  EXPECT_EQ(partner.received()[kRest], std::byte{0});
  partner.answer(Kind::done, false);
  EXPECT_EQ(partner.done(), 1u);
}

TEST(ShmShare, TheSenderSaysWhereItCannotWrite) {
  Partner partner;
  partner.be_sent();
  partner.ask_for({8, 70000});
  EXPECT_EQ(partner.done(), 0u);
  EXPECT_EQ(partner.next(), Kind::stored);
  EXPECT_EQ(partner.body<Answer>().is_there, 0u);
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
  std::this_thread::sleep_for(2 * kAlarmPatience);
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
  Partner partner;
  (void)partner.be_asked();
  partner.answer(Kind::stored, true);
  partner.answer(Kind::stored, true);
  EXPECT_THROW((void)partner.done(), Error) << "twice";
}

}  // namespace
}  // namespace tutti::shm
