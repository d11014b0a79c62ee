/// @file
/// Short vectors of elements: how they are loaded, computed on and stored, per storage format.
/// Included once by each kernels_*.cpp, hence the unnamed namespace: nothing here may be shared
/// between files that are compiled for different processors.
///
/// A format has Lanes<N>: the storage of N elements, the vector for computation, and the
/// application of an operator to two such vectors. kWide and kShort are good numbers of lanes for
/// it. Vectors are the compiler's own, so one text serves every instruction set; vectors of one
/// lane are the scalar remainder loop, and behave as longer ones do (no integer promotion).
#pragma once

#include <cstddef>
#include <cstdint>

#if defined(__F16C__)
#include <immintrin.h>
#endif

namespace {

using Bytes = unsigned char;

template <class T, std::size_t N>
struct VectorOf {
  using Type [[gnu::vector_size(N * sizeof(T))]] = T;
};
template <class T, std::size_t N>
using Vector = typename VectorOf<T, N>::Type;

#if defined(__AVX512F__)
constexpr std::size_t kVectorBytes = 64;
#elif defined(__AVX2__)
constexpr std::size_t kVectorBytes = 32;
#else
constexpr std::size_t kVectorBytes = 16;
#endif

/// Elements may be unaligned, so vectors move by memcpy, which compiles to one instruction.
template <class V>
V load_from(const void* array, std::size_t offset) {
  V vector;
  __builtin_memcpy(&vector, static_cast<const Bytes*>(array) + offset, sizeof(V));
  return vector;
}

template <class V>
void store_to(void* array, std::size_t offset, const V& vector) {
  __builtin_memcpy(static_cast<Bytes*>(array) + offset, &vector, sizeof(V));
}

/// @return true, or a mask per lane, for NaN: only NaN differs from itself.
template <class V>
auto is_nan(const V& value) {
  return value != value;  // NOLINT(misc-redundant-expression)
}

/// The one NaN that results carry.
template <class T>
constexpr T kQuietNan = static_cast<T>(__builtin_nanf(""));

/// Divides, then replaces every NaN. The compiler's order decides which operand's payload survives
/// a sum, so ranks and instruction sets could disagree.
template <class T, class V>
V finish(V value, int divisor) {
  if (divisor != 1) value = value / static_cast<T>(divisor);
  const V nan = V{} + kQuietNan<T>;
  return is_nan(value) ? nan : value;
}

/// @return two to the power `exponent`, which is not subnormal.
[[maybe_unused]] float power_of_two(int exponent) {
  return __builtin_bit_cast(float, static_cast<std::uint32_t>(127 + exponent) << 23);
}

/// Divides and bounds the half sum of an average, which does not overflow for finite operands.
/// Rounding may carry a partial sum of the largest numbers beyond them, but the mean is never
/// beyond.
template <class V>
V finish_average(V half, float divisor, float largest) {
  half = half / divisor;
  const V bound = V{} + largest / 2;
  const V infinity = V{} + __builtin_inff();
  half = ((half > bound) & (half < infinity)) ? bound : half;
  half = ((half < -bound) & (half > -infinity)) ? -bound : half;
  return half + half;
}

/// Applies an operator to elements without conversion.
struct ElementWise {
  template <class Op, class V>
  static V apply(const V& a, const V& b) {
    return Op::apply(a, b);
  }
};

/// Integers: computed in their own width.
template <class T>
struct Integer {
  static constexpr std::size_t kBytes = sizeof(T);
  static constexpr std::size_t kWide = kVectorBytes / sizeof(T);
  static constexpr std::size_t kShort = 16 / sizeof(T);
  template <std::size_t N>
  struct Lanes : ElementWise {
    using V = Vector<T, N>;
    static V load(const void* array, std::size_t i) { return load_from<V>(array, i * kBytes); }
    static void store(void* array, std::size_t i, V value, int) {
      store_to(array, i * kBytes, value);
    }
  };
};

/// float and double: computed in their own precision.
template <class T>
struct Real {
  static constexpr std::size_t kBytes = sizeof(T);
  static constexpr std::size_t kWide = kVectorBytes / sizeof(T);
  static constexpr std::size_t kShort = 16 / sizeof(T);
  template <std::size_t N>
  struct Lanes : ElementWise {
    using V = Vector<T, N>;
    static V load(const void* array, std::size_t i) { return load_from<V>(array, i * kBytes); }
    static void store(void* array, std::size_t i, V value, int divisor) {
      store_to(array, i * kBytes, finish<T>(value, divisor));
    }
  };
};

template <std::size_t N>
using Words = Vector<std::uint32_t, N>;
template <std::size_t N>
using SignedWords = Vector<std::int32_t, N>;
template <std::size_t N>
using Floats = Vector<float, N>;

/// The upper half of a float. The half is in the lower bits of each word.
struct Brain16Codec {
  static constexpr float kLargest = 0x1.fep127f;
  template <std::size_t N>
  static Floats<N> widen(Words<N> half) {
    return __builtin_bit_cast(Floats<N>, half << 16);
  }
  /// To nearest, ties to even. The quiet NaN survives: it has no low bits that could carry.
  template <std::size_t N>
  static Words<N> narrow(Floats<N> value) {
    const auto word = __builtin_bit_cast(Words<N>, value);
    return (word + 0x7fffu + ((word >> 16) & 1u)) >> 16;
  }
};

/// IEEE binary16, without branches: every case is computed and masks choose. Comparisons are of
/// signed words, which the oldest processors have, and never see a sign bit.
struct Binary16Codec {
  static constexpr float kLargest = 65504;
  template <std::size_t N>
  static Floats<N> widen(Words<N> half) {
    const Words<N> sign = (half & 0x8000u) << 16;
    const Words<N> magnitude = (half & 0x7fffu) << 13;
    const auto compared = __builtin_bit_cast(SignedWords<N>, magnitude);
    const Words<N> normal = magnitude + (112u << 23);
    // The float unit normalises a subnormal: give it an implicit bit, then take that away.
    const auto biased = __builtin_bit_cast(Floats<N>, magnitude + (113u << 23));
    const auto subnormal = __builtin_bit_cast(Words<N>, biased - 0x1p-14f);
    const Words<N> finite = compared < (1 << 23) ? subnormal : normal;
    const Words<N> special = magnitude | 0x7f800000u;
    const Words<N> result = sign | (compared < (31 << 23) ? finite : special);
    return __builtin_bit_cast(Floats<N>, result);
  }

