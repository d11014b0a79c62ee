// Messages arrive whole, once, and in the order of their tag, whatever their sizes.
#include <algorithm>
#include <fstream>

#include <unistd.h>

#include "group.hpp"

namespace tutti::conformance {
namespace {

/// Around what backends are likely to treat differently.
const std::vector<std::size_t> kSizes{0,     1,     8,     63,    64,     4096,
                                      16384, 65535, 65536, 65537, 300001, 1 << 20};

class Messages : public ::testing::TestWithParam<Setting> {
 protected:
  int size_ = GetParam().size;
  std::unique_ptr<Links> links_ = GetParam().backend.connect({.size = size_});
  Group group_{*links_, size_};
};

std::uint64_t seed_of(Rank from, Rank to, std::size_t number) {
  return static_cast<std::uint64_t>(from * 64 + to) * 65536 + number;
}

TEST_P(Messages, TellsWhatItIs) {
  for (Rank rank = 0; rank < size_; ++rank) {
    if (!group_.is_here(rank)) continue;
    EXPECT_EQ(group_[rank].self(), rank);
    EXPECT_EQ(group_[rank].size(), size_);
    EXPECT_EQ(group_[rank].capabilities().name, GetParam().backend.name);
    EXPECT_GE(group_[rank].capabilities().tags, 256U);
  }
}

TEST_P(Messages, ConnectEveryPairInEverySize) {
  for (const std::size_t bytes : kSizes) {
    std::vector<Bytes> out(static_cast<std::size_t>(size_ * size_), Bytes{});
    std::vector<Bytes> in(out.size(), Bytes(bytes));
    for (Rank from = 0; from < size_; ++from)
      for (Rank to = 0; to < size_; ++to) {
        const auto pair = static_cast<std::size_t>(from * size_ + to);
        out[pair] = pattern(bytes, seed_of(from, to, bytes));
        // The receive comes first, or last, or between.
        if ((from + to) % 2 == 0) group_.receive(to, from, in[pair]);
        group_.send(from, to, out[pair]);
        if ((from + to) % 2 != 0) group_.receive(to, from, in[pair]);
      }
    ASSERT_TRUE(group_.finish()) << bytes << " bytes";
    EXPECT_EQ(in, out) << bytes << " bytes";
  }
}

TEST_P(Messages, OfATagKeepTheirOrder) {
  constexpr std::size_t kMessages = 60;
  const Rank to = size_ - 1;
  std::vector<Bytes> out{};
  std::vector<Bytes> in(kMessages);
  for (std::size_t i = 0; i < kMessages; ++i) {
    out.push_back(pattern(kSizes[i * 5 % kSizes.size()], i));
    in[i].resize(out[i].size());
  }
  for (std::size_t i = 0; i < kMessages / 3; ++i) group_.receive(to, 0, in[i]);
  for (std::size_t i = 0; i < kMessages; ++i) group_.send(0, to, out[i]);
  group_.linger();
  for (std::size_t i = kMessages / 3; i < kMessages; ++i) group_.receive(to, 0, in[i]);
  ASSERT_TRUE(group_.finish());
  for (std::size_t i = 0; i < kMessages; ++i) EXPECT_EQ(in[i], out[i]) << "message " << i;
}

TEST_P(Messages, OfInterleavedTagsAreToldApart) {
  constexpr std::uint32_t kTags = 40;
  const Rank to = size_ - 1;
  std::vector<Bytes> out{};
  std::vector<Bytes> in(2 * kTags);
  for (std::uint32_t i = 0; i < 2 * kTags; ++i) {
    out.push_back(pattern(kSizes[i % kSizes.size()], i));
    in[i].resize(out[i].size());
    group_.send(0, to, out[i], {.tag = i % kTags});
  }
  // Receives are posted in the opposite order of tags.
  for (std::uint32_t tag = kTags; tag-- > 0;) {
    group_.receive(to, 0, in[tag], {.tag = tag});
    group_.receive(to, 0, in[tag + kTags], {.tag = tag});
  }
  ASSERT_TRUE(group_.finish());
  for (std::size_t i = 0; i < out.size(); ++i) EXPECT_EQ(in[i], out[i]) << "message " << i;
}

TEST_P(Messages, OfSeveralMegabytesMayBeCutDifferently) {
  constexpr std::size_t kBytes = (5U << 20) + 3;
  std::vector<Bytes> out{};
  std::vector<Bytes> in(static_cast<std::size_t>(size_), Bytes(kBytes));
  for (Rank rank = 0; rank < size_; ++rank)
    out.push_back(pattern(kBytes, static_cast<std::uint64_t>(rank)));
  for (Rank rank = 0; rank < size_; ++rank) {
    const Rank left = (rank + size_ - 1) % size_;
    group_.send(rank, (rank + 1) % size_, out[static_cast<std::size_t>(rank)], {.piece = 70001});
    group_.receive(rank, left, in[static_cast<std::size_t>(left)], {.piece = 30011});
  }
  ASSERT_TRUE(group_.finish());
  EXPECT_TRUE(in == out);
}

TEST_P(Messages, MayBeShorterThanAReceiveThatAcceptsIt) {
  if (!group_.capabilities().shorter) return;
  const Rank to = size_ - 1;
  for (const std::size_t bytes : kSizes)
    for (const std::size_t room : {bytes + 1, bytes + 70000, 2 * bytes + 300})
      for (const bool receive_first : {true, false}) {
        const Bytes out = pattern(bytes, 1), later = pattern(9, 2);
        Bytes in(room, std::byte{0xee}), in_later(later.size());
        Bytes expected = in;
        std::ranges::copy(out, expected.begin());
        const Envelope shorter{.piece = 30011, .accepts_shorter = true};
        if (receive_first) group_.receive(to, 0, in, shorter);
        group_.send(0, to, out);
        group_.send(0, to, later);
        if (!receive_first) group_.receive(to, 0, in, shorter);
        group_.receive(to, 0, in_later);
        ASSERT_TRUE(group_.finish()) << bytes << " bytes in " << room;
        EXPECT_TRUE(in == expected) << bytes << " bytes in " << room;
        EXPECT_TRUE(in_later == later) << bytes << " bytes in " << room;
      }
}

TEST_P(Messages, MayHaveThousandsOfPieces) {
  const Bytes out = pattern(100000, 1);
  Bytes in(out.size());
  group_.receive(size_ - 1, 0, in, {.piece = 5});
  group_.send(0, size_ - 1, out, {.piece = 9});
  ASSERT_TRUE(group_.finish());
  EXPECT_TRUE(in == out);
}

TEST_P(Messages, MayBeInFlightInThousands) {
  constexpr std::size_t kMessages = 4000;
  constexpr std::uint32_t kTags = 100;
  std::vector<Bytes> out{};
  std::vector<Bytes> in(kMessages);
  for (std::size_t i = 0; i < kMessages; ++i) {
    out.push_back(pattern(i % 50 * 8, i));
    in[i].resize(out[i].size());
  }
  for (std::size_t i = 0; i < kMessages; ++i)
    group_.send(0, size_ - 1, out[i], {.tag = static_cast<std::uint32_t>(i) % kTags});
  for (std::size_t i = 0; i < kMessages; ++i)
    group_.receive(size_ - 1, 0, in[i], {.tag = static_cast<std::uint32_t>(i) % kTags});
  ASSERT_TRUE(group_.finish());
  EXPECT_TRUE(in == out);
}

// A probe describes a message as its sender does, whether its bytes have come or not.
TEST_P(Messages, AreFoundByAProbeUntilTheyAreReceived) {
  if (!group_.capabilities().transports.empty()) GTEST_SKIP() << "probes search the first route";
  const Rank to = size_ - 1;
  for (const std::size_t bytes : {std::size_t{8}, std::size_t{300001}}) {
    const auto tag = static_cast<std::uint32_t>(bytes % 5);  // of its own, as ranks run apart
    const Envelope envelope{.tag = tag, .fingerprint = 0x4123456789abcdef};
    const Bytes out = pattern(bytes, bytes);
    Bytes in(bytes);
    group_.send(0, to, out, envelope);
    std::optional<Unexpected> found;
    ASSERT_TRUE(group_.run_until([&] {
      if (group_.is_here(to)) found = group_[to].probe(any_rank, tag);
      return found || !group_.is_here(to);
    }));
    if (found) {
      EXPECT_EQ(found->from, 0);
      EXPECT_EQ(found->bytes, bytes);
      EXPECT_EQ(found->fingerprint, envelope.fingerprint);
      EXPECT_FALSE(group_[to].probe(0, tag + 5));
    }
    group_.receive(to, 0, in, envelope);
    ASSERT_TRUE(group_.finish());
    EXPECT_TRUE(in == out);
    if (group_.is_here(to)) {
      EXPECT_FALSE(group_[to].probe(any_rank, tag));
    }
  }
}

TEST_P(Messages, WithoutAReceiveNeverBlockAnotherTag) {
  const Rank to = size_ - 1;
  const Bytes unwanted = pattern(200000, 1);
  const Bytes out = pattern(400000, 2);
  Bytes in(out.size());
  std::vector<Bytes> late(100, Bytes(unwanted.size()));
  for (std::size_t i = 0; i < late.size(); ++i) group_.send(0, to, unwanted, {.tag = 1});
  group_.linger();
  const std::uint64_t sent = group_.send(0, to, out, {.tag = 2});
  const std::uint64_t received = group_.receive(to, 0, in, {.tag = 2});
  ASSERT_TRUE(
      group_.run_until([&] { return group_.complete(0, sent) && group_.complete(to, received); }));
  EXPECT_TRUE(in == out);
  for (Bytes& bytes : late) group_.receive(to, 0, bytes, {.tag = 1});
  ASSERT_TRUE(group_.finish());
  for (const Bytes& bytes : late) EXPECT_TRUE(bytes == unwanted);
}

std::size_t resident_bytes() {
  std::ifstream file{"/proc/self/statm"};
  std::size_t whole = 0;
  std::size_t resident = 0;
  file >> whole >> resident;
  return resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

TEST_P(Messages, WithoutAReceiveTakeBoundedMemory) {
  if (!GetParam().backend.bounded) GTEST_SKIP() << "this backend bounds no memory";
  constexpr std::size_t kMessages = 600;
  const Bytes out = pattern(65536, 1);
  Bytes in(out.size());
  const Bytes word(8);
  Bytes heard(word.size());
  group_.receive(size_ - 1, 0, heard, {.tag = 1});  // for this it goes on reading
  const std::size_t before = resident_bytes();
  for (std::size_t i = 0; i < kMessages; ++i) {
    group_.send(0, size_ - 1, out);
    if (i % 100 == 0) group_.linger();
  }
  group_.linger();
  EXPECT_LT(resident_bytes(), before + (16U << 20)) << "of " << kMessages * out.size() << " sent";
  group_.send(0, size_ - 1, word, {.tag = 1});
  for (std::size_t i = 0; i < kMessages; ++i) group_.receive(size_ - 1, 0, in);
  ASSERT_TRUE(group_.finish());
  EXPECT_TRUE(in == out);
}

INSTANTIATE_TEST_SUITE_P(Conformance, Messages, ::testing::ValuesIn(settings()), name_of);

}  // namespace
}  // namespace tutti::conformance
