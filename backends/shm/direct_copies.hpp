/// @file
/// DirectCopies: messages that do not go through a queue.
#pragma once

#include <algorithm>

#include "base/pool.hpp"
#include "outgoing.hpp"
#include "process_copies.hpp"

namespace tutti::shm {

/// Copies between the memories of two ranks. Reads the messages of requests in the sender's memory.
/// Writes the sender's share of messages that both ranks copy. Owns the accesses to messages that
/// stay in the sender's memory, and their results.
class DirectCopies {
 public:
  /// @param peers and @param records and @param outgoing outlive this.
  DirectCopies(Peers& peers, Records& records, Outgoing& outgoing) noexcept
      : peers_{peers}, records_{records}, outgoing_{outgoing} {}

  /// Begins the copy of a request whose receive is posted and matches. @param peer the sender.
  /// @param record of the receive; its path is not a stream. @param message of the request. @param
  /// ranges of the message in the sender's memory. Throws Error{transport} for impossible ranges.
  void begin(Peer& peer, Record& record, const Message& message, std::span<const Range> ranges);
  /// Moves bytes. @param peer with which.
  void progress(Peer& peer) {
    if (!peer.pushes.empty()) push_all(peer);
    if (!peer.pulls.empty()) pull_all(peer);
  }
  /// @return whether progress() would move bytes.
  [[nodiscard]] static bool has_work(const Peer& peer) noexcept {
    const auto is_unread = [](const Pull& pull) { return pull.range < pull.ranges.size(); };
    return !peer.pushes.empty() || std::ranges::any_of(peer.pulls, is_unread);
  }
  /// The receiver of a message asks for the sender's share. @param peer from which. @param slot of
  /// the reply.
  void receive_share(Peer& peer, const Slot& slot);
  /// The sender has stored its share, or cannot. @param peer from which. @param slot of the reply.
  void receive_stored(Peer& peer, const Slot& slot);

  /// As Transport::open_result.
  [[nodiscard]] std::byte* open_result(AccessId access, std::uint32_t ordinal, std::size_t bytes);
  /// As Transport::signal.
  void signal(AccessId access, bool is_stored);
  /// This rank has failed. @return whether no other one writes into its memory any more.
  [[nodiscard]] bool stop() noexcept;

 private:
  void ask_for_share(Peer& peer, Record& record, Range& first);
  void push_all(Peer& peer);
  [[nodiscard]] bool push_some(Peer& peer, Record& record);
  void pull_all(Peer& peer);
  void pull_some(Peer& peer, Pull& pull);
  [[nodiscard]] std::size_t pull_from_process(Peer& peer, const Range& range, Record& record);

  Peers& peers_;
  Records& records_;
  Outgoing& outgoing_;
  ProcessCopies process_copies_{};
  std::vector<Pull> spare_pulls_{};  // kept, so that their memory is used again
};

}  // namespace tutti::shm
