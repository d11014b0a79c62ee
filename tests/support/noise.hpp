/// @file
/// Numbers whose sums round, so that bits depend on the order of additions.
#pragma once

#include <cmath>
#include <vector>

#include "model.hpp"

namespace tutti::harness {

/// The numbers of a rank repeat after this many elements, so all blocks of a multiple of it begin
/// alike.
inline constexpr std::size_t kNoisePeriod = 7;

/// @param rank whose. @param index of the element. @return a number in [-2, 2].
[[nodiscard]] inline float noise_at(Rank rank, std::size_t index) {
  const double unit = static_cast<double>(mix(rank, index % kNoisePeriod) >> 11) * 0x1p-53;
  return static_cast<float>(4 * unit - 2);
}

/// @tparam T a floating-point type. @param epsilon half a unit in the last place of one.
/// @return a model of sums, which compares with a bound for what rounding may do.
template <class T>
[[nodiscard]] Model noise(double epsilon) {
  Model model = model_of(datatype_of<T>(), OperatorKind::sum);
  model.name += "_noise";
  model.fill = [](Rank rank, std::size_t first, std::size_t count, void* to) {
    for (std::size_t i = 0; i < count; ++i) static_cast<T*>(to)[i] = T(noise_at(rank, first + i));
  };
  model.reduce = [](std::span<const void* const> operands, std::size_t count, void* result) {
    for (std::size_t i = 0; i < count; ++i) {
      double sum = 0;
      for (const void* const operand : operands)
        sum += static_cast<double>(static_cast<float>(static_cast<const T*>(operand)[i]));
      static_cast<T*>(result)[i] = T(static_cast<float>(sum));
    }
  };
  model.differ = [epsilon](const void* got, const void* wanted, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      const auto a = static_cast<double>(static_cast<float>(static_cast<const T*>(got)[i]));
      const auto b = static_cast<double>(static_cast<float>(static_cast<const T*>(wanted)[i]));
      // At most 16 operands below 2: partial sums below 32, each of 16 roundings half an ulp.
      if (!(std::abs(a - b) <= 16 * 32 * epsilon)) return i;
    }
    return count;
  };
  return model;
}

/// @return noise of each type that rounds differently.
[[nodiscard]] inline std::vector<Model> noises() {
  return {noise<float>(0x1p-24), noise<Float16>(0x1p-11), noise<BFloat16>(0x1p-8)};
}

}  // namespace tutti::harness
