/// @file
/// Elements on which kernels of gradients could differ, and the kernels of this machine.
#pragma once

#include <bit>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "backends/host/gradient_kernels.hpp"
#include "backends/host/instruction_set.hpp"

namespace tutti::test {

constexpr std::size_t kMostElements = 130;
constexpr std::size_t kMostOffset = 16;

/// Calls a function with the kernels of each instruction set that this machine has.
template <class Function>
void for_each_kernels(Function function) {
  for (const host::InstructionSet set : host::supported_instruction_sets()) {
    const testing::ScopedTrace trace(__FILE__, __LINE__, std::string{host::name_of(set)});
    function(host::gradient_kernels_of(set));
  }
}

/// Ordinary numbers, and, where hard, also any bits, subnormals, infinities, NaNs of both kinds,
/// and numbers in the middle between two of f16 and of bf16.
inline std::vector<float> gradient_samples(std::size_t count, unsigned seed, bool hard) {
  std::mt19937 random{seed};
  std::normal_distribution<float> normal{0, 1};
  const std::uint32_t special[]{0,          0x80000000, 1,          0x7f800000, 0xff800000,
                                0x7fc00001, 0xff801234, 0x7fa00000, 0x477fefff, 0x477ff000,
                                0x33000000, 0x33000001, 0x38800000, 0x387fffff, 0x7f7fffff};
  std::vector<float> samples(count);
  for (float& x : samples) {
    const auto bits = static_cast<std::uint32_t>(random());
    x = normal(random);
    if (!hard) continue;
    switch (bits % 6) {
      case 0: x = std::bit_cast<float>(static_cast<std::uint32_t>(random())); break;
      case 1: x = std::bit_cast<float>(special[random() % std::size(special)]); break;
      case 2: x = std::bit_cast<float>((bits & 0xffffe000) | 0x1000); break;
      case 3: x = std::bit_cast<float>((bits & 0xffff0000) | 0x8000); break;
      case 4: x *= 1e-7F; break;
      default: break;
    }
  }
  return samples;
}

/// Whether bits are equal, or both are NaNs where a sum of two NaNs may be either of them.
inline testing::AssertionResult same_floats(const std::vector<float>& got,
                                            const std::vector<float>& wanted, bool of_sums) {
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (of_sums && got[i] != got[i] && wanted[i] != wanted[i]) continue;
    const auto own = std::bit_cast<std::uint32_t>(got[i]);
    const auto other = std::bit_cast<std::uint32_t>(wanted[i]);
    if (own != other)
      return testing::AssertionFailure()
             << "element " << i << " is " << std::hex << own << " instead of " << other;
  }
  return testing::AssertionSuccess();
}

}  // namespace tutti::test
