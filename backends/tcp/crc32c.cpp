// The instruction takes three cycles but one can start in every cycle. So three neighbouring runs
// are summed at once, and the sums joined by tables of the effect of a run of zeros on a sum
// (M. Adler, crc32c.c, 2013).
#include "crc32c.hpp"

#include <array>
#include <cstring>

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

namespace tutti::tcp {
namespace {

constexpr std::uint32_t kPolynomial = 0x82f63b78;  // bits reversed

using Table = std::array<std::uint32_t, 256>;
using Slices = std::array<Table, 8>;

// The contribution of one byte, followed by k zero bytes, to a sum: slice k.
constexpr Slices make_slices() {
  Slices slices{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t sum = byte;
    for (int bit = 0; bit < 8; ++bit) sum = (sum >> 1) ^ ((sum & 1) != 0 ? kPolynomial : 0);
    slices[0][byte] = sum;
  }
  for (std::size_t k = 1; k < slices.size(); ++k)
    for (std::size_t byte = 0; byte < 256; ++byte) {
      const std::uint32_t shorter = slices[k - 1][byte];
      slices[k][byte] = (shorter >> 8) ^ slices[0][shorter & 255];
    }
  return slices;
}
constexpr Slices kSlices = make_slices();

std::uint64_t load(const std::byte* from) noexcept {
  std::uint64_t word = 0;
  std::memcpy(&word, from, sizeof word);
  return word;
}

// Eight bytes at a time; like the rest of the wire format it wants the lower byte first.
std::uint32_t run_by_table(std::uint32_t sum, const std::byte* at, std::size_t bytes) noexcept {
  for (; bytes >= 8; bytes -= 8, at += 8) {
    const std::uint64_t word = load(at) ^ sum;
    sum = 0;
    for (std::size_t k = 0; k < 8; ++k) sum ^= kSlices[7 - k][word >> (8 * k) & 255];
  }
  for (; bytes > 0; --bytes, ++at)
    sum = (sum >> 8) ^ kSlices[0][(sum ^ std::to_integer<std::uint32_t>(*at)) & 255];
  return sum;
}

#if defined(__x86_64__)

// A linear map of sums, column by column: what becomes of each bit.
using Matrix = std::array<std::uint32_t, 32>;

constexpr std::uint32_t multiply(const Matrix& matrix, std::uint32_t sum) {
  std::uint32_t result = 0;
  for (std::size_t bit = 0; bit < 32; ++bit)
    if ((sum >> bit & 1) != 0) result ^= matrix[bit];
  return result;
}

// The effect of a run of zero bytes on a sum. @param bytes a power of two.
constexpr Matrix zeros(std::size_t bytes) {
  Matrix matrix{};
  for (std::uint32_t bit = 0; bit < 32; ++bit) {
    std::uint32_t sum = std::uint32_t{1} << bit;
    sum = (sum >> 8) ^ kSlices[0][sum & 255];
    matrix[bit] = sum;
  }
  for (; bytes > 1; bytes /= 2) {
    Matrix twice{};
    for (std::size_t bit = 0; bit < 32; ++bit) twice[bit] = multiply(matrix, matrix[bit]);
    matrix = twice;
  }
  return matrix;
}

using Shift = std::array<Table, 4>;
constexpr Shift make_shift(std::size_t bytes) {
  const Matrix matrix = zeros(bytes);
  Shift shift{};
  for (std::uint32_t byte = 0; byte < 256; ++byte)
    for (std::uint32_t k = 0; k < 4; ++k) shift[k][byte] = multiply(matrix, byte << (8 * k));
  return shift;
}

constexpr std::size_t kLong = 4096;
constexpr std::size_t kShort = 256;
constexpr Shift kLongShift = make_shift(kLong);
constexpr Shift kShortShift = make_shift(kShort);

std::uint32_t shifted(const Shift& shift, std::uint64_t sum) noexcept {
  return shift[0][sum & 255] ^ shift[1][sum >> 8 & 255] ^ shift[2][sum >> 16 & 255] ^
         shift[3][sum >> 24 & 255];
}

[[gnu::target("sse4.2")]] std::uint64_t sum_of_three(std::uint64_t sum, const std::byte* at,
                                                     std::size_t run, const Shift& shift) noexcept {
  std::uint64_t second = 0;
  std::uint64_t third = 0;
  for (const std::byte* const end = at + run; at < end; at += 8) {
    sum = _mm_crc32_u64(sum, load(at));
    second = _mm_crc32_u64(second, load(at + run));
    third = _mm_crc32_u64(third, load(at + 2 * run));
  }
  sum = shifted(shift, sum) ^ second;
  return shifted(shift, sum) ^ third;
}

[[gnu::target("sse4.2")]] std::uint32_t run_by_instruction(std::uint64_t sum, const std::byte* at,
                                                           std::size_t bytes) noexcept {
  for (; bytes >= 3 * kLong; bytes -= 3 * kLong, at += 3 * kLong)
    sum = sum_of_three(sum, at, kLong, kLongShift);
  for (; bytes >= 3 * kShort; bytes -= 3 * kShort, at += 3 * kShort)
    sum = sum_of_three(sum, at, kShort, kShortShift);
  for (; bytes >= 8; bytes -= 8, at += 8) sum = _mm_crc32_u64(sum, load(at));
  auto narrow = static_cast<std::uint32_t>(sum);
  for (; bytes > 0; --bytes, ++at)
    narrow = _mm_crc32_u8(narrow, std::to_integer<std::uint8_t>(*at));
  return narrow;
}

#endif

}  // namespace

std::uint32_t crc32c_by_table(std::uint32_t sum, std::span<const std::byte> bytes) noexcept {
  return ~run_by_table(~sum, bytes.data(), bytes.size());
}

std::uint32_t crc32c(std::uint32_t sum, std::span<const std::byte> bytes) noexcept {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("sse4.2"))
    return ~run_by_instruction(~sum, bytes.data(), bytes.size());
#endif
  return crc32c_by_table(sum, bytes);
}

}  // namespace tutti::tcp
