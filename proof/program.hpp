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

namespace tutti::inline v0::detail {

/// What an operation does.
enum class Verb : std::uint8_t {
  send,    ///< Sends its pieces.
  recv,    ///< Receives its pieces, or combines what comes while it comes, if it has combinations.
  combine  ///< Does its combinations.
};

/// Which memory an offset counts from.
enum class Base : std::uint8_t {
  in,       ///< The caller's input.
  out,      ///< The caller's output.
  held,     ///< Memory of the run: scratch, results for which the caller has no memory, stages.
  arriving  ///< The bytes of the message that is being received.
};

/// A place in memory.
struct Place {
  Base base = Base::in;
  std::size_t offset = 0;  ///< Bytes.
  /// Equality of all members.
  friend bool operator==(const Place&, const Place&) = default;
};

/// Contiguous bytes of a message.
struct PlacedPiece {
  Place place{};
  std::size_t bytes = 0;
};

/// One contiguous reduction or copy: destination = operand op operand op ..., from left to right,
/// rounded once.
struct Combination {
  Place destination{};              ///< May be one of the operands.
  std::uint32_t first_operand = 0;  ///< Index into Program::operands.
  std::uint32_t operands = 0;       ///< One is a copy.
  std::size_t count = 0;            ///< Elements.
  bool finish = false;              ///< Averages are divided here.
};

/// No message.
inline constexpr std::uint32_t kNoMessage = ~std::uint32_t{0};

/// One operation.
struct Operation {
  Verb verb = Verb::combine;
  Rank peer = -1;                       ///< Of send and recv.
  std::uint32_t round = 0;              ///< Of the schedule.
  std::uint32_t first_piece = 0;        ///< Index into Program::pieces.
  std::uint32_t pieces = 0;             ///< Of a recv that combines they tell the bytes only.
  std::uint32_t first_combination = 0;  ///< Index into Program::combinations. Those of a recv take
                                        ///< the message's bytes in their order.
  std::uint32_t combinations = 0;
  std::uint32_t first_next = 0;  ///< Index into Program::next; they end where those of the next
                                 ///< operation begin.
  std::uint32_t message = kNoMessage;  ///< Number among the sends and receives of the program.
};

/// Operations that may start when the same ones are done. They are beside each other, and all
/// messages or all combine.
struct Batch {
  std::uint32_t first = 0;          ///< Operation.
  std::uint32_t end = 0;            ///< Behind the last one.
  std::uint32_t first_message = 0;  ///< Of those that send and receive.
  std::uint32_t messages = 0;       ///< None of those that combine.
  bool is_uniform = false;          ///< Whether the same batches come after each of them.
};

/// Where a message may be spared: between ranks that see each other's memory the receiver combines
/// what the sender has, and stores the result there too, in place of a message of the next round.
struct Shortcut {
  std::uint32_t relay = kNoMessage;  ///< Of a recv: the send that answers it, if one does. Then its
                                     ///< bytes may stay where the sender has them.
  std::uint32_t reply = kNoMessage;  ///< Of a send: the recv of the next round into whose place the
                                     ///< peer may write once it has this.
  std::uint32_t answers = kNoMessage;  ///< Of a send: the recv of the round before whose combined
                                       ///< result is all that it sends back.
  std::uint32_t turn = 0;  ///< Messages between the two ranks in this direction before it.
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
  std::vector<Shortcut> shortcuts{};  ///< By message; none where no peer's memory is seen.
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
  /// @return bytes the arrays hold.
  [[nodiscard]] std::size_t footprint() const noexcept {
    return batches.capacity() * sizeof(Batch) + operations.capacity() * sizeof(Operation) +
           pieces.capacity() * sizeof(PlacedPiece) +
           (needs.capacity() + next.capacity() + starts.capacity() + messages.capacity()) *
               sizeof(std::uint32_t) +
           combinations.capacity() * sizeof(Combination) + operands.capacity() * sizeof(Place) +
           shortcuts.capacity() * sizeof(Shortcut);
  }
};

}  // namespace tutti::inline v0::detail
