/// @file
/// The messages that a rank writes into its queues.
#pragma once

#include "window.hpp"

namespace tutti::shm {

/// Writes messages, requests, replies and chunks into the queues to other ranks, or keeps them
/// until there is room.
class Outgoing {
 public:
  /// @param peers and @param records outlive this.
  Outgoing(Peers& peers, Records& records) noexcept : peers_{peers}, records_{records} {}

  /// Posts a send. @param peer the receiver. @param bytes of the transfer.
  void post(Peer& peer, const Transfer& transfer, std::uint64_t bytes);
  /// Writes a reply, or keeps it until there is room.
  void send_reply(Peer& peer, const Reply& reply);
  /// Handles a grant or done from a peer.
  void receive_reply(Peer& peer, const Slot& slot);
  /// Writes what was kept for a peer, as far as there is room.
  void flush(Peer& peer) {
    if (!peer.replies.empty() || !peer.waiting.empty()) send_waiting(peer);
    if (!peer.granted.empty()) send_chunks(peer);
  }
  /// @return whether flush() may write something.
  [[nodiscard]] bool may_send(Peer& peer);

 private:
  [[nodiscard]] bool may_be_early(Peer& peer, const Transfer& transfer,
                                  std::uint64_t bytes) noexcept;
  void open_bytes(Peer& peer);
  [[nodiscard]] bool send_message(Peer& peer, const Transfer& transfer, std::uint64_t bytes);
  [[nodiscard]] bool send_small(Peer& peer, const Transfer& transfer, std::uint64_t bytes);
  [[nodiscard]] bool send_buffered(Peer& peer, const Transfer& transfer, std::uint64_t bytes);
  [[nodiscard]] bool send_request(Peer& peer, Record& record);
  [[nodiscard]] bool list_ranges(Peer& peer, const Record& record, AccessMode access,
                                 Request& request);
  [[nodiscard]] std::uint64_t offset_of(const Peer& peer, const std::byte* data,
                                        std::size_t bytes) const;
  [[nodiscard]] InPlace in_place_of(const Peer& peer, const Transfer& transfer) const;
  void write_reply(Peer& peer, const Reply& reply);
  void send_waiting(Peer& peer);
  void send_chunks(Peer& peer);
  [[nodiscard]] bool stage_part(Peer& peer, Record& record, WindowPiece& piece);
  [[nodiscard]] bool buffer_part(Peer& peer, Record& record, Extent& extent);
  [[nodiscard]] const Domain& domain() const noexcept { return peers_.domain(); }

  Peers& peers_;
  Records& records_;
  Window window_{peers_, records_};
};

}  // namespace tutti::shm
