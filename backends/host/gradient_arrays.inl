/// @file
/// Kernels over whole arrays of gradients: sums of squares, hashes, searches and sums. Included
/// once by each gradient_kernels_*.cpp; see vectors.inl for why all of it is in an unnamed
/// namespace.
#pragma once

#include "gradient_halves.inl"

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace {

using tutti::kGradientLanes;

constexpr std::size_t kDoubles = kVectorBytes / sizeof(double);

using Double = Vector<double, kDoubles>;

/// Loads elements as doubles, which is exact.
template <class T, std::size_t N>
Vector<double, N> load_doubles(const void* elements, std::size_t i) {
  return __builtin_convertvector(load_from<Vector<T, N>>(elements, i * sizeof(T)),
                                 Vector<double, N>);
}

template <class T>
void add_squares_of(const void* elements, std::size_t count, double* sums) {
  constexpr std::size_t kVectors = kGradientLanes / kDoubles;
  Double partial[kVectors];
  for (std::size_t v = 0; v < kVectors; ++v)
    partial[v] = load_from<Double>(sums, v * sizeof(Double));
  std::size_t i = 0;
  for (; count - i >= kGradientLanes; i += kGradientLanes)
    for (std::size_t v = 0; v < kVectors; ++v) {
      const Double x = load_doubles<T, kDoubles>(elements, i + v * kDoubles);
      partial[v] += x * x;
    }
  for (std::size_t v = 0; v < kVectors; ++v) store_to(sums, v * sizeof(Double), partial[v]);
  for (std::size_t lane = 0; i < count; ++i, ++lane) {
    const double x = load_doubles<T, 1>(elements, i)[0];
    sums[lane] += x * x;
  }
}

void add_squares(Datatype type, const void* elements, std::size_t count, double* sums) {
  if (type == Datatype::f64) return add_squares_of<double>(elements, count, sums);
  if (type == Datatype::f32) return add_squares_of<float>(elements, count, sums);
  for_each_widened(type, elements, count, [sums](const float* wide, std::size_t, std::size_t size) {
    add_squares_of<float>(wide, size, sums);
  });
}

/// @tparam kExponent the bits that are all set in infinities and NaNs only.
template <class Word, Word kExponent>
bool have_finite_exponents(const void* elements, std::size_t count) {
  constexpr std::size_t kLanes = kVectorBytes / sizeof(Word);
  using V = Vector<Word, kLanes>;
  const V exponent = V{} + kExponent;
  decltype(exponent == exponent) found{};
  std::size_t i = 0;
  for (; count - i >= kLanes; i += kLanes)
    found |= (load_from<V>(elements, i * sizeof(Word)) & exponent) == exponent;
  bool is_found = false;
  for (std::size_t lane = 0; lane < kLanes; ++lane) is_found |= found[lane] != 0;
  for (; i < count; ++i)
    is_found |= (load_from<Word>(elements, i * sizeof(Word)) & kExponent) == kExponent;
  return !is_found;
}

bool are_finite(Datatype type, const void* elements, std::size_t count) {
  if (type == Datatype::f64)
    return have_finite_exponents<std::uint64_t, 0x7ff0000000000000>(elements, count);
  if (type == Datatype::f32)
    return have_finite_exponents<std::uint32_t, 0x7f800000>(elements, count);
  return type == Datatype::bf16 ? have_finite_exponents<std::uint16_t, 0x7f80>(elements, count)
                                : have_finite_exponents<std::uint16_t, 0x7c00>(elements, count);
}

template <class V>
V mixed(V hash, V word) {
  hash = (hash ^ word) * 0x9e3779b97f4a7c15;
  return hash ^ (hash >> 32);  // otherwise two flipped highest bits would cancel each other
}

void add_hash(const void* bytes, std::size_t count, std::uint64_t* hashes) {
  constexpr std::size_t kWordBytes = sizeof(std::uint64_t);
  constexpr std::size_t kGroup = kGradientLanes * kWordBytes;
  using V = Vector<std::uint64_t, kVectorBytes / kWordBytes>;
  constexpr std::size_t kVectors = kGroup / kVectorBytes;
  V partial[kVectors];
  for (std::size_t v = 0; v < kVectors; ++v) partial[v] = load_from<V>(hashes, v * sizeof(V));
  std::size_t i = 0;
  for (; count - i >= kGroup; i += kGroup)
    for (std::size_t v = 0; v < kVectors; ++v)
      partial[v] = mixed(partial[v], load_from<V>(bytes, i + v * sizeof(V)));
  for (std::size_t v = 0; v < kVectors; ++v) store_to(hashes, v * sizeof(V), partial[v]);
  for (std::size_t lane = 0; i < count; i += kWordBytes, ++lane) {
    const std::size_t left = count - i;
    std::uint64_t word = 0;
    __builtin_memcpy(&word, static_cast<const Bytes*>(bytes) + i,
                     left < kWordBytes ? left : kWordBytes);
    hashes[lane] = mixed(hashes[lane], word);
  }
}

template <class T>
void multiply_plain(void* array, std::size_t count, double factor) {
  auto* const elements = static_cast<T*>(array);
  for (std::size_t i = 0; i < count; ++i)
    elements[i] = static_cast<T>(static_cast<double>(elements[i]) * factor);
}

void multiply(Datatype type, void* elements, std::size_t count, double factor) {
  if (type == Datatype::f64) return multiply_plain<double>(elements, count, factor);
  if (type == Datatype::f32) return multiply_plain<float>(elements, count, factor);
  for_each_widened(type, elements, count, [&](float* wide, std::size_t first, std::size_t size) {
    multiply_plain<float>(wide, size, factor);
    shorten(type, wide, size, static_cast<Bytes*>(elements) + first * kHalfBytes);
  });
}

void add(const float* from, std::size_t count, float* __restrict to) {
  for (std::size_t i = 0; i < count; ++i) to[i] += from[i];
}

bool is_finite(float value) {
  return (__builtin_bit_cast(std::uint32_t, value) & 0x7f800000u) != 0x7f800000u;
}

void keep_errors(const float* wanted, const float* sent, std::size_t count,
                 float* __restrict errors) {
  for (std::size_t i = 0; i < count; ++i) {
    const float error = wanted[i] - sent[i];
    errors[i] = is_finite(error) ? error : 0;
  }
}

/// @return the sign of each lane as a bit, that of the first lane lowest.
unsigned signs_of(Words<kWordLanes> words) {
#if defined(__AVX512F__)
  return _mm512_movepi32_mask(__builtin_bit_cast(__m512i, words));
#elif defined(__AVX2__)
  return static_cast<unsigned>(_mm256_movemask_ps(__builtin_bit_cast(__m256, words)));
#elif defined(__SSE2__)
  return static_cast<unsigned>(_mm_movemask_ps(__builtin_bit_cast(__m128, words)));
#else
  unsigned signs = 0;
  for (std::size_t lane = 0; lane < kWordLanes; ++lane) signs |= words[lane] >> 31 << lane;
  return signs;
#endif
}

constexpr std::int32_t kInfinity = 0x7f800000;

std::int32_t magnitude_of(float element) {
  const auto bits = __builtin_bit_cast(std::int32_t, element) & 0x7fffffff;
  return bits < kInfinity ? bits : kInfinity;
}

/// Uses two sets of counters: neighbouring elements are often in one bin, whose counter would have
/// to be stored before it can be loaded again.
void count_magnitudes(const float* elements, std::size_t count, std::uint32_t* bins) {
  std::uint32_t others[tutti::kMagnitudeBins]{};
  const auto bin_of = [elements](std::size_t i) {
    return static_cast<std::size_t>(magnitude_of(elements[i])) >> tutti::kMagnitudeShift;
  };
  std::size_t i = 0;
  for (; count - i >= 2; i += 2) {
    ++bins[bin_of(i)];
    ++others[bin_of(i + 1)];
  }
  if (i < count) ++bins[bin_of(i)];
  for (std::size_t bin = 0; bin < tutti::kMagnitudeBins; ++bin) bins[bin] += others[bin];
}

std::size_t find_magnitudes(const float* elements, std::size_t count, std::uint32_t least,
                            std::uint32_t* indices) {
  using V = SignedWords<kWordLanes>;
  const V below = V{} + (static_cast<std::int32_t>(least) - 1);
  std::size_t found = 0;
  std::size_t i = 0;
  for (; count - i >= kWordLanes; i += kWordLanes) {
    // A NaN's bits are above those of infinity, so it is found wherever infinity is.
    const V bits = load_from<V>(elements, i * sizeof(float)) & 0x7fffffff;
    unsigned left = signs_of(__builtin_bit_cast(Words<kWordLanes>, bits > below));
    for (; left != 0; left &= left - 1)
      indices[found++] =
          static_cast<std::uint32_t>(i) + static_cast<std::uint32_t>(__builtin_ctz(left));
  }
  for (; i < count; ++i)
    if (magnitude_of(elements[i]) >= static_cast<std::int32_t>(least))
      indices[found++] = static_cast<std::uint32_t>(i);
  return found;
}

}  // namespace
