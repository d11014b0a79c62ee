/// @file
/// Copies of messages directly from the sender's memory.
#pragma once

#include <algorithm>

#include "base/pool.hpp"
#include "outgoing.hpp"

namespace tutti::shm {

/// Reads the messages of requests in the sender's memory. It also keeps the accesses to messages
/// that stay there, and to the places of their results.
class DirectCopies {
 public:
  /// @param peers and @param records and @param outgoing outlive this.
  DirectCopies(Peers& peers, Records& records, Outgoing& outgoing) noexcept
      : peers_{peers}, records_{records}, outgoing_{outgoing} {}

  /// Begins the copy of a request whose receive is posted and matches. @param peer the sender.
  /// @param record of the receive. @param ranges of the message in the sender's memory. Throws
  /// Error{transport} for impossible ranges.
  void begin(Peer& peer, Record& record, const MessageHeader& message,
             std::span<const Range> ranges);
  /// Copies bytes of a peer's messages.
  void progress(Peer& peer) {
    if (!peer.pulls.empty()) pull_all(peer);
  }
  /// @return whether progress() would move bytes.
  [[nodiscard]] static bool has_work(const Peer& peer) noexcept {
    const auto is_unread = [](const Pull& pull) { return pull.range < pull.ranges.size(); };
    return std::ranges::any_of(peer.pulls, is_unread);
  }
  /// As Transport::open_result.
  [[nodiscard]] std::byte* open_result(AccessId access, std::uint32_t ordinal, std::size_t bytes);
  /// As Transport::signal.
  void signal(AccessId access, bool is_stored);
  /// To be called when this rank has failed. @return whether no other rank writes into its memory
  /// any more.
  [[nodiscard]] bool stop() noexcept;

 private:
  void pull_all(Peer& peer);
  [[nodiscard]] bool pull_some(Peer& peer, Pull& pull);
  [[nodiscard]] bool copy_from_process(const Peer& peer, Record& record, std::uint64_t where,
                                       std::uint64_t bytes);
  void end(Peer& peer, std::size_t index, SlotType kind);

  Peers& peers_;
  Records& records_;
  Outgoing& outgoing_;
  std::vector<Pull> spare_pulls_{};  // kept for reuse of their memory
  std::vector<std::byte> copied_{};  // bytes of another process that are combined next
};

}  // namespace tutti::shm
