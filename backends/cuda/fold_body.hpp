/// @file
/// The body of every fold's kernel, as a function of (thread, threads): device code runs it on a
/// GPU, and tests run it for all threads on the host.
#pragma once

#include <cstddef>
#include <cstring>
#include <utility>

#include "elements.hpp"
#include "kernel_work.hpp"

namespace tutti::v0::cuda {

template <class Element>
inline constexpr bool is_half = false;
template <class T>
inline constexpr bool is_half<HalfElement<T>> = true;

/// Neighbouring elements of one operand, or of the result, which a thread loads or stores at once.
template <class Element, std::size_t count>
struct Block {
  using Stored = typename Element::Stored;
  static constexpr std::size_t kBytes = count * sizeof(Stored);
  // A single element has its natural alignment; several are aligned to the whole access.
  static constexpr std::size_t kAlignment = count == 1 ? alignof(Stored) : kBytes;
  constexpr void load(const std::byte* data, std::size_t first) {
    std::memcpy(elements, __builtin_assume_aligned(data + first * sizeof(Stored), kAlignment),
                kBytes);
  }
  constexpr void store(std::byte* data, std::size_t first) const {
    std::memcpy(__builtin_assume_aligned(data + first * sizeof(Stored), kAlignment), elements,
                kBytes);
  }
  Stored elements[count];
};

/// One thread's share of a fold by one operator. A thread waits once for all loads of a batch,
/// which hides the latency of memory.
template <class Element, OperatorKind op, class Addresses>
struct Folder {
  using Value = typename Element::Value;
  using Stored = typename Element::Stored;
  static constexpr std::size_t kCount = kChunkBytes / sizeof(Stored);
  // Registers hold two operands of sixteen elements, and four of fewer.
  static constexpr std::uint32_t kBatch = kCount > 4 ? 2 : 4;

  const KernelWork& work;
  const Addresses& addresses;

  constexpr Value value_of(const Stored& stored, std::uint32_t operand) const {
    auto value = Element::load(stored);
    if constexpr (op == OperatorKind::average && is_half<Element>)
      if (work.has_exponents) value *= power_of_two(work.exponents[operand] - 1);
    return value;
  }
  constexpr Stored stored_of(const Value& value) const {
    if constexpr (op == OperatorKind::average && is_half<Element>)
      if (work.has_exponents)
        return Element::store_average(value, work.divisor, work.divisor_exponent);
    return Element::store(value, work.divisor);
  }
  template <std::size_t count>
  constexpr void finish(const Value (&values)[count], std::size_t first) const {
    Block<Element, count> result;
    for (std::size_t i = 0; i < count; ++i) result.elements[i] = stored_of(values[i]);
#pragma unroll 1
    for (std::uint32_t i = 0; i < work.results; ++i)
      result.store(addresses[work.operands + i], first);
  }

  /// Folds `count` elements of any number of operands. @param first index of the first element.
  template <std::size_t count>
  constexpr void fold_any(std::size_t first) const {
    Value values[count];
    const bool continues = work.carried_in != nullptr;
    for (std::size_t i = 0; i < count && continues; ++i)
      values[i] = static_cast<const Value*>(work.carried_in)[first + i];
#pragma unroll 1
    for (std::uint32_t begin = 0; begin < work.operands; begin += kBatch) {
      Block<Element, count> held[kBatch];
      for (std::uint32_t j = 0; j < kBatch; ++j)
        if (begin + j < work.operands) held[j].load(addresses[begin + j], first);
      for (std::uint32_t j = 0; j < kBatch; ++j) {
        if (begin + j >= work.operands) break;
        const bool starts = j == 0 && begin == 0 && !continues;
        for (std::size_t i = 0; i < count; ++i) {
          const Value value = value_of(held[j].elements[i], begin + j);
          values[i] = starts ? value : Element::template apply<op>(values[i], value);
        }
      }
    }
    if (work.carried_out == nullptr) return finish(values, first);
    for (std::size_t i = 0; i < count; ++i)
      static_cast<Value*>(work.carried_out)[first + i] = values[i];
  }

  /// Folds one or two chunks of two operands. @param one index of the first chunk's first element.
  /// @param other index of the second chunk's first element, if there is one.
  constexpr void fold_two(std::size_t one, std::size_t other, bool has_other) const {
    Block<Element, kCount> held[4];
    for (std::uint32_t operand = 0; operand < 2; ++operand) {
      held[operand].load(addresses[operand], one);
      if (has_other) held[2 + operand].load(addresses[operand], other);
    }
    finish_two(held[0], held[1], one);
    if (has_other) finish_two(held[2], held[3], other);
  }
  constexpr void finish_two(const Block<Element, kCount>& left, const Block<Element, kCount>& right,
                            std::size_t first) const {
    Value values[kCount];
    for (std::size_t i = 0; i < kCount; ++i)
      values[i] = Element::template apply<op>(value_of(left.elements[i], 0),
                                              value_of(right.elements[i], 1));
    finish(values, first);
  }

  constexpr void run(std::size_t thread, std::size_t threads) const {
    const auto [head, chunks] = work.peers == 0 ? Chunks{work.head, work.chunks}
                                                : chunks_of(addresses, work, sizeof(Stored));
    if (work.operands == 2 && work.carried_in == nullptr && work.carried_out == nullptr)
#pragma unroll 1
      for (std::size_t chunk = thread; chunk < chunks; chunk += 2 * threads)
        fold_two(head + chunk * kCount, head + (chunk + threads) * kCount,
                 chunk + threads < chunks);
    else
#pragma unroll 1
      for (std::size_t chunk = thread; chunk < chunks; chunk += threads)
        fold_any<kCount>(head + chunk * kCount);
    const std::size_t in_chunks = chunks * kCount;
#pragma unroll 1
    for (std::size_t rest = thread; rest < work.count - in_chunks; rest += threads)
      fold_any<1>(rest < head ? rest : rest + in_chunks);
  }
};

/// Runs one thread's share of a fold. @param work with an operator that the element has. @param
/// addresses as address_at of each index. @param thread in [0, threads).
template <class Element, class Addresses>
constexpr void fold(const KernelWork& work, const Addresses& addresses, std::size_t thread,
                    std::size_t threads) {
  // For most element types an average is a divided sum.
  constexpr bool sums = !is_half<Element> && Element::has(OperatorKind::sum);
  const bool is_sum = sums && work.op == static_cast<std::uint32_t>(OperatorKind::average);
  const std::uint32_t wanted = is_sum ? static_cast<std::uint32_t>(OperatorKind::sum) : work.op;
  const auto is_by = [&]<std::size_t number>() {
    constexpr auto op = static_cast<OperatorKind>(number);
    if constexpr (Element::has(op) && !(sums && op == OperatorKind::average)) {
      if (wanted != number) return false;
      Folder<Element, op, Addresses>{work, addresses}.run(thread, threads);
      return true;
    }
    return false;
  };
  [&]<std::size_t... number>(std::index_sequence<number...>) {
    static_cast<void>((is_by.template operator()<number>() || ...));
  }
  (std::make_index_sequence<kOperatorKinds>{});
}

}  // namespace tutti::v0::cuda
