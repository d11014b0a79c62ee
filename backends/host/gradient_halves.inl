/// @file
/// Elements of f16 and bf16 as f32, and back. Included once by each gradient_kernels_*.cpp; see
/// vectors.inl for why all of it is in an unnamed namespace.
#pragma once

#include <tutti/spi/gradient_kernels.hpp>

#include "vectors.inl"

namespace {

using tutti::Datatype;

constexpr std::size_t kWordLanes = kVectorBytes / sizeof(std::uint32_t);

/// Conversions with the same bits as those of Float16: a NaN keeps its payload, and becomes quiet
/// when it is shortened.
struct Half16 {
  template <std::size_t N>
  static Floats<N> widen(Words<N> half) {
    return Binary16Codec::widen<N>(half);
  }
  template <std::size_t N>
  static Words<N> narrow(Floats<N> value) {
    const auto word = __builtin_bit_cast(Words<N>, value);
    const auto compared = __builtin_bit_cast(SignedWords<N>, word & 0x7fffffffu);
    const Words<N> payload = (word >> 13) & 0x3ffu;
    const Words<N> none{};
    return Binary16Codec::narrow<N>(value) | (compared > 0x7f800000 ? payload : none);
  }
};

/// Conversions with the same bits as those of BFloat16; NaNs as in Half16.
struct HalfBrain {
  template <std::size_t N>
  static Floats<N> widen(Words<N> half) {
    return Brain16Codec::widen<N>(half);
  }
  template <std::size_t N>
  static Words<N> narrow(Floats<N> value) {
    const auto word = __builtin_bit_cast(Words<N>, value);
    const auto compared = __builtin_bit_cast(SignedWords<N>, word & 0x7fffffffu);
    const Words<N> rounded = Brain16Codec::narrow<N>(value);
    const Words<N> quiet = (word >> 16) | 0x40u;
    return compared > 0x7f800000 ? quiet : rounded;
  }
};

/// The lanes of words that hold halves.
template <std::size_t N>
Words<N> load_halves(const void* elements, std::size_t i) {
  return __builtin_convertvector(load_from<Vector<std::uint16_t, N>>(elements, i * kHalfBytes),
                                 Words<N>);
}

template <std::size_t N>
void store_halves(void* elements, std::size_t i, Words<N> halves) {
  store_to(elements, i * kHalfBytes, __builtin_convertvector(halves, Vector<std::uint16_t, N>));
}

template <class Codec>
struct Shortened {
  template <std::size_t N>
  static void store(const float* from, std::size_t i, void* to) {
    const auto values = load_from<Floats<N>>(from, i * sizeof(float));
    store_halves<N>(to, i, Codec::template narrow<N>(values));
  }
};

#if defined(__F16C__)
/// The processor's own conversion is the same.
template <>
template <>
void Shortened<Half16>::store<kWordLanes>(const float* from, std::size_t i, void* to) {
#if defined(__AVX512F__)
  const auto values = load_from<__m512>(from, i * sizeof(float));
  store_to(to, i * kHalfBytes, _mm512_maskz_cvtps_ph(0xffff, values, 0));
#else
  const auto values = load_from<__m256>(from, i * sizeof(float));
  store_to(to, i * kHalfBytes, _mm256_cvtps_ph(values, 0));
#endif
}
#endif

template <class Codec>
void shorten_all(const float* from, std::size_t count, void* to) {
  std::size_t i = 0;
  for (; count - i >= kWordLanes; i += kWordLanes)
    Shortened<Codec>::template store<kWordLanes>(from, i, to);
  for (; i < count; ++i) Shortened<Codec>::template store<1>(from, i, to);
}

void shorten(Datatype type, const float* from, std::size_t count, void* to) {
  if (type == Datatype::bf16) shorten_all<HalfBrain>(from, count, to);
  else shorten_all<Half16>(from, count, to);
}

/// The processor's own conversion would make signalling NaNs quiet, which Float16 does not.
template <class Codec, bool kAdds, std::size_t N>
void lengthen_lanes(const void* from, std::size_t i, float* to) {
  const Floats<N> x = Codec::template widen<N>(load_halves<N>(from, i));
  const std::size_t at = i * sizeof(float);
  store_to(to, at, kAdds ? load_from<Floats<N>>(to, at) + x : x);
}

template <class Codec, bool kAdds>
void lengthen_all(const void* from, std::size_t count, float* to) {
  std::size_t i = 0;
  for (; count - i >= kWordLanes; i += kWordLanes)
    lengthen_lanes<Codec, kAdds, kWordLanes>(from, i, to);
  for (; i < count; ++i) lengthen_lanes<Codec, kAdds, 1>(from, i, to);
}

template <bool kAdds>
void lengthen(Datatype type, const void* from, std::size_t count, float* to) {
  if (type == Datatype::bf16) lengthen_all<HalfBrain, kAdds>(from, count, to);
  else lengthen_all<Half16, kAdds>(from, count, to);
}

/// Calls function(array, index of the first element, number of elements) for elements as f32, in an
/// array that it may change. The number is a multiple of kGradientLanes, except in the last call.
template <class Function>
void for_each_widened(Datatype type, const void* elements, std::size_t count, Function function) {
  constexpr std::size_t kMost = 512;
  float wide[kMost];
  for (std::size_t first = 0; first < count; first += kMost) {
    const std::size_t size = count - first < kMost ? count - first : kMost;
    lengthen<false>(type, static_cast<const Bytes*>(elements) + first * kHalfBytes, size, wide);
    function(wide, first, size);
  }
}

}  // namespace
