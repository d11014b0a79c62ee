/// @file
/// StreamPeers: memory of ranks on one host, which they read from each other on streams of a GPU.
#pragma once

#include <cstddef>
#include <span>

#include <tutti/export.hpp>
#include <tutti/options.hpp>
#include <tutti/spi/memory.hpp>

namespace tutti::v0 {

/// An operand of a fold in memory of a peer.
struct PeerOperand {
  std::size_t operand = 0;  ///< Index in Fold::operands, which is null there.
  Rank peer = 0;            ///< Sender of the message that contains it.
  std::size_t offset = 0;   ///< Offset in the message in bytes.
};

/// Memory of the ranks that they read from each other, on streams. A message stays in its sender's
/// memory: the sender announces it; its receiver waits for that, reads it in place and releases it;
/// the sender waits for that. Between two ranks there is one message in each direction at a time.
class TUTTI_API StreamPeers {
 public:
  StreamPeers() = default;
  StreamPeers(const StreamPeers&) = delete;
  StreamPeers& operator=(const StreamPeers&) = delete;
  virtual ~StreamPeers() = default;

  /// @return the total bytes of acquire; equal on all ranks.
  [[nodiscard]] virtual std::size_t scratch_bytes() const noexcept = 0;
  /// @return whether peers see the bytes: memory of StreamTransport::allocate_registered.
  [[nodiscard]] virtual bool are_seen(const std::byte* data, std::size_t bytes) const noexcept = 0;
  /// Begins a call: its work comes after all calls before, on any stream. Throws Error.
  virtual void begin(Stream stream) = 0;
  /// Ends the call. Throws Error.
  virtual void end(Stream stream) = 0;
  /// @param bytes more than zero. @return memory that peers see, until give_back. Throws Error if
  /// there is no more.
  [[nodiscard]] virtual std::byte* acquire(std::size_t bytes) = 0;
  /// Releases all acquired memory, in the order of the call's stream.
  virtual void give_back() noexcept = 0;
  /// Enqueues the announcement of a message. @param peer the reader. @param data memory that peers
  /// see. Throws Error.
  virtual void announce(Rank peer, const std::byte* data, Stream stream) = 0;
  /// Enqueues a wait for a peer's message. @param peer its sender. Throws Error.
  virtual void await(Rank peer, Stream stream) = 0;
  /// Enqueues the release of a peer's message. @param peer its sender. Throws Error.
  virtual void release(Rank peer, Stream stream) = 0;
  /// Enqueues a wait for the release of an own message. @param peer its receiver. Throws Error.
  virtual void await_release(Rank peer, Stream stream) = 0;
  /// Enqueues a fold, as StreamTransport::fold. @param work with a built-in operator, or none.
  /// @param peers operands that are parts of awaited messages. Throws Error.
  virtual void fold(const Fold& work, std::span<const PeerOperand> peers, Stream stream) = 0;
  /// Throws Error{aborted} if a peer has failed, so that reads of its memory are wrong. Call it at
  /// the end of a stream.
  virtual void check() = 0;
};

}  // namespace tutti::v0
