/// @file
/// Kernels that make elements shorter, and the table of all kernels of gradients. Included once by
/// each gradient_kernels_*.cpp.
#pragma once

#include "gradient_arrays.inl"

namespace {

using tutti::GradientKernels;

/// Calls a function with the first element of each block and the number of its elements.
template <class Function>
void for_each_block(std::size_t count, std::size_t block, Function function) {
  for (std::size_t first = 0; first < count; first += block)
    function(first, count - first < block ? count - first : block);
}

/// @return the largest magnitude as bits. If it is that of infinity or more, an element is not
/// finite.
std::int32_t largest_magnitude(const float* from, std::size_t count) {
  using V = SignedWords<kWordLanes>;
  const auto larger = [](const V& a, const V& b) { return a > b ? a : b; };
  constexpr std::size_t kVectors = 4;
  V most[kVectors]{};
  std::size_t i = 0;
  const auto look = [&](std::size_t v) {
    most[v] = larger(most[v], load_from<V>(from, i * sizeof(float)) & 0x7fffffff);
    i += kWordLanes;
  };
  while (count - i >= kVectors * kWordLanes)
    for (std::size_t v = 0; v < kVectors; ++v) look(v);
  while (count - i >= kWordLanes) look(0);
  const V all = larger(larger(most[0], most[1]), larger(most[2], most[3]));
  std::int32_t largest = 0;
  for (std::size_t lane = 0; lane < kWordLanes; ++lane)
    largest = all[lane] > largest ? all[lane] : largest;
  for (; i < count; ++i) {
    const auto bits = load_from<std::int32_t>(from, i * sizeof(float)) & 0x7fffffff;
    largest = bits > largest ? bits : largest;
  }
  return largest;
}

/// @return the scale of a block with an element that is infinite or NaN.
float scale_of_not_finite(const float* from, std::size_t count) {
  float most = 0;
  float poison = 0;  // 0 times infinity, or a NaN, is a NaN
  for (std::size_t i = 0; i < count; ++i) {
    const float size = __builtin_fabsf(from[i]);
    most = most < size ? size : most;
    poison += from[i] * 0.0F;
  }
  return most / 127 + poison;
}

void pack_bytes(const float* from, std::size_t count, std::size_t block, std::byte* to) {
  for_each_block(count, block, [&](std::size_t first, std::size_t size) {
    const float* const own = from + first;
    const std::int32_t most = largest_magnitude(own, size);
    const float scale =
        most < kInfinity ? __builtin_bit_cast(float, most) / 127 : scale_of_not_finite(own, size);
    store_to(to, 0, scale);
    auto* const digits = reinterpret_cast<signed char*>(to + sizeof scale);
    to += sizeof scale + size;
    const float inverse = scale > 0 ? 1 / scale : 0;
    // The inverse of a subnormal scale is infinite: such elements become zeros.
    if (most >= kInfinity || !is_finite(inverse)) {
      __builtin_memset(digits, 0, size);
      return;
    }
    for (std::size_t i = 0; i < size; ++i) {
      const float x = own[i] * inverse;
      digits[i] =
          static_cast<signed char>(static_cast<std::int32_t>(x + __builtin_copysignf(0.5F, x)));
    }
  });
}

template <bool kAdds>
void spread_bytes(const std::byte* from, std::size_t count, std::size_t block,
                  float* __restrict to) {
  for_each_block(count, block, [&](std::size_t first, std::size_t size) {
    const auto scale = load_from<float>(from, 0);
    const auto* const digits = reinterpret_cast<const signed char*>(from + sizeof scale);
    float* const own = to + first;
    for (std::size_t i = 0; i < size; ++i) {
      const float x = static_cast<float>(digits[i]) * scale;
      own[i] = kAdds ? own[i] + x : x;
    }
    from += sizeof scale + size;
  });
}

std::size_t sign_bytes(std::size_t count) {
  return (count + 7) / 8;
}

/// The scales of several consecutive blocks. Each is added up in the order of its elements. Several
/// at a time, none has to wait for its own last sum.
template <std::size_t kBlocks>
void mean_magnitudes(const float* from, std::size_t block, float* scales) {
  double sums[kBlocks]{};
  for (std::size_t i = 0; i < block; ++i)
    for (std::size_t b = 0; b < kBlocks; ++b)
      sums[b] += static_cast<double>(__builtin_fabsf(from[b * block + i]));
  for (std::size_t b = 0; b < kBlocks; ++b)
    scales[b] = static_cast<float>(sums[b] / static_cast<double>(block));
}

void store_signs(const float* from, std::size_t count, std::byte* to) {
  constexpr std::size_t kGroup = kWordLanes < 8 ? 8 : kWordLanes;
  std::size_t i = 0;
  for (; count - i >= kGroup; i += kGroup) {
    unsigned bits = 0;
    for (std::size_t at = 0; at < kGroup; at += kWordLanes)
      bits |= signs_of(load_from<Words<kWordLanes>>(from, (i + at) * sizeof(float))) << at;
    if constexpr (kGroup == 8) store_to(to, i / 8, static_cast<std::uint8_t>(bits));
    else store_to(to, i / 8, static_cast<std::uint16_t>(bits));
  }
  for (; i < count; i += 8) {
    unsigned bits = 0;
    for (std::size_t at = i; at < count && at < i + 8; ++at)
      bits |= load_from<std::uint32_t>(from, at * sizeof(float)) >> 31 << (at - i);
    store_to(to, i / 8, static_cast<std::uint8_t>(bits));
  }
}

void pack_signs(const float* from, std::size_t count, std::size_t block, std::byte* to) {
  constexpr std::size_t kTogether = 8;
  float scales[kTogether]{};
  std::size_t known = 0;  // blocks whose scales are not stored yet
  std::size_t next = 0;   // scale of the next block
  for_each_block(count, block, [&](std::size_t first, std::size_t size) {
    if (known == 0) {
      next = 0;
      if ((count - first) / block >= kTogether) {
        mean_magnitudes<kTogether>(from + first, block, scales);
        known = kTogether;
      } else {
        mean_magnitudes<1>(from + first, size, scales);
        known = 1;
      }
    }
    --known;
    store_to(to, 0, scales[next++]);
    store_signs(from + first, size, to + sizeof(float));
    to += sizeof(float) + sign_bytes(size);
  });
}

template <bool kAdds>
void spread_signs(const std::byte* from, std::size_t count, std::size_t block, float* to) {
  constexpr std::size_t kLanes = kWordLanes < 8 ? kWordLanes : 8;
  using V = Floats<kLanes>;
  Words<kLanes> bit_of_lane;
  for (std::size_t lane = 0; lane < kLanes; ++lane) bit_of_lane[lane] = 1u << lane;
  for_each_block(count, block, [&](std::size_t first, std::size_t size) {
    const auto scale = load_from<float>(from, 0);
    V positive;
    V negative;  // may have negative zeros, which a sum with zeros would make positive
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      positive[lane] = 1.0F * scale;
      negative[lane] = -1.0F * scale;
    }
    float* const own = to + first;
    std::size_t i = 0;
    for (; size - i >= kLanes; i += kLanes) {
      const unsigned bits = load_from<std::uint8_t>(from, sizeof scale + i / 8) >> i % 8;
      const auto set = ((Words<kLanes>{} + bits) & bit_of_lane) != 0;
      const V x = set ? negative : positive;
      store_to(own, i * sizeof(float), kAdds ? load_from<V>(own, i * sizeof(float)) + x : x);
    }
    for (; i < size; ++i) {
      const unsigned bits = load_from<std::uint8_t>(from, sizeof scale + i / 8) >> i % 8;
      const float x = (bits & 1u) != 0 ? negative[0] : positive[0];
      own[i] = kAdds ? own[i] + x : x;
    }
    from += sizeof scale + sign_bytes(size);
  });
}

/// Evaluated by the compiler, so that loading the library runs none of these instructions.
constexpr GradientKernels make_gradient_table() {
  return {.add_squares = add_squares,
          .are_finite = are_finite,
          .add_hash = add_hash,
          .multiply = multiply,
          .shorten = shorten,
          .lengthen = lengthen<false>,
          .add_lengthened = lengthen<true>,
          .pack_bytes = pack_bytes,
          .unpack_bytes = spread_bytes<false>,
          .add_bytes = spread_bytes<true>,
          .pack_signs = pack_signs,
          .unpack_signs = spread_signs<false>,
          .add_signs = spread_signs<true>,
          .add = add,
          .keep_errors = keep_errors,
          .count_magnitudes = count_magnitudes,
          .find_magnitudes = find_magnitudes};
}

}  // namespace
