/// @file
/// Averages of f16 and bf16 near the ends of their range.
#pragma once

#include <cmath>
#include <limits>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include <tutti/float16.hpp>

#include "tests/support/model.hpp"

namespace tutti::harness {

template <class Half>
float from_bits(std::uint16_t bits) {
  Half half;
  half.bits = bits;
  return static_cast<float>(half);
}
template <class Half>
inline const float kLargest = from_bits<Half>(std::is_same_v<Half, Float16> ? 0x7bff : 0x7f7f);
template <class Half>
inline const float kSmallest = from_bits<Half>(1);

/// By index: the largest number on all ranks; that of both signs by turns; the smallest one; large
/// ones that differ; middling ones that differ.
template <class Half>
float value_at(Rank rank, std::size_t index) {
  const auto share = static_cast<float>(mix(rank, index) % 1000) / 1000;
  switch (index % 5) {
    case 0: return kLargest<Half>;
    case 1: return rank % 2 == 0 ? kLargest<Half> : -kLargest<Half>;
    case 2: return kSmallest<Half>;
    case 3: return kLargest<Half> * (1 - share / 4);
    default: return share - 0.25F;
  }
}

/// A model whose results may differ in rounding, by some units in the last place of the operands.
template <class Half>
Model extreme_average() {
  const auto differ = [](const void* got, const void* wanted, std::size_t count) {
    const auto* const a = static_cast<const Half*>(got);
    const auto* const b = static_cast<const Half*>(wanted);
    for (std::size_t i = 0; i < count; ++i) {
      const double is = static_cast<float>(a[i]), should = static_cast<float>(b[i]);
      const double unit = std::is_same_v<Half, Float16> ? 0x1p-11 : 0x1p-8;
      const double magnitude = i % 5 < 2 || i % 5 == 3 ? double{kLargest<Half>} : 1;
      const bool is_small = i % 5 == 2;
      const double most = is_small ? double{kSmallest<Half>} : 8 * unit * magnitude;
      if (!std::isfinite(is) || std::abs(is - should) > most || (is_small && is == 0)) return i;
    }
    return count;
  };
  std::string name = "average at the limit of ";
  name += name_of(datatype_of<Half>());
  return {.name = std::move(name),
          .type = datatype_of<Half>(),
          .element_bytes = sizeof(Half),
          .op = average,
          .fill =
              [](Rank rank, std::size_t first, std::size_t count, void* to) {
                for (std::size_t i = 0; i < count; ++i)
                  static_cast<Half*>(to)[i] = Half{value_at<Half>(rank, first + i)};
              },
          .reduce =
              [](std::span<const void* const> operands, std::size_t count, void* result) {
                for (std::size_t i = 0; i < count; ++i) {
                  double sum = 0;
                  for (const void* const operand : operands)
                    sum += static_cast<float>(static_cast<const Half*>(operand)[i]);
                  static_cast<Half*>(result)[i] =
                      Half{static_cast<float>(sum / static_cast<double>(operands.size()))};
                }
              },
          .differ = differ};
}

}  // namespace tutti::harness
