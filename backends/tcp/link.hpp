/// @file
/// The connection to another process, and the state of both directions.
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

/// Bytes that are read at once if the next frame is not known: enough for a header, and for small
/// messages.
inline constexpr std::size_t kAheadBytes = 16384;
/// A message without a receive costs its sender this much credit beside its bytes, which limits the
/// number of small ones.
inline constexpr std::uint64_t kMessageCost = 256;

/// The frame that is being read.
struct Incoming {
  Header header{};
  std::uint64_t left = 0;      ///< Bytes of the payload to come.
  std::uint32_t sum = 0;       ///< Checksum of the payload so far.
  Inbound* inbound = nullptr;  ///< The message of the payload; null: it is dropped.
  bool active = false;         ///< Whether a frame is being read.
};

/// The reason why a link can be used no more.
struct Loss {
  ErrorCode code = ErrorCode::peer_dead;  ///< Code of the error that its users get.
  std::string reason{};                   ///< Such as "its connection was reset".
};

/// Messages by their sequence number; memory of its nodes is kept for reuse.
template <class T>
using BySequence = std::pmr::unordered_map<std::uint64_t, T*>;

/// The connection to another process.
struct Link {
  /// @param rank of the peer in the world. @param credit_bytes the bytes that each side may send
  /// unasked. @param memory outlives the link.
  Link(Rank rank, Socket connection, std::uint64_t credit_bytes, std::pmr::memory_resource* memory)
      : peer{rank}, socket{std::move(connection)}, credit{credit_bytes}, requested{memory},
        peer_credit{credit_bytes}, announced{memory} {}

  /// @return whether bytes wait to be sent.
  [[nodiscard]] bool has_to_write() const noexcept {
    return !outgoing.empty() || socket.has_unsent();
  }
  /// Loses the link, since its peer has sent invalid bytes. @param flaw a text. @return false.
  bool reject(std::string_view flaw) {
    loss = {ErrorCode::transport, "sent corrupt bytes: " + std::string{flaw}};
    return false;
  }

  Rank peer;                   ///< Rank in the world, or the number that this process uses.
  Rank own_source = -1;        ///< As Peer.
  Rank peer_source = -1;       ///< As Peer.
  Socket socket;               ///< The connection.
  std::uint32_t pending = 0;   ///< Transfers of all communicators that wait for it.
  std::optional<Loss> loss{};  ///< Set once it can be used no more.
  bool failed = false;         ///< Whether a communicator that used it has failed.

  Queue<Outbound> outgoing{};      ///< Frames to be written, the first perhaps in part.
  bool write_failed = false;       ///< Whether a write failed; bytes of the peer may still be read.
  std::uint64_t started = 0;       ///< Messages sent.
  std::uint64_t credit;            ///< Bytes that may be sent unasked.
  BySequence<Outbound> requested;  ///< Messages with a request, by sequence.

  Buffer ahead{kAheadBytes};      ///< Read but not yet looked at: [ahead_begin, ahead_end).
  std::size_t ahead_begin = 0;    ///< See ahead.
  std::size_t ahead_end = 0;      ///< See ahead.
  Incoming frame{};               ///< The frame being read.
  std::uint64_t next_start = 0;   ///< The least sequence that the peer's next message may have.
  std::uint64_t peer_credit;      ///< Bytes that the peer may still send unasked.
  std::uint64_t returnable = 0;   ///< Credit that may be given back to it.
  BySequence<Inbound> announced;  ///< The peer's requests, by sequence.
};

}  // namespace tutti::tcp
