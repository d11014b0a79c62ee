/// @file
/// Messages under way: posted receives, messages that have begun to come, messages being sent.
#pragma once

#include <cstdint>
#include <vector>

#include "base/matching.hpp"
#include "buffers.hpp"
#include "frame.hpp"
#include "vectors.hpp"

namespace tutti::tcp {

using detail::Envelope;
using detail::Queue;

struct Link;
struct Port;

/// A posted receive.
struct Receive {
  Receive* next = nullptr;     ///< In the queue it is in.
  Transfer transfer{};         ///< As posted.
  std::uint64_t bytes = 0;     ///< Of its pieces.
  std::uint64_t received = 0;  ///< Of those.
  Cursor cursor{};             ///< Where the next bytes go, without a combiner.

  /// Readies a used one.
  void reset() noexcept { *this = {}; }
  [[nodiscard]] Envelope envelope() const noexcept {
    return {transfer.tag, transfer.fingerprint, bytes};
  }
  /// Stores or combines the next bytes. @param from no more than are to come. Throws what a
  /// combiner throws.
  void store(std::span<const std::byte> from);
};

/// A message that a peer has started, not yet complete or without a receive; or one to the own rank
/// without a receive.
struct Inbound {
  Inbound* next = nullptr;     ///< In the queue it is in.
  Link* link = nullptr;        ///< From where; null for one of the own rank.
  Port* port = nullptr;        ///< Null while its communicator has yet to be made.
  Header start{};              ///< Of the message or request.
  std::uint64_t received = 0;  ///< Bytes so far.
  std::uint64_t charge = 0;    ///< Credit that it holds.
  Buffer buffer{};             ///< Bytes that came before the receive.
  Receive* receive = nullptr;  ///< That it matches, once that is posted.
  std::span<const Piece> pieces{};  ///< Of the own rank: as its send was posted.
  std::uint64_t cookie = 0;         ///< Of the own rank: as its send was posted.

  /// Readies a used one.
  void reset() noexcept { *this = {}; }
  [[nodiscard]] Envelope envelope() const noexcept {
    return {start.tag, start.fingerprint, start.length};
  }
  /// @return whether frames of their own bring its bytes.
  [[nodiscard]] bool is_requested() const noexcept { return start.type == FrameType::request; }
};

/// A frame being sent, and the message it is of.
struct Outbound {
  Outbound* next = nullptr;       ///< In the queue it is in.
  Port* port = nullptr;           ///< Null for frames that belong to no communicator's message.
  Transfer transfer{};            ///< As posted.
  std::uint64_t bytes = 0;        ///< Of the message.
  std::uint64_t sent = 0;         ///< Of those, in frames that have left.
  std::uint64_t unasked = 0;      ///< That may leave before a grant.
  std::uint64_t charge = 0;       ///< Credit that it took.
  Cursor cursor{};                ///< The next byte to leave.
  Header header{};                ///< Of the frame.
  std::size_t header_left = 0;    ///< Of its bytes.
  std::uint64_t frame_left = 0;   ///< Of the payload's.
  bool sealed = false;            ///< Whether the header is complete.
  bool queued = false;            ///< Whether it is in its link's queue.
  bool granted = false;           ///< Whether the peer has asked for the rest.
  Piece rest_piece{};             ///< All of `rest`.
  std::vector<std::byte> rest{};  ///< Bytes that an abort copied, so that the stream stays whole.

  /// Readies a used one; keeps memory.
  void reset() noexcept;
  /// Completes the header. @param summed whether the payload gets a checksum.
  void seal_frame(bool summed);
  /// @return whether a part of the frame has left.
  [[nodiscard]] bool has_begun() const noexcept {
    return sealed && (header_left < sizeof(Header) || frame_left < header.payload());
  }
  /// Copies the rest of the frame and forgets the message.
  void detach();
};

}  // namespace tutti::tcp
