// Copies past the caches, wherever they begin and end.
#include <gtest/gtest.h>

#include <array>
#include <vector>

#include <tutti/spi/pieces.hpp>
#include <tutti/spi/streaming.hpp>

namespace tutti::v0 {
namespace {

std::vector<std::byte> numbered(std::size_t bytes) {
  std::vector<std::byte> run(bytes);
  for (std::size_t i = 0; i < bytes; ++i) run[i] = static_cast<std::byte>(i * 7 + i / 256 + 1);
  return run;
}

TEST(Streaming, CopiesWhatItIsToldAndNothingElse) {
  const std::vector<std::byte> from = numbered(600);
  alignas(64) std::array<std::byte, 800> memory{};
  for (std::size_t to = 0; to < 70; ++to)
    for (const std::size_t skip : {std::size_t{0}, std::size_t{1}, to, 64 - to % 64})
      for (const std::size_t bytes : {0, 1, 15, 16, 63, 64, 65, 127, 128, 200, 257}) {
        memory.fill(std::byte{0xee});
        stream(memory.data() + to, from.data() + skip, bytes);
        end_streams();
        for (std::size_t i = 0; i < memory.size(); ++i) {
          const bool is_inside = i >= to && i < to + bytes;
          ASSERT_EQ(memory[i], is_inside ? from[i - to + skip] : std::byte{0xee})
              << to << ' ' << skip << ' ' << bytes << ' ' << i;
        }
      }
}

TEST(Streaming, FollowsThePiecesOfAMessage) {
  std::vector<std::byte> from = numbered(1000);
  const std::array pieces{Piece{from.data(), 300}, Piece{from.data() + 400, 1},
                          Piece{from.data() + 500, 500}};
  std::vector<std::byte> expected(from.begin(), from.begin() + 300);
  expected.push_back(from[400]);
  expected.insert(expected.end(), from.begin() + 500, from.end());
  std::vector<std::byte> to(expected.size());
  Cursor cursor{pieces};
  for (std::size_t moved = 0; moved < to.size(); moved += 89) {
    cursor.stream(to.data() + moved, std::min<std::size_t>(89, to.size() - moved));
    end_streams();
  }
  EXPECT_EQ(to, expected);
}

}  // namespace
}  // namespace tutti::v0
