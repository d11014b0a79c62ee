/// @file
/// The messages that a rank reads from the queues of others.
#pragma once

#include "direct_copies.hpp"

namespace tutti::shm {

/// Reads the slots that other ranks have written, matches messages with receives, and stores or
/// combines bytes of the ring. It passes replies to Outgoing, and requests to DirectCopies.
class Incoming {
 public:
  /// @param peers and @param records and @param outgoing and @param copies outlive this.
  Incoming(Peers& peers, Records& records, Outgoing& outgoing, DirectCopies& copies)
      : peers_{peers}, records_{records}, outgoing_{outgoing}, copies_{copies},
        matcher_{static_cast<std::size_t>(peers.size())} {}

  /// Posts a receive. @param peer the sender. @param bytes of the transfer.
  void post(Peer& peer, const Transfer& transfer, std::uint64_t bytes);
  /// Reads slots while something is awaited.
  void read_slots(Peer& peer);
  /// As Transport::find_unmatched, for one sender.
  void find_unmatched(Peer& peer, std::uint64_t pending) const;
  /// As Transport::probe.
  [[nodiscard]] std::optional<Unexpected> probe(Rank from, std::uint32_t tag);
  /// @return the number of messages without a receive.
  [[nodiscard]] std::size_t unexpected() const noexcept { return matcher_.unexpected(); }

 private:
  // The bytes of a message that has arrived as a whole.
  struct Whole {
    std::span<const std::byte> payload{};
    Extent extent{};  // in the ring of bytes, if they are there
  };
  [[nodiscard]] static bool find_whole(Peer& peer, const Slot& slot, Whole& whole);
  [[nodiscard]] bool receive_at_once(Peer& peer, const Transfer& transfer, std::uint64_t bytes);
  [[nodiscard]] bool receive_whole(Peer& peer, const Slot& slot);
  static void deliver_whole(Peer& peer, const Transfer& transfer, const Whole& whole);
  void receive_message(Peer& peer, const Slot& slot);
  void receive_bytes(Peer& peer, Record& record, std::span<const std::byte> payload);
  void receive_more(Peer& peer, const Slot& slot);
  void receive_chunk(Peer& peer, const Slot& slot);
  static void receive_piece(Peer& peer, Record& record, const WindowPiece& piece);
  void complete(Peer& peer, Record& record);
  void read_ranges(std::span<const std::byte> list);
  void store_arrival(Peer& peer, const MessageHeader& message, std::span<const std::byte> payload);
  static void accept(const Peer& peer, Record& record, const MessageHeader& message);
  void grant(Peer& peer, Record& record, const MessageHeader& message,
             std::span<const Range> ranges);

  Peers& peers_;
  Records& records_;
  Outgoing& outgoing_;
  DirectCopies& copies_;
  detail::Matcher<Record, Arrival> matcher_;
  detail::Pool<Arrival> arrivals_{};
  std::vector<Range> ranges_{};  // of the current request
};

}  // namespace tutti::shm
