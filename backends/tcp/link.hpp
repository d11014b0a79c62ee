/// @file
/// Link: the connection to another process, and how far both directions are.
#pragma once

#include <cstdint>
#include <memory_resource>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "message.hpp"
#include "socket.hpp"

namespace tutti::tcp {

/// Bytes that are read at once where the next frame is not known: a header, and small messages
/// whole.
inline constexpr std::size_t kAheadBytes = 16384;
/// A message without a receive costs its peer this much credit beside its bytes, so that the number
/// of small ones has a limit, too.
inline constexpr std::uint64_t kMessageCost = 256;

/// The frame that is being read.
struct Incoming {
  Header header{};             ///< Its front.
  std::uint64_t left = 0;      ///< Of its payload.
  std::uint32_t sum = 0;       ///< Of the payload so far.
  Inbound* inbound = nullptr;  ///< Where the payload belongs; null: nowhere, it is dropped.
  bool active = false;         ///< Whether there is one.
};

/// Why a link can be used no more.
struct Loss {
  ErrorCode code = ErrorCode::peer_dead;  ///< Of the error that its users get.
  std::string reason{};                   ///< Such as "its connection was reset".
};

/// Messages by their sequence number; memory of its nodes is kept for reuse.
template <class T>
using BySequence = std::pmr::unordered_map<std::uint64_t, T*>;

/// The connection to another process.
struct Link {
  /// @param rank of the peer in the world. @param connection to it.
  /// @param credit_bytes what each side may send unasked. @param memory outlives the link.
  Link(Rank rank, Socket connection, std::uint64_t credit_bytes, std::pmr::memory_resource* memory)
      : peer{rank}, socket{std::move(connection)}, credit{credit_bytes}, requested{memory},
        peer_credit{credit_bytes}, announced{memory} {}

  /// @return whether something waits to leave.
  [[nodiscard]] bool has_to_write() const noexcept {
    return !outgoing.empty() || socket.has_unsent();
  }
  /// The peer has sent bytes that no rank of ours would. @param flaw in words. @return false.
  bool reject(std::string_view flaw) {
    loss = {ErrorCode::transport, "sent corrupt bytes: " + std::string{flaw}};
    return false;
  }

  Rank peer;                   ///< In the world, or as this process numbers its links.
  Rank own_source = -1;        ///< As Peer.
  Rank peer_source = -1;       ///< As Peer.
  Socket socket;               ///< The connection.
  std::uint32_t pending = 0;   ///< Transfers of all communicators that wait for it.
  std::optional<Loss> loss{};  ///< Set once it can be used no more.
  bool failed = false;         ///< Whether a communicator that used it has failed.

  Queue<Outbound> outgoing{};      ///< Frames to be written, the first perhaps in part.
  bool write_failed = false;       ///< What the peer sent before may still be read.
  std::uint64_t started = 0;       ///< Messages sent.
  std::uint64_t credit;            ///< What may be sent unasked.
  BySequence<Outbound> requested;  ///< Messages with a request, by sequence.

  Buffer ahead{kAheadBytes};      ///< Read but not yet looked at: [ahead_begin, ahead_end).
  std::size_t ahead_begin = 0;    ///< See ahead.
  std::size_t ahead_end = 0;      ///< See ahead.
  Incoming frame{};               ///< The frame being read.
  std::uint64_t next_start = 0;   ///< The least sequence that the peer's next message may have.
  std::uint64_t peer_credit;      ///< What the peer may still send unasked.
  std::uint64_t returnable = 0;   ///< Credit that may be given back to it.
  BySequence<Inbound> announced;  ///< The peer's requests, by sequence.
};

}  // namespace tutti::tcp