  /// To nearest, ties to even. A NaN becomes the quiet NaN.
  template <std::size_t N>
  static Words<N> narrow(Floats<N> value) {
    const auto word = __builtin_bit_cast(Words<N>, value);
    const Words<N> sign = (word >> 16) & 0x8000u;
    const Words<N> magnitude = word & 0x7fffffffu;
    const auto compared = __builtin_bit_cast(SignedWords<N>, magnitude);
    const Words<N> odd = (magnitude >> 13) & 1u;
    const Words<N> normal = (magnitude - 0x38000000u + 0xfffu + odd) >> 13;
    // Adding 0.5 makes the float unit shift and round a subnormal's fraction.
    const Floats<N> shifted = __builtin_bit_cast(Floats<N>, magnitude) + 0.5f;
    const Words<N> subnormal = __builtin_bit_cast(Words<N>, shifted) - 0x3f000000u;
    const Words<N> finite = compared < 0x38800000 ? subnormal : normal;
    const Words<N> infinity = Words<N>{} + 0x7c00u;
    const Words<N> special = compared > 0x7f800000 ? infinity + 0x200u : infinity;
    return sign | (compared < 0x47800000 ? finite : special);
  }
};

constexpr std::size_t kHalfBytes = 2;

/// 16-bit elements computed in float. A word of storage holds two; each is taken out by a shift or
/// a mask, so nothing needs to be shuffled.
template <class Codec, std::size_t N>
struct HalfLanes {
  static constexpr std::size_t kWords = N / 2;
  struct V {
    Floats<kWords> low;
    Floats<kWords> high;
  };
  static V load(const void* array, std::size_t i) {
    const auto words = load_from<Words<kWords>>(array, i * kHalfBytes);
    return {Codec::template widen<kWords>(words & 0xffffu),
            Codec::template widen<kWords>(words >> 16)};
  }
  static void store(void* array, std::size_t i, const V& value, int divisor) {
    const Words<kWords> low = Codec::template narrow<kWords>(finish<float>(value.low, divisor));
    const Words<kWords> high = Codec::template narrow<kWords>(finish<float>(value.high, divisor));
    store_to(array, i * kHalfBytes, low | (high << 16));
  }
  template <class Op>
  static V apply(const V& a, const V& b) {
    return {Op::apply(a.low, b.low), Op::apply(a.high, b.high)};
  }
  static V multiplied(const V& a, float factor) { return {a.low * factor, a.high * factor}; }
  static V averaged(const V& half, float divisor) {
    return {finish_average(half.low, divisor, Codec::kLargest),
            finish_average(half.high, divisor, Codec::kLargest)};
  }
};

/// The functions that averages need, for lanes that are one vector of floats.
template <class Codec>
struct FloatLanes : ElementWise {
  template <class V>
  static V multiplied(const V& a, float factor) {
    return a * factor;
  }
  template <class V>
  static V averaged(const V& half, float divisor) {
    return finish_average(half, divisor, Codec::kLargest);
  }
};

template <class Codec>
struct HalfLanes<Codec, 1> : FloatLanes<Codec> {
  using V = Floats<1>;
  static V load(const void* array, std::size_t i) {
    const Words<1> half{load_from<std::uint16_t>(array, i * kHalfBytes)};
    return Codec::template widen<1>(half);
  }
  static void store(void* array, std::size_t i, const V& value, int divisor) {
    const Words<1> half = Codec::template narrow<1>(finish<float>(value, divisor));
    store_to(array, i * kHalfBytes, static_cast<std::uint16_t>(half[0]));
  }
};

template <class Codec>
struct Half {
  static constexpr std::size_t kWide = kVectorBytes / kHalfBytes;
  static constexpr std::size_t kShort = 16 / kHalfBytes;
  template <std::size_t N>
  using Lanes = HalfLanes<Codec, N>;
};

using Brain16 = Half<Brain16Codec>;

#if !defined(__F16C__)
using Binary16 = Half<Binary16Codec>;
#else

/// The processor's own conversions.
struct Binary16 {
  static constexpr std::size_t kWide = kVectorBytes / sizeof(float);
  static constexpr std::size_t kShort = 8;
  template <std::size_t N>
  struct Lanes;
};

template <>
struct Binary16::Lanes<1> : HalfLanes<Binary16Codec, 1> {};

template <>
struct Binary16::Lanes<8> : FloatLanes<Binary16Codec> {
  using V = Floats<8>;
  static V load(const void* array, std::size_t i) {
    return __builtin_bit_cast(V, _mm256_cvtph_ps(load_from<__m128i>(array, i * kHalfBytes)));
  }
  static void store(void* array, std::size_t i, V value, int divisor) {
    const auto result = __builtin_bit_cast(__m256, finish<float>(value, divisor));
    store_to(array, i * kHalfBytes, _mm256_cvtps_ph(result, 0));
  }
};

#if defined(__AVX512F__)
template <>
struct Binary16::Lanes<16> : FloatLanes<Binary16Codec> {
  using V = Floats<16>;
  // The forms without a mask make g++ 12 warn of an uninitialised value inside its own header.
  static constexpr __mmask16 kAllLanes = 0xffff;
  static V load(const void* array, std::size_t i) {
    const auto halves = load_from<__m256i>(array, i * kHalfBytes);
    return __builtin_bit_cast(V, _mm512_maskz_cvtph_ps(kAllLanes, halves));
  }
  static void store(void* array, std::size_t i, V value, int divisor) {
    const auto result = __builtin_bit_cast(__m512, finish<float>(value, divisor));
    store_to(array, i * kHalfBytes, _mm512_maskz_cvtps_ph(kAllLanes, result, 0));
  }
};
#endif
#endif

}  // namespace
