#include "backends/tcp/crc32c.hpp"

#include <cstring>
#include <random>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace tutti::tcp {
namespace {

std::vector<std::byte> random_bytes(std::size_t count) {
  std::mt19937 random{static_cast<unsigned>(count)};
  std::vector<std::byte> bytes(count);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

// By the definition, bit by bit.
std::uint32_t plain(std::span<const std::byte> bytes) {
  std::uint32_t sum = ~std::uint32_t{0};
  for (const std::byte byte : bytes) {
    sum ^= std::to_integer<std::uint32_t>(byte);
    for (int bit = 0; bit < 8; ++bit) sum = (sum >> 1) ^ ((sum & 1) != 0 ? 0x82f63b78U : 0U);
  }
  return ~sum;
}

TEST(Crc32c, GivesThePublishedSums) {
  constexpr std::string_view digits = "123456789";
  EXPECT_EQ(crc32c(0, std::as_bytes(std::span{digits})), 0xe3069283U);
  EXPECT_EQ(crc32c_by_table(0, std::as_bytes(std::span{digits})), 0xe3069283U);
  const std::vector<std::byte> zeros(32);  // RFC 3720, B.4
  EXPECT_EQ(crc32c(0, zeros), 0x8a9136aaU);
  const std::vector<std::byte> ones(32, std::byte{0xff});
  EXPECT_EQ(crc32c(0, ones), 0x62a8ab43U);
}

TEST(Crc32c, IsTheSameByInstructionAndByTable) {
  for (const std::size_t count : {0U, 1U, 7U, 8U, 9U, 63U, 64U, 767U, 768U, 769U, 1535U, 1536U,
                                  12287U, 12288U, 12289U, 30001U, 100000U}) {
    const std::vector<std::byte> bytes = random_bytes(count);
    const std::uint32_t expected = plain(bytes);
    EXPECT_EQ(crc32c(0, bytes), expected) << count;
    EXPECT_EQ(crc32c_by_table(0, bytes), expected) << count;
  }
}

TEST(Crc32c, MayBeContinuedAnywhere) {
  const std::vector<std::byte> bytes = random_bytes(20000);
  const std::span all{bytes};
  const std::uint32_t expected = crc32c(0, all);
  for (const std::size_t cut : {0U, 1U, 5U, 800U, 12288U, 13000U, 19999U, 20000U})
    EXPECT_EQ(crc32c(crc32c(0, all.first(cut)), all.subspan(cut)), expected) << cut;
}

TEST(Crc32c, NoticesEveryFlippedBit) {
  std::vector<std::byte> bytes = random_bytes(64);
  const std::uint32_t expected = crc32c(0, bytes);
  for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    const auto mask = static_cast<std::byte>(1U << bit % 8);
    bytes[bit / 8] ^= mask;
    EXPECT_NE(crc32c(0, bytes), expected) << bit;
    bytes[bit / 8] ^= mask;
  }
}

}  // namespace
}  // namespace tutti::tcp
