// Headers: what lies where, and that nothing wrong is taken for right.
#include "backends/tcp/frame.hpp"

#include <array>
#include <cstring>
#include <random>

#include <gtest/gtest.h>

namespace tutti::tcp {
namespace {

using Wire = std::array<std::byte, sizeof(Header)>;
constexpr FrameLimits kLimits{.message = 1000, .data = 2000};

Wire wire_of(Header header) {
  seal(header);
  Wire wire{};
  std::memcpy(wire.data(), &header, sizeof header);
  return wire;
}
Flaw flaw_of(const Header& header) {
  return decode(wire_of(header), kLimits).flaw;
}

Header example() {
  return {.type = FrameType::data,
          .flags = kPayloadSummed,
          .payload_sum = 0x01020304,
          .communicator = 0x1112131415161718,
          .source = 0x21222324,
          .tag = 0x31323334,
          .sequence = 0x41,
          .length = 0x7d0,
          .fingerprint = 0x6162636465666768,
          .offset = 0x7172};
}

TEST(Frames, LieOnTheWireAsEver) {
  const Wire wire = wire_of(example());
  const std::array<unsigned, 64> expected{
      0x74, 0x75, 0x74, 0x74, 1,    4,    1,    0,    0,    0,    0,    0,    4,
      3,    2,    1,    0x18, 0x17, 0x16, 0x15, 0x14, 0x13, 0x12, 0x11, 0x24, 0x23,
      0x22, 0x21, 0x34, 0x33, 0x32, 0x31, 0x41, 0,    0,    0,    0,    0,    0,
      0,    0xd0, 7,    0,    0,    0,    0,    0,    0,    0x68, 0x67, 0x66, 0x65,
      0x64, 0x63, 0x62, 0x61, 0x72, 0x71, 0,    0,    0,    0,    0,    0};
  for (std::size_t i = 0; i < wire.size(); ++i) {
    if (i >= 8 && i < 12) continue;  // the checksum, which is tested below
    EXPECT_EQ(std::to_integer<unsigned>(wire[i]), expected[i]) << "byte " << i;
  }
}

TEST(Frames, AreReadAsTheyWereWritten) {
  const Decoded decoded = decode(wire_of(example()), kLimits);
  EXPECT_EQ(decoded.flaw, Flaw::none);
  Header expected = example();
  seal(expected);
  EXPECT_EQ(std::memcmp(&decoded.header, &expected, sizeof expected), 0);
  EXPECT_EQ(decoded.header.payload(), 0x7d0U);
}

TEST(Frames, WithAFlippedBitAreRefused) {
  Wire wire = wire_of(example());
  for (std::size_t bit = 0; bit < 8 * wire.size(); ++bit) {
    const auto mask = static_cast<std::byte>(1U << bit % 8);
    wire[bit / 8] ^= mask;
    EXPECT_NE(decode(wire, kLimits).flaw, Flaw::none) << "bit " << bit;
    wire[bit / 8] ^= mask;
  }
  EXPECT_EQ(decode(wire, kLimits).flaw, Flaw::none);
}

TEST(Frames, CutShortAreRefused) {
  const Wire wire = wire_of(example());
  for (std::size_t bytes = 0; bytes < wire.size(); ++bytes)
    EXPECT_EQ(decode(std::span{wire}.first(bytes), kLimits).flaw, Flaw::cut) << bytes;
}

TEST(Frames, NameTheirFlaw) {
  Header header = example();
  header.magic = 0;
  EXPECT_EQ(flaw_of(header), Flaw::magic);
  header = example();
  header.version = 2;
  EXPECT_EQ(flaw_of(header), Flaw::version);
  header = example();
  header.flags = 2;
  EXPECT_EQ(flaw_of(header), Flaw::flags);
  for (const unsigned type : {0U, 6U, 255U}) {
    header = example();
    header.type = static_cast<FrameType>(type);
    EXPECT_EQ(flaw_of(header), Flaw::type) << type;
  }
  for (const Flaw flaw : {Flaw::none, Flaw::cut, Flaw::magic, Flaw::checksum, Flaw::version,
                          Flaw::type, Flaw::flags, Flaw::length})
    EXPECT_NE(describe(flaw), "it is unknown");
}

TEST(Frames, LongerThanAnyMayBeAreRefused) {
  struct Row {
    FrameType type;
    std::uint64_t length;
    std::uint64_t offset;
    Flaw flaw;
  };
  constexpr std::uint64_t kHuge = ~std::uint64_t{0};
  for (const Row& row :
       {Row{FrameType::message, 1000, 0, Flaw::none},
        Row{FrameType::message, 1001, 0, Flaw::length},
        Row{FrameType::message, kHuge, 0, Flaw::length},
        Row{FrameType::data, 2000, kHuge, Flaw::none}, Row{FrameType::data, 2001, 0, Flaw::length},
        Row{FrameType::request, kHuge, 1000, Flaw::none},
        Row{FrameType::request, kHuge, 1001, Flaw::length},
        Row{FrameType::request, 10, 11, Flaw::length},
        Row{FrameType::credit, kHuge, 0, Flaw::none}}) {
    Header header = example();
    header.type = row.type;
    header.length = row.length;
    header.offset = row.offset;
    EXPECT_EQ(flaw_of(header), row.flaw) << row.length << " and " << row.offset;
  }
}

TEST(Frames, OfRandomBytesAreRefused) {
  std::mt19937 random{1};
  for (int i = 0; i < 20000; ++i) {
    Wire wire{};
    for (std::byte& byte : wire) byte = static_cast<std::byte>(random());
    if (i % 2 == 0) std::memcpy(wire.data(), &kMagic, sizeof kMagic);
    EXPECT_NE(decode(wire, kLimits).flaw, Flaw::none);
  }
}

}  // namespace
}  // namespace tutti::tcp
