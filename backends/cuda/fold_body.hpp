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

/// Elements of one operand, or of the result, that a thread holds at a time.
template <class Element, std::size_t count>
struct Held {
  using Stored = typename Element::Stored;
  static constexpr std::size_t kBytes = count * sizeof(Stored);
  // One element lies where its parts may lie, several where all of them are one access.
  static constexpr std::size_t kAlignment = count == 1 ? alignof(Stored) : kBytes;
  constexpr void load(const std::byte* place, std::size_t first) {
    std::memcpy(elements, __builtin_assume_aligned(place + first * sizeof(Stored), kAlignment),
                kBytes);
  }
  constexpr void store(std::byte* place, std::size_t first) const {
    std::memcpy(__builtin_assume_aligned(place + first * sizeof(Stored), kAlignment), elements,
                kBytes);
  }
  Stored elements[count];
};

/// The part of one thread in a fold by one operator. Loads are batched, since memory answers late:
/// a thread waits once for all loads of a batch.
template <class Element, OperatorKind op, class Places>
struct Folder {
  using Value = typename Element::Value;
  using Stored = typename Element::Stored;
  static constexpr std::size_t kCount = kChunkBytes / sizeof(Stored);
  // Registers hold two operands of sixteen elements, and four of fewer.
  static constexpr std::uint32_t kBatch = kCount > 4 ? 2 : 4;

  const KernelWork& work;
  const Places& places;

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
    Held<Element, count> result;
    for (std::size_t i = 0; i < count; ++i) result.elements[i] = stored_of(values[i]);
#pragma unroll 1
    for (std::uint32_t i = 0; i < work.results; ++i) result.store(places[work.operands + i], first);
  }

  /// Folds `count` elements of any number of operands. @param first the number of the first one.
  template <std::size_t count>
  constexpr void fold_any(std::size_t first) const {
    Value values[count];
    const bool continues = work.carried_in != nullptr;
    for (std::size_t i = 0; i < count && continues; ++i)
      values[i] = static_cast<const Value*>(work.carried_in)[first + i];
#pragma unroll 1
    for (std::uint32_t begin = 0; begin < work.operands; begin += kBatch) {
      Held<Element, count> held[kBatch];
      for (std::uint32_t j = 0; j < kBatch; ++j)
        if (begin + j < work.operands) held[j].load(places[begin + j], first);
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

  /// Folds one or two chunks of two operands. @param one the number of the first element.
  /// @param other likewise of the second chunk. @param has_other whether there is one.
  constexpr void fold_two(std::size_t one, std::size_t other, bool has_other) const {
    Held<Element, kCount> held[4];
    for (std::uint32_t operand = 0; operand < 2; ++operand) {
      held[operand].load(places[operand], one);
      if (has_other) held[2 + operand].load(places[operand], other);
    }
    finish_two(held[0], held[1], one);
    if (has_other) finish_two(held[2], held[3], other);
  }
  constexpr void finish_two(const Held<Element, kCount>& left, const Held<Element, kCount>& right,
                            std::size_t first) const {
    Value values[kCount];
    for (std::size_t i = 0; i < kCount; ++i)
      values[i] = Element::template apply<op>(value_of(left.elements[i], 0),
                                              value_of(right.elements[i], 1));
    finish(values, first);
  }

  constexpr void run(std::size_t thread, std::size_t threads) const {
    const auto [head, chunks] =
        work.peers == 0 ? Chunks{work.head, work.chunks} : chunks_of(places, work, sizeof(Stored));
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

/// What one thread does of a fold. @param work see KernelWork; its operator is one that the element
/// has. @param places what place_of says of each. @param thread in [0, threads). @param threads how
/// many there are.
template <class Element, class Places>
constexpr void fold(const KernelWork& work, const Places& places, std::size_t thread,
                    std::size_t threads) {
  // Mostly an average is a sum that is divided.
  constexpr bool sums = !is_half<Element> && Element::has(OperatorKind::sum);
  const bool is_sum = sums && work.op == static_cast<std::uint32_t>(OperatorKind::average);
  const std::uint32_t wanted = is_sum ? static_cast<std::uint32_t>(OperatorKind::sum) : work.op;
  const auto is_by = [&]<std::size_t number>() {
    constexpr auto op = static_cast<OperatorKind>(number);
    if constexpr (Element::has(op) && !(sums && op == OperatorKind::average)) {
      if (wanted != number) return false;
      Folder<Element, op, Places>{work, places}.run(thread, threads);
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
