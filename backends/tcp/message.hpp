/// @file
/// Pending messages: posted receives, messages that have begun to arrive, messages being sent.
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
  Receive* next = nullptr;     ///< The next one in its queue.
  Transfer transfer{};         ///< As posted.
  std::uint64_t bytes = 0;     ///< Bytes of its pieces.
  std::uint64_t received = 0;  ///< Bytes received so far.
  Cursor cursor{};             ///< The place of the next bytes, without a combiner.

  /// Prepares it for reuse.
  void reset() noexcept { *this = {}; }
  [[nodiscard]] Envelope envelope() const noexcept {
    return {transfer.tag, transfer.fingerprint, bytes, transfer.accepts_shorter};
  }
  /// Stores or combines the next bytes. @param from at most the bytes that are missing. Throws as
  /// the combiner.
  void store(std::span<const std::byte> from);
};

/// A message of a peer that is not complete or has no receive, or a message to the own rank without
/// a receive.
struct Inbound {
  Inbound* next = nullptr;          ///< The next one in its queue.
  Link* link = nullptr;             ///< The link of its sender; null for the own rank.
  Port* port = nullptr;             ///< Null while its communicator does not exist here yet.
  Header start{};                   ///< The header of the message or request.
  std::uint64_t received = 0;       ///< Bytes so far.
  std::uint64_t charge = 0;         ///< Credit that it holds.
  Buffer buffer{};                  ///< Bytes that came before the receive.
  Receive* receive = nullptr;       ///< The receive that it matches, once posted.
  std::span<const Piece> pieces{};  ///< For the own rank: the pieces of its send.
  std::uint64_t cookie = 0;         ///< For the own rank: the cookie of its send.

  /// Prepares it for reuse.
  void reset() noexcept { *this = {}; }
  [[nodiscard]] Envelope envelope() const noexcept {
    return {start.tag, start.fingerprint, start.length};
  }
  /// @return whether its bytes come in frames of FrameType::data.
  [[nodiscard]] bool is_requested() const noexcept { return start.type == FrameType::request; }
};

/// A frame being sent, and its message.
struct Outbound {
  Outbound* next = nullptr;       ///< The next one in its queue.
  Port* port = nullptr;           ///< Null for a frame that belongs to no message.
  Transfer transfer{};            ///< As posted.
  std::uint64_t bytes = 0;        ///< Bytes of the message.
  std::uint64_t sent = 0;         ///< Bytes of the message in frames that were sent.
  std::uint64_t unasked = 0;      ///< Bytes of the message that may be sent before a grant.
  std::uint64_t charge = 0;       ///< Credit that it took.
  Cursor cursor{};                ///< The next byte to send.
  Header header{};                ///< Header of the frame.
  std::size_t header_left = 0;    ///< Bytes of the header to send.
  std::uint64_t frame_left = 0;   ///< Bytes of the payload to send.
  bool sealed = false;            ///< Whether the header is complete.
  bool queued = false;            ///< Whether it is in its link's queue.
  bool granted = false;           ///< Whether the peer has asked for the rest.
  Piece rest_piece{};             ///< All of `rest`.
  std::vector<std::byte> rest{};  ///< Bytes that an abort copied, so that the stream stays whole.

  /// Prepares it for reuse, and keeps memory.
  void reset() noexcept;
  /// Completes the header. @param summed whether the payload gets a checksum.
  void seal_frame(bool summed);
  /// @return whether a part of the frame was sent.
  [[nodiscard]] bool has_begun() const noexcept {
    return sealed && (header_left < sizeof(Header) || frame_left < header.payload());
  }
  /// Copies the rest of the frame and forgets the message.
  void detach();
};

}  // namespace tutti::tcp
