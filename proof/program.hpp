/// @file
/// A program: what one rank does for one segment of a collective, as operations over memory with
/// explicit dependencies. A schedule is lowered to it once per shape; it has no pointers, so it is
/// run at any buffers, and by several runs at a time.
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
  wait,     ///< Waits for a message that stays where its sender has it, if that memory is visible;
            ///< else it is received into the pieces.
  combine,  ///< Does its combinations.
  signal    ///< Releases the memory of the sender whose message was waited for.
};

/// The memory that an offset counts from.
enum class Base : std::uint8_t {
  in,       ///< The caller's input.
  out,      ///< The caller's output.
  held,     ///< Memory of the run: scratch, results for which the caller has no memory, stages.
  message,  ///< The bytes of a message: as they arrive, or in the sender's memory.
  result    ///< Where the sender of a message will receive what is made of it, if that is visible.
};

/// A place in memory.
struct Place {
  Base base = Base::in;
  /// In an average of f16 or bf16, this place holds a sum divided by two to this power.
  std::int8_t exponent = 0;
  std::uint32_t message = 0;  ///< Number of it, of the bases message and result.
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
  std::uint32_t results = 0;  ///< Places behind the operands, where the result is stored as well.
  std::size_t count = 0;      ///< Elements.
  bool finish = false;        ///< Averages are divided here.
};

/// No message.
inline constexpr std::uint32_t kNoMessage = ~std::uint32_t{0};

/// One operation.
struct Operation {
  OperationKind kind = OperationKind::combine;
  Rank peer = -1;                       ///< Of all but combine.
  std::uint32_t round = 0;              ///< Of the schedule.
  std::uint32_t first_piece = 0;        ///< Index into Program::pieces.
  std::uint32_t pieces = 0;             ///< Of a recv that combines they only give the bytes.
  std::uint32_t first_combination = 0;  ///< Index into Program::combinations. Those of a recv read
                                        ///< the message's bytes in their order.
  std::uint32_t combinations = 0;
  std::uint32_t first_next = 0;  ///< Index into Program::next; they end where those of the next
                                 ///< operation begin.
  /// Number among the sends, receives and waits of the program; of a signal, that of the wait.
  std::uint32_t message = kNoMessage;
};

/// Operations that may start when the same ones are done. They are beside each other: all messages,
/// or all combine and signal, one after the other.
struct Batch {
  std::uint32_t first = 0;          ///< Operation.
  std::uint32_t end = 0;            ///< Behind the last one.
  std::uint32_t first_message = 0;  ///< Of those that send and receive.
  std::uint32_t messages = 0;       ///< None of those that combine.
};

/// A message that is spared where both ranks see each other's memory: who combines what was sent
/// stores the result at the sender's too.
struct Forward {
  std::uint32_t sent = kNoMessage;    ///< Of a wait: the send of what is made of it.
  std::uint32_t spared = kNoMessage;  ///< Of a send: the recv whose place may be stored to.
  std::uint32_t ordinal = 0;          ///< Messages of this direction between the two before it.
};

/// What lowering makes of a schedule.
struct Program {
  std::vector<Operation> operations{};  ///< In an order that is itself legal; one more at the end,
                                        ///< where the last one's successors end.
  std::vector<Batch> batches{};
  std::vector<std::uint32_t> needs{};     ///< By batch: how many operations it comes after.
  std::vector<std::uint32_t> next{};      ///< Batches that come after an operation.
  std::vector<std::uint32_t> starts{};    ///< Batches that come after none.
  std::vector<std::uint32_t> messages{};  ///< By message: its operation.
  std::vector<PlacedPiece> pieces{};
  std::vector<Combination> combinations{};
  std::vector<Place> operands{};
  std::vector<Forward> forwards{};  ///< By message; none where no peer's memory is visible.
  std::size_t held_bytes = 0;
  std::uint32_t rounds = 0;

  /// @return how many operations there are.
  [[nodiscard]] std::uint32_t size() const noexcept {
    return static_cast<std::uint32_t>(operations.size() - 1);
  }
  /// @param operation an index. @return the batches that come after it.
  [[nodiscard]] std::span<const std::uint32_t> next_of(std::uint32_t operation) const noexcept {
    const std::uint32_t first = operations[operation].first_next;
    return std::span{next}.subspan(first, operations[operation + 1].first_next - first);
  }
  /// @param operation a send or recv. @return where its bytes lie.
  [[nodiscard]] std::span<const PlacedPiece> pieces_of(const Operation& operation) const noexcept {
    return std::span{pieces}.subspan(operation.first_piece, operation.pieces);
  }
  /// @param operation any. @return what it combines.
  [[nodiscard]] std::span<const Combination> combinations_of(
      const Operation& operation) const noexcept {
    return std::span{combinations}.subspan(operation.first_combination, operation.combinations);
  }
  /// @param combination any. @return its operands, in the order of evaluation.
  [[nodiscard]] std::span<const Place> operands_of(const Combination& combination) const noexcept {
    return std::span{operands}.subspan(combination.first_operand, combination.operands);
  }
  /// @param combination any. @return where its result is stored beside its destination.
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
