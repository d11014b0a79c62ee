/// @file
/// The bodies of kernels over one array, as functions of (thread, threads), like those of folds.
#pragma once

#include <bit>
#include <cstring>

#include <tutti/spi/stream_arrays.hpp>

#include "elements.hpp"
#include "kernel_work.hpp"

namespace tutti::v0::cuda {

/// Calls a function with the element type of a real datatype; of no other datatype.
template <class Function>
constexpr void with_real_element(Datatype type, Function function) {
  if (type == Datatype::f16) function(HalfElement<Float16>{});
  else if (type == Datatype::bf16) function(HalfElement<BFloat16>{});
  else if (type == Datatype::f32) function(RealElement<float>{});
  else if (type == Datatype::f64) function(RealElement<double>{});
}

/// @return whether 16 bytes can be loaded or stored at once from there on.
template <class T>
[[nodiscard]] constexpr bool is_chunk(const T* data) noexcept {
  return reinterpret_cast<std::uintptr_t>(data) % kChunkBytes == 0;
}

/// Converts `count` neighbouring elements; several only at addresses aligned to 16 bytes.
template <class From, class To, std::size_t count>
constexpr void convert_some(const Conversion& work, std::size_t first) {
  using In = typename From::Stored;
  using Out = typename To::Stored;
  constexpr std::size_t kFrom = count == 1 ? alignof(In) : kChunkBytes;
  constexpr std::size_t kTo = count == 1 ? alignof(Out) : kChunkBytes;
  In in[count];
  Out out[count];
  std::memcpy(in, __builtin_assume_aligned(work.from + first * sizeof(In), kFrom), sizeof in);
  for (std::size_t i = 0; i < count; ++i) {
    const double value = static_cast<double>(From::load(in[i])) * work.factor;
    out[i] = To::store(static_cast<typename To::Value>(value), 1);
  }
  std::memcpy(__builtin_assume_aligned(work.to + first * sizeof(Out), kTo), out, sizeof out);
}

/// As convert(), for two datatypes.
template <class From, class To>
constexpr void convert_elements(const Conversion& work, std::size_t thread, std::size_t threads) {
  constexpr std::size_t kShorter = sizeof(typename From::Stored) < sizeof(typename To::Stored)
                                       ? sizeof(typename From::Stored)
                                       : sizeof(typename To::Stored);
  constexpr std::size_t kCount = kChunkBytes / kShorter;
  const std::size_t groups = is_chunk(work.from) && is_chunk(work.to) ? work.count / kCount : 0;
  for (std::size_t group = thread; group < groups; group += threads)
    convert_some<From, To, kCount>(work, group * kCount);
  for (std::size_t i = groups * kCount + thread; i < work.count; i += threads)
    convert_some<From, To, 1>(work, i);
}

/// Runs one thread's share of a conversion. @param thread in [0, threads).
constexpr void convert(const Conversion& work, std::size_t thread, std::size_t threads) {
  with_real_element(work.from_type, [&](auto from) {
    with_real_element(work.to_type, [&](auto to) {
      convert_elements<decltype(from), decltype(to)>(work, thread, threads);
    });
  });
}

/// @return a hash of an element, which differs between any two values at one index (SplitMix64:
/// Steele, Lea, Flood, OOPSLA 2014).
[[nodiscard]] constexpr std::uint64_t hash_of_element(std::size_t index, std::uint64_t bits,
                                                      std::uint64_t seed) noexcept {
  std::uint64_t x = (seed + (index + 1) * 0x9e3779b97f4a7c15) ^ bits;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

/// As inspect(), for one element type. Few threads run, so each has several pending loads; it reads
/// the elements in their order.
template <class Element, bool with_hash>
constexpr void inspect_elements(const Inspection& work, std::size_t thread, std::size_t threads) {
  using Stored = typename Element::Stored;
  Inspected seen = work.sums[thread];
  const auto look = [&](std::size_t index, Stored stored) {
    const auto value = static_cast<double>(Element::load(stored));
    seen.squares += value * value;
    if (!(value - value == 0)) ++seen.not_finite;
    if constexpr (!with_hash) return;
    using Word = std::conditional_t<
        sizeof(Stored) == 8, std::uint64_t,
        std::conditional_t<sizeof(Stored) == 4, std::uint32_t,
                           std::conditional_t<sizeof(Stored) == 2, std::uint16_t, std::uint8_t>>>;
    seen.hash += hash_of_element(index, std::bit_cast<Word>(stored), work.seed);
  };
  constexpr std::size_t kCount = kChunkBytes / sizeof(Stored);
  constexpr std::size_t kBatch = 4;
  const std::size_t chunks = is_chunk(work.data) ? work.count / kCount : 0;
#pragma unroll 1
  for (std::size_t first = thread; first < chunks; first += kBatch * threads) {
    Stored stored[kBatch][kCount];
    for (std::size_t j = 0; j < kBatch; ++j)
      if (const std::size_t chunk = first + j * threads; chunk < chunks)
        std::memcpy(stored[j],
                    __builtin_assume_aligned(work.data + chunk * kChunkBytes, kChunkBytes),
                    kChunkBytes);
    for (std::size_t j = 0; j < kBatch; ++j)
      if (const std::size_t chunk = first + j * threads; chunk < chunks)
        for (std::size_t i = 0; i < kCount; ++i) look(chunk * kCount + i, stored[j][i]);
  }
  for (std::size_t i = chunks * kCount + thread; i < work.count; i += threads) {
    Stored stored;
    std::memcpy(&stored, __builtin_assume_aligned(work.data + i * sizeof stored, alignof(Stored)),
                sizeof stored);
    look(i, stored);
  }
  work.sums[thread] = seen;
}

/// Runs one thread's share of an inspection. @param thread in [0, threads). @param threads
/// kInspectors, or fewer.
constexpr void inspect(const Inspection& work, std::size_t thread, std::size_t threads) {
  const auto run = [&](auto element) {
    using Element = decltype(element);
    if (work.with_hash) inspect_elements<Element, true>(work, thread, threads);
    else inspect_elements<Element, false>(work, thread, threads);
  };
  if (work.type == Datatype::u8) run(IntegerElement<std::uint8_t>{});
  else with_real_element(work.type, run);
}

}  // namespace tutti::v0::cuda
