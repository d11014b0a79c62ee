/// @file
/// A schedule bound to buffers: which runs of which memory each message and each fold touches.
/// Binding has two passes. `bind` looks at the schedule alone and decides what is staged, what a
/// first touch reads, and which slots need memory of our own. `resolve` turns the runs of units
/// into offsets for one segment. Neither holds a pointer, so both are reused from call to call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <tutti/spi/schedule.hpp>

#include "layout.hpp"

namespace tutti::inline v0::detail {

/// Which memory an offset counts from.
enum class Base : std::uint8_t {
  in,      ///< The caller's input.
  out,     ///< The caller's output.
  held,    ///< Ours, kept over rounds: scratch, and results the caller has no memory for.
  staging  ///< Ours, for one round: what arrives before it may be reduced or stored.
};

/// A run of consecutive units in one memory.
struct Run {
  Base base = Base::in;
  std::uint32_t first = 0;  ///< First unit, which tells sizes.
  std::uint32_t count = 1;  ///< How many units.
  std::uint32_t place = 0;  ///< Of held: index of the first held slot. Of staging: the stage.
};

/// When the bytes of a received message may be folded as they come, instead of being staged: where
/// nothing else in the round touches what those folds write, nor writes what they read.
enum class Fusing : std::uint8_t {
  never,
  apart,  ///< If the caller's input and output are different memory.
  always
};

/// No message, or no fold.
inline constexpr std::uint32_t kNoMessage = ~std::uint32_t{0};

/// How a message may be spared the way through a transport, where both ranks see the memory: it is
/// folded where it lies, and the result is stored at its sender's as well, in place of a message of
/// the next round. Indices are of messages and folds, bound or resolved.
struct Shortcut {
  /// Of a receive that may be fused: the one fold that has all its bytes as an operand, and whose
  /// result goes back in the next round,
  std::uint32_t fold = kNoMessage;
  std::uint32_t operand = 0;  ///< and which operand they are.
  /// Of a send: the receive of the next round whose place the peer may write once it has this.
  std::uint32_t reply = kNoMessage;
  Fusing replying = Fusing::never;  ///< When it may.
  /// How many messages the rank and its peer exchange this way before it.
  std::uint32_t turn = 0;
  /// Of a send: the fold of the round before whose result is all that it sends,
  std::uint32_t relays = kNoMessage;
  /// and the receive of that round from the same peer, to which this is the reply.
  std::uint32_t answers = kNoMessage;
};

/// One message of a round.
struct BoundMessage {
  Rank peer;
  bool is_send;
  std::uint32_t first_run;  ///< Index into Program::runs.
  std::uint32_t runs;
  Fusing fusing = Fusing::never;
  Shortcut shortcut{};
};

/// A fold or a copy at the end of a round; operands in the order of evaluation.
struct BoundFold {
  Run destination;
  std::uint32_t first_operand;  ///< Index into Program::runs.
  std::uint32_t operands;       ///< One is a copy, void if both are one place.
  bool finish;                  ///< Averages are divided here.
  /// Index of the message that may be fused with this and with the folds beside it that name it,
  /// which take its bytes in their order.
  std::uint32_t message = kNoMessage;
};

/// End positions of one round in the flat arrays.
struct BoundRound {
  std::uint32_t messages;
  std::uint32_t folds;
  std::uint32_t stages;
};

/// What `bind` makes of a schedule.
struct Program {
  std::uint32_t units = 1;
  std::uint32_t parts = 1;
  /// Whether messages without any bytes are sent too: where a peer cannot know that there are none.
  bool sends_empty = false;
  std::vector<BoundRound> rounds{};
  std::vector<BoundMessage> messages{};
  std::vector<BoundFold> folds{};
  std::vector<BoundFold>
      results{};  ///< Copies that nothing waits for, and that may be at any time.
  std::vector<Run> runs{};
  std::vector<Run> stages{};  ///< Units of each staged run.
  std::vector<std::uint32_t>
      held{};  ///< Slots with memory of ours, sorted: unit, or units + scratch slot.

  /// @return bytes the arrays hold.
  [[nodiscard]] std::size_t footprint() const noexcept;
};

/// @param schedule of the layout's rank. @param layout which blocks the caller has memory for.
/// @return the bound schedule. Throws Error{bug} if the schedule breaks the rules of schedule.hpp.
[[nodiscard]] Program bind(const Schedule& schedule, const Layout& layout);

/// The last step of bind: finds the messages that may be fused with their folds, and puts the folds
/// of each together. @param program what binding has made of the schedule.
void fuse(Program& program);

/// Whether two runs share memory, where the caller's input and output may be one.
enum class Overlap : std::uint8_t { none, in_place, always };
/// @return how two runs of one rank overlap.
[[nodiscard]] Overlap overlap_of(const Run& a, const Run& b) noexcept;

/// After fuse: finds the shortcuts. @param program what binding has made of the schedule.
void find_shortcuts(Program& program);

/// A contiguous run of bytes, or of elements, in one memory.
struct Place {
  Base base = Base::in;
  std::size_t offset = 0;  ///< Bytes.
};

/// A contiguous piece of a message.
struct ResolvedPiece {
  Place place;
  std::size_t bytes;
};

/// A message of one segment.
struct ResolvedMessage {
  Rank peer;
  bool is_send;
  std::uint32_t first_piece;
  std::uint32_t pieces;
  Fusing fusing;
  std::uint32_t first_fold;  ///< Of those it may be fused with; they tile its bytes.
  std::uint32_t folds;
  Shortcut shortcut{};
};

/// A contiguous fold of one segment.
struct ResolvedFold {
  Place destination;
  std::uint32_t first_operand;
  std::uint32_t operands;
  bool finish;
  std::size_t count;      ///< Elements.
  std::uint32_t message;  ///< As BoundFold::message, of the resolved messages.
};

/// What `resolve` makes of a program: flat arrays, emptied and filled again per segment.
struct Resolved {
  struct Round {
    std::uint32_t messages;  ///< One past the last.
    std::uint32_t folds;     ///< One past the last.
  };
  std::vector<Round> rounds{};
  std::vector<ResolvedMessage> messages{};
  std::vector<ResolvedPiece> pieces{};
  std::vector<ResolvedFold> folds{};  ///< Those of the rounds, then Program::results.
  std::vector<Place> operands{};
  std::vector<std::size_t> held_offsets{};
  std::vector<std::size_t> stage_offsets{};
  std::vector<std::size_t> cursors{};            ///< Of the fold being resolved.
  std::vector<std::uint32_t> message_indices{};  ///< Of each bound message, the resolved one.
  std::vector<std::uint32_t> fold_indices{};     ///< Of each bound fold, if it is one resolved one.
  std::size_t held_bytes = 0;                    ///< Size of the held memory of this segment.
  std::size_t staging_bytes = 0;                 ///< Of the round that stages most.

  /// @return bytes the arrays hold.
  [[nodiscard]] std::size_t footprint() const noexcept;
};

/// Which segment of how many; a segment is the same fraction of every block.
struct Segment {
  std::size_t index = 0;
  std::size_t count = 1;
};

/// @param program what bind made. @param layout the same as then. @param segment which one.
/// @param element_bytes size of an element. @param resolved filled; its memory is reused.
void resolve(const Program& program, const Layout& layout, Segment segment,
             std::size_t element_bytes, Resolved& resolved);

}  // namespace tutti::inline v0::detail
