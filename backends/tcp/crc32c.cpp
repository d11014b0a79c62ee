// The instruction takes three cycles, but one can start in every cycle. So three neighbouring runs
// are summed at once. Carry-less products with powers of x then move each sum past the bytes behind
// its run, and join them (V. Gopal et al., Fast CRC computation for iSCSI polynomial using CRC32
// instruction, 2011).
#include "crc32c.hpp"

#include <array>
#include <cstring>

#if defined(__x86_64__)
#include <nmmintrin.h>
#include <wmmintrin.h>
#endif

namespace tutti::tcp {
namespace {

constexpr std::uint32_t kPolynomial = 0x82f63b78;  // bits reversed

// The contribution of one byte to a sum.
constexpr std::array<std::uint32_t, 256> kTable = [] {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t sum = byte;
    for (int bit = 0; bit < 8; ++bit) sum = (sum >> 1) ^ ((sum & 1) != 0 ? kPolynomial : 0);
    table[byte] = sum;
  }
  return table;
}();

std::uint32_t run_by_table(std::uint32_t sum, std::span<const std::byte> bytes) noexcept {
  for (const std::byte byte : bytes)
    sum = (sum >> 8) ^ kTable[(sum ^ std::to_integer<std::uint32_t>(byte)) & 255];
  return sum;
}

#if defined(__x86_64__)

std::uint64_t load(const std::byte* from) noexcept {
  std::uint64_t word = 0;
  std::memcpy(&word, from, sizeof word);
  return word;
}

constexpr std::size_t kRun = 256;

// x^(8 bytes - 33) modulo the polynomial. Its product with a sum, which is one bit short, is the
// sum behind `bytes` zero bytes, once the instruction has multiplied it by x^32.
constexpr std::uint64_t power_behind(std::size_t bytes) {
  std::uint32_t power = std::uint32_t{1} << 31;
  for (std::size_t bit = 0; bit < 8 * bytes - 33; ++bit)
    power = (power >> 1) ^ ((power & 1) != 0 ? kPolynomial : 0);
  return power;
}
constexpr std::uint64_t kBehindOne = power_behind(kRun);
constexpr std::uint64_t kBehindTwo = power_behind(2 * kRun);

[[gnu::target("sse4.2,pclmul")]] std::uint64_t product(std::uint64_t a, std::uint64_t b) noexcept {
  const __m128i both = _mm_clmulepi64_si128(_mm_cvtsi64_si128(static_cast<long long>(a)),
                                            _mm_cvtsi64_si128(static_cast<long long>(b)), 0);
  return static_cast<std::uint64_t>(_mm_cvtsi128_si64(both));
}

[[gnu::target("sse4.2,pclmul")]] std::uint64_t sum_of_three(std::uint64_t sum,
                                                            const std::byte* at) noexcept {
  std::uint64_t second = 0;
  std::uint64_t third = 0;
  for (const std::byte* const end = at + kRun; at < end; at += 8) {
    sum = _mm_crc32_u64(sum, load(at));
    second = _mm_crc32_u64(second, load(at + kRun));
    third = _mm_crc32_u64(third, load(at + 2 * kRun));
  }
  return _mm_crc32_u64(0, product(sum, kBehindTwo) ^ product(second, kBehindOne)) ^ third;
}

[[gnu::target("sse4.2,pclmul")]] std::uint32_t run_by_instruction(std::uint64_t sum,
                                                                  const std::byte* at,
                                                                  std::size_t bytes) noexcept {
  for (; bytes >= 3 * kRun; bytes -= 3 * kRun, at += 3 * kRun) sum = sum_of_three(sum, at);
  for (; bytes >= 8; bytes -= 8, at += 8) sum = _mm_crc32_u64(sum, load(at));
  auto narrow = static_cast<std::uint32_t>(sum);
  for (; bytes > 0; --bytes, ++at)
    narrow = _mm_crc32_u8(narrow, std::to_integer<std::uint8_t>(*at));
  return narrow;
}

#endif

}  // namespace

std::uint32_t crc32c_by_table(std::uint32_t sum, std::span<const std::byte> bytes) noexcept {
  return ~run_by_table(~sum, bytes);
}

std::uint32_t crc32c(std::uint32_t sum, std::span<const std::byte> bytes) noexcept {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("pclmul"))
    return ~run_by_instruction(~sum, bytes.data(), bytes.size());
#endif
  return crc32c_by_table(sum, bytes);
}

}  // namespace tutti::tcp
