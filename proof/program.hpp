/// @file
/// A program: the operations of one rank for one segment of a collective, over memory and with
/// explicit dependencies. A schedule is lowered to it once per shape. It has no pointers, so it
/// runs on any buffers, and in several runs at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <tutti/types.hpp>

namespace tutti::v0::detail {

/// The kind of an operation.
enum class OperationKind : std::uint8_t {
  send,     ///< Sends its pieces.
  recv,     ///< Receives its pieces; with combinations, combines the bytes as they arrive.
  wait,     ///< Waits for a message that stays in its sender's memory, if that is visible; else
            ///< receives it into the pieces.
  combine,  ///< Runs its combinations.
  signal    ///< Releases the memory of the sender whose message was waited for.
};

/// The memory that an offset counts from.
enum class Base : std::uint8_t {
  in,       ///< The caller's input.
  out,      ///< The caller's output.
  held,     ///< Memory of the run: scratch, results for which the caller has no memory, stages.
  message,  ///< The bytes of a message: as they arrive, or in the sender's memory.
  result    ///< The place where the sender of a message receives its result, if visible.
};

/// A place in memory.
struct Place {
  Base base = Base::in;
  /// In an average of f16 or bf16, this place holds a sum divided by two to this power.
  std::int8_t exponent = 0;
  std::uint32_t message = 0;  ///< Number of the message, for the bases message and result.
  std::size_t offset = 0;     ///< Bytes.
  /// Equality of all members but the exponent.
  friend bool operator==(const Place& a, const Place& b) noexcept {
    return a.base == b.base && a.message == b.message && a.offset == b.offset;
  }
};

/// Contiguous bytes of a message.
struct PlacedPiece {
  Place place{};
  std::size_t bytes = 0;
};

/// One contiguous reduction or copy: destination = operand op operand op ..., from left to right,
/// rounded once. Operands and destination may have different exponents.
struct Combination {
  Place destination{};              ///< May be one of the operands.
  std::uint32_t first_operand = 0;  ///< Index into Program::operands.
  std::uint32_t operands = 0;       ///< One is a copy.
  std::uint32_t results = 0;        ///< Further places of the result; they follow the operands.
  std::size_t count = 0;            ///< Elements.
  bool finish = false;              ///< Averages are divided here.
};

/// No message.
inline constexpr std::uint32_t kNoMessage = ~std::uint32_t{0};

/// One operation.
struct Operation {
  OperationKind kind = OperationKind::combine;
  Rank peer = -1;                       ///< For all kinds but combine.
  std::uint32_t round = 0;              ///< The round of the schedule.
  std::uint32_t first_piece = 0;        ///< Index into Program::pieces.
  std::uint32_t pieces = 0;             ///< For a recv that combines, only their bytes count.
  std::uint32_t first_combination = 0;  ///< Index into Program::combinations. Those of a recv read
                                        ///< the message's bytes in their order.
  std::uint32_t combinations = 0;
  std::uint32_t first_next = 0;  ///< Index into Program::next; they end where those of the next
                                 ///< operation begin.
  /// Number among the sends, receives and waits of the program; of a signal, that of the wait.
  std::uint32_t message = kNoMessage;
};

/// Operations with the same dependencies, at consecutive indices. Either all are messages, or all
/// are combine and signal, which run one after the other.
struct Batch {
  std::uint32_t first = 0;          ///< Operation.
  std::uint32_t end = 0;            ///< One past the last one.
  std::uint32_t first_message = 0;  ///< Number of the first message, if they are messages.
  std::uint32_t messages = 0;       ///< Number of messages; 0 if they combine.
};

/// A message that is spared if both ranks see each other's memory: the rank that combines what was
/// sent stores the result in the sender's memory too.
struct Forward {
  std::uint32_t sent = kNoMessage;    ///< For a wait, the send of its result.
  std::uint32_t spared = kNoMessage;  ///< For a send, the recv whose place may be stored to.
  std::uint32_t ordinal = 0;          ///< Earlier messages in this direction between the two.
};

/// The result of lowering a schedule.
struct Program {
  /// In an order in which they may run. One more at the end ends the last one's successors.
  std::vector<Operation> operations{};
  std::vector<Batch> batches{};
  std::vector<std::uint32_t> needs{};     ///< By batch: number of operations it depends on.
  std::vector<std::uint32_t> next{};      ///< Batches that depend on an operation.
  std::vector<std::uint32_t> starts{};    ///< Batches without dependencies.
  std::vector<std::uint32_t> messages{};  ///< By message: its operation.
  std::vector<PlacedPiece> pieces{};
  std::vector<Combination> combinations{};
  std::vector<Place> operands{};
  std::vector<Forward> forwards{};  ///< By message; empty if no peer's memory is visible.
  std::size_t held_bytes = 0;
  std::uint32_t rounds = 0;

  /// @return the number of operations.
  [[nodiscard]] std::uint32_t size() const noexcept {
    return static_cast<std::uint32_t>(operations.size() - 1);
  }
  /// @param operation an index. @return the batches that depend on it.
  [[nodiscard]] std::span<const std::uint32_t> next_of(std::uint32_t operation) const noexcept {
    const std::uint32_t first = operations[operation].first_next;
    return std::span{next}.subspan(first, operations[operation + 1].first_next - first);
  }
  /// @param operation a send or recv. @return the places of its bytes.
  [[nodiscard]] std::span<const PlacedPiece> pieces_of(const Operation& operation) const noexcept {
    return std::span{pieces}.subspan(operation.first_piece, operation.pieces);
  }
  /// @return the combinations of an operation.
  [[nodiscard]] std::span<const Combination> combinations_of(
      const Operation& operation) const noexcept {
    return std::span{combinations}.subspan(operation.first_combination, operation.combinations);
  }
  /// @return the operands of a combination, in the order of evaluation.
  [[nodiscard]] std::span<const Place> operands_of(const Combination& combination) const noexcept {
    return std::span{operands}.subspan(combination.first_operand, combination.operands);
  }
  /// @return the places besides its destination where the result of a combination is stored.
  [[nodiscard]] std::span<const Place> results_of(const Combination& combination) const noexcept {
    return std::span{operands}.subspan(combination.first_operand + combination.operands,
                                       combination.results);
  }
  /// @return bytes the arrays hold.
  [[nodiscard]] std::size_t footprint() const noexcept {
    return batches.capacity() * sizeof(Batch) + operations.capacity() * sizeof(Operation) +
           pieces.capacity() * sizeof(PlacedPiece) +
           (needs.capacity() + next.capacity() + starts.capacity() + messages.capacity()) *
               sizeof(std::uint32_t) +
           combinations.capacity() * sizeof(Combination) + operands.capacity() * sizeof(Place) +
           forwards.capacity() * sizeof(Forward);
  }
};

}  // namespace tutti::v0::detail
