/// @file
/// The body of every kernel, as a function of (thread, threads): device code runs it on a GPU, and
/// tests run it for all threads on the host.
#pragma once

#include <cstddef>
#include <cstring>

#include "elements.hpp"
#include "kernel_work.hpp"

namespace tutti::v0::cuda {

template <class Element>
inline constexpr bool is_half = false;
template <class T>
inline constexpr bool is_half<HalfElement<T>> = true;

/// Elements that are loaded and stored at once.
template <class Element, std::size_t count>
struct alignas(count * sizeof(typename Element::Stored)) ChunkOf {
  typename Element::Stored elements[count];
};

/// Folds `count` elements from one on, all of which a thread holds at a time.
/// @param first the number of the first element.
template <class Element, OperatorKind op, std::size_t count>
constexpr void fold_some(const KernelWork& work, std::size_t first) {
  using Stored = typename Element::Stored;
  constexpr bool kMayBeScaled = op == OperatorKind::average && is_half<Element>;
  constexpr std::size_t kBytes = count * sizeof(Stored);
  // One element lies where its parts may lie, several where all of them are one access.
  constexpr std::size_t kAlignment = count == 1 ? alignof(Stored) : kBytes;
  const auto address = [&](std::size_t index) {
    return static_cast<std::byte*>(place_of(work, index)) + first * sizeof(Stored);
  };
  Stored stored[count];
  typename Element::Value values[count];
  for (std::uint32_t operand = 0; operand < work.operands; ++operand) {
    std::memcpy(stored, __builtin_assume_aligned(address(operand), kAlignment), kBytes);
    for (std::size_t i = 0; i < count; ++i) {
      auto value = Element::load(stored[i]);
      if constexpr (kMayBeScaled)
        if (work.has_exponents) value *= power_of_two(exponent_of(work, operand) - 1);
      values[i] = operand == 0 ? value : Element::template apply<op>(values[i], value);
    }
  }
  for (std::size_t i = 0; i < count; ++i) {
    if constexpr (kMayBeScaled)
      if (work.has_exponents) {
        stored[i] = Element::store_average(values[i], work.divisor, work.divisor_exponent);
        continue;
      }
    stored[i] = Element::store(values[i], work.divisor);
  }
  for (std::uint32_t result = 0; result < work.results; ++result)
    std::memcpy(__builtin_assume_aligned(address(work.operands + result), kAlignment), stored,
                kBytes);
}

/// As fold, of one operator.
template <class Element, OperatorKind op>
constexpr void fold_by(const KernelWork& work, std::size_t thread, std::size_t threads) {
  if constexpr (Element::has(op)) {
    constexpr std::size_t kCount = kChunkBytes / sizeof(typename Element::Stored);
    const auto [head, chunks] = work.peers == 0 ? Chunks{work.head, work.chunks}
                                                : chunks_of(work, sizeof(typename Element::Stored));
    for (std::size_t chunk = thread; chunk < chunks; chunk += threads)
      fold_some<Element, op, kCount>(work, head + chunk * kCount);
    const std::size_t in_chunks = chunks * kCount;
    for (std::size_t rest = thread; rest < work.count - in_chunks; rest += threads)
      fold_some<Element, op, 1>(work, rest < head ? rest : rest + in_chunks);
  }
}

/// What one thread does of a fold. @param work see KernelWork; its operator is one that the element
/// has. @param thread in [0, threads). @param threads how many there are.
template <class Element>
constexpr void fold(const KernelWork& work, std::size_t thread, std::size_t threads) {
  using enum OperatorKind;
  switch (static_cast<OperatorKind>(work.op)) {
    case sum: return fold_by<Element, sum>(work, thread, threads);
    case prod: return fold_by<Element, prod>(work, thread, threads);
    case min: return fold_by<Element, min>(work, thread, threads);
    case max: return fold_by<Element, max>(work, thread, threads);
    case min_loc: return fold_by<Element, min_loc>(work, thread, threads);
    case max_loc: return fold_by<Element, max_loc>(work, thread, threads);
    case logical_and: return fold_by<Element, logical_and>(work, thread, threads);
    case logical_or: return fold_by<Element, logical_or>(work, thread, threads);
    case logical_xor: return fold_by<Element, logical_xor>(work, thread, threads);
    case bit_and: return fold_by<Element, bit_and>(work, thread, threads);
    case bit_or: return fold_by<Element, bit_or>(work, thread, threads);
    case bit_xor: return fold_by<Element, bit_xor>(work, thread, threads);
    case average: return fold_by<Element, average>(work, thread, threads);
    case user: return;
  }
}

}  // namespace tutti::v0::cuda
