// The copy of payload: right wherever it begins and ends, and without a grain of a neighbour.
#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <vector>

#include <tutti/spi/copy.hpp>
#include <tutti/spi/memory.hpp>

#include "backends/host/host_memory.hpp"

namespace tutti::test {
namespace {

constexpr std::byte kUntouched{0xee};
constexpr std::size_t kMargin = 128;

std::vector<std::byte> numbered(std::size_t bytes) {
  std::vector<std::byte> run(bytes);
  for (std::size_t i = 0; i < bytes; ++i) run[i] = static_cast<std::byte>(i * 7 + i / 251 + 1);
  return run;
}

/// Copies between all offsets that the caller names and compares every byte, those around included.
class Copies {
 public:
  explicit Copies(std::size_t most) : from_{numbered(most + kMargin)}, to_(most + 2 * kMargin) {}

  template <class Copy>
  void check(std::size_t to, std::size_t from, std::size_t bytes, Copy copy) {
    std::fill_n(to_.begin(), bytes + 2 * kMargin, kUntouched);
    copy(to_.data() + to, from_.data() + from, bytes);
    const auto begin = to_.begin() + static_cast<std::ptrdiff_t>(to);
    const auto end = begin + static_cast<std::ptrdiff_t>(bytes);
    const auto stop = to_.begin() + static_cast<std::ptrdiff_t>(bytes + 2 * kMargin);
    const auto is_untouched = [](std::byte value) { return value == kUntouched; };
    ASSERT_TRUE(std::equal(begin, end, from_.begin() + static_cast<std::ptrdiff_t>(from)) &&
                std::all_of(to_.begin(), begin, is_untouched) &&
                std::all_of(end, stop, is_untouched))
        << bytes << " bytes from offset " << from << " to offset " << to;
  }

 private:
  std::vector<std::byte> from_;
  std::vector<std::byte> to_;
};

const auto kPlain = [](std::byte* to, const std::byte* from, std::size_t bytes) {
  copy_bytes(to, from, bytes);
};

TEST(Copy, IsRightForAllShortLengths) {
  Copies copies{400};
  for (std::size_t bytes = 0; bytes <= 400; ++bytes)
    for (const std::size_t to : {0, 1, 4, 16, 31, 63})
      for (const std::size_t from : {0, 1, 16, 33}) copies.check(to, from, bytes, kPlain);
}

TEST(Copy, IsRightBetweenAllOffsets) {
  Copies copies{1100};
  for (std::size_t to = 0; to <= 64; ++to)
    for (std::size_t from = 0; from <= 64; ++from)
      for (const std::size_t bytes : {65, 127, 128, 129, 257, 511, 1024, 1093})
        copies.check(to, from, bytes, kPlain);
}

TEST(Copy, IsRightByEachInstructionSet) {
  Copies copies{(std::size_t{9} << 20) + 5};
  for (const host::InstructionSet set : host::supported_instruction_sets()) {
    const std::shared_ptr<Memory> memory = host::make_host_memory(set);
    const auto copy = [&memory](std::byte* to, const std::byte* from, std::size_t bytes) {
      memory->copy(to, from, bytes);
    };
    for (std::size_t to = 0; to <= 64; to += 3)
      for (std::size_t from = 0; from <= 64; from += 5)
        for (const std::size_t bytes : {1, 64, 65, 100, 300, 777})
          copies.check(to, from, bytes, copy);
    copies.check(16, 0, 100'003, copy);
    copies.check(4, 1, (std::size_t{9} << 20) + 5, copy);
  }
}

}  // namespace
}  // namespace tutti::test
