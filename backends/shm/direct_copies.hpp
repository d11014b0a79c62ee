/// @file
/// DirectCopies: messages that are read where they lie.
#pragma once

#include <algorithm>

#include "base/pool.hpp"
#include "outgoing.hpp"

namespace tutti::shm {

/// Copies between the memories of two ranks. Reads the messages of requests in the sender's memory.
/// Owns the accesses to messages that stay there, and their results.
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
  /// This rank has failed. @return whether no other one writes into its memory any more.
  [[nodiscard]] bool stop() noexcept;

 private:
  void pull_all(Peer& peer);
  void pull_some(Peer& peer, Pull& pull);

  Peers& peers_;
  Records& records_;
  Outgoing& outgoing_;
  std::vector<Pull> spare_pulls_{};  // kept, so that their memory is used again
};

}  // namespace tutti::shm
