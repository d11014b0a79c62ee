/// @file
/// The ranks of a communicator that share the host.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "copy_tuner.hpp"
#include "domain.hpp"
#include "payload.hpp"
#include "records.hpp"

namespace tutti::shm {

/// The description of a message in a slot.
struct MessageHeader {
  std::uint32_t tag = 0;
  std::uint32_t id = 0;  ///< For a request: the sender's record.
  std::uint64_t fingerprint = 0;
  std::uint64_t bytes = 0;
  bool is_request = false;
  AccessMode access{};
  WindowPiece first{};  ///< For a request: its first bytes.
  InPlace in_place{};
};

/// A message that came before its receive, with its bytes, or the ranges of its request.
struct Arrival {
  Arrival* next = nullptr;  ///< The next one in its queue.
  MessageHeader message{};
  Payload payload{};
  std::vector<Range> ranges{};

  void reset() noexcept { payload.clear(); }  // keeps memory
  [[nodiscard]] detail::Envelope envelope() const noexcept {
    return {message.tag, message.fingerprint, message.bytes};
  }
};

/// A message that is read in its sender's memory.
struct Pull {
  Record* record = nullptr;
  std::vector<Range> ranges{};
  bool is_elsewhere = false;  ///< Whether it lies outside the sender's segment.
  std::size_t range = 0;      ///< The next range.
  std::uint64_t offset = 0;   ///< Bytes of it that were read.
};

/// An answer to a request, or to an answer.
struct Reply {
  SlotType kind;
  std::uint32_t peer_id;  ///< The record of the other side.
  std::uint32_t id;       ///< The record of this side.
  bool is_stored = false;
  std::uint64_t moved = 0;  ///< Bytes of the message that were read.
};

/// A rank of a communicator, and all pending transfers with it.
struct Peer {
  Rank rank = 0;
  const Domain::Member* member = nullptr;    ///< Null if it does not share the host.
  Entry* entry = nullptr;                    ///< The state of the communicator in its process.
  bool reads_process = false;                ///< Whether it reads memory of this process.
  std::uint32_t silent = 0;                  ///< Polls since its last slot.
  Duration suspected{0};                     ///< The time since which it seems to have ended.
  Consumed* consumed_here = nullptr;         ///< Counts of its messages that this rank consumed.
  const Consumed* consumed_there = nullptr;  ///< Counts of this rank's messages that it consumed.
  SendEnd out{};
  ReceiveEnd in{};
  std::uint32_t awaited = 0;           ///< Its slots for which this rank waits.
  Record* partial = nullptr;           ///< A receive of which a part has come.
  Arrival* partial_arrival = nullptr;  ///< A message without a receive of which a part has come.
  std::vector<Record*> waiting{};      ///< Sends that found no room.
  std::vector<Reply> replies{};        ///< Replies that found no room.
  std::vector<Record*> granted{};      ///< Sends that the peer has granted.
  std::vector<Pull> pulls{};
  CopyTuner copy_tuner{};  ///< The tuner of copies for it.
  WindowMemory window{};   ///< Its window, once that is needed.
  /// By piece of this rank's window, how often it was staged for the peer.
  std::array<std::uint32_t, kWindowPieces> staged{};

  [[nodiscard]] bool is_idle() const noexcept {
    return awaited == 0 && waiting.empty() && replies.empty() && granted.empty() && pulls.empty();
  }
};

/// Copies bytes to memory that the peer reads, by the kind of copy that is fast between these two
/// cores. @param cursor of the bytes, which advances.
void copy_to_shared(Peer& peer, Cursor& cursor, std::byte* to, std::uint64_t bytes);

/// The ranks of a communicator. It finds their queues, wakes ranks that sleep, and finds out which
/// ranks have ended.
class Peers {
 public:
  Peers(std::shared_ptr<Domain> domain, std::uint64_t communicator, std::span<const Rank> members,
        std::shared_ptr<FailureSignal> failure_signal, const Options& options);
  Peers(const Peers&) = delete;
  Peers& operator=(const Peers&) = delete;
  ~Peers() { domain_->close(communicator_); }

  [[nodiscard]] Rank self() const noexcept { return self_; }
  [[nodiscard]] std::span<Peer> all() noexcept { return peers_; }
  [[nodiscard]] int size() const noexcept { return static_cast<int>(peers_.size()); }
  [[nodiscard]] Peer& operator[](Rank rank) noexcept {
    return peers_[static_cast<std::size_t>(rank)];
  }
  /// @return the rank at a transfer's other end, which must share the host.
  [[nodiscard]] Peer& of(const Transfer& transfer);
  [[nodiscard]] Domain& domain() noexcept { return *domain_; }
  [[nodiscard]] FailureSignal& failure_signal() const noexcept { return *failure_signal_; }
  [[nodiscard]] const Options& options() const noexcept { return options_; }
  [[nodiscard]] static Duration now() noexcept {
    return std::chrono::steady_clock::now().time_since_epoch();
  }

  /// Finds the peer's queue, if its process has made it. The peer may make the communicator later
  /// than this rank; until then this rank sends messages for which there is room. @param peer not
  /// attached.
  void attach(Peer& peer);
  /// Allocates a missing part of the queue to a peer.
  void open_queue(Peer& peer, QueuePart part);
  /// Allocates the own window. @return it. Throws std::bad_alloc.
  [[nodiscard]] WindowMemory open_window();
  /// @param peer that has staged bytes. @param piece of its window. @return the bytes. Throws
  /// Error{transport} for a piece that does not exist.
  [[nodiscard]] static std::span<const std::byte> staged_bytes(Peer& peer,
                                                               const WindowPiece& piece);
  /// Releases staged bytes that were read.
  static void release(Peer& peer, const WindowPiece& piece) noexcept {
    std::atomic<std::uint32_t>& read = peer.consumed_here->pieces[piece.index];
    read.store(read.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }
  /// Wakes a rank, if it sleeps. Before expect_sleepers() it uses no fence, which would double the
  /// time of a short message: a rank that falls asleep at this moment may then sleep for
  /// Options::idle_wait.
  void wake(Peer& peer) {
    if (expects_sleepers_) return wake_surely(peer);
    if (peer.entry == nullptr) attach(peer);
    if (peer.entry != nullptr && is_asleep(*peer.entry)) wake_sleeper(*peer.entry);
  }
  /// Makes wake() reliable from now on.
  void expect_sleepers() noexcept { expects_sleepers_ = true; }
  /// Sleeps until a peer wakes this rank, or the time of Options::idle_wait has passed.
  /// @param has_work called once peers can see that this rank is about to sleep.
  template <class HasWork>
  void sleep(HasWork has_work);
  /// Wakes the own rank. Any thread may call this.
  void end_sleep() noexcept;

  /// Throws Error{peer_dead} if an awaited peer has ended, and all its messages have been read.
  void check_end(Peer& peer);
  /// Throws Error{peer_dead}, after a time in which the failure signal may be raised. @param peer
  /// that cannot continue. @param reason follows the rank in the text.
  static void report_end(Peer& peer, const char* reason);
  /// @return whether a peer's pieces may be read and written. If so, all that was read from them
  /// until now is valid; otherwise the peer has failed, and may have changed them.
  [[nodiscard]] static bool may_access(const Peer& peer) noexcept;
  /// Forbids other ranks to read or write the pieces of this rank.
  void forbid_access() noexcept { entry_->state.store(Entry::failed, std::memory_order_seq_cst); }

  static constexpr const char* kGaveUp = "has given its operations up";

 private:
  void wait_for_wake() noexcept;
  void wake_surely(const Peer& peer) noexcept;
  static void wake_sleeper(Entry& entry) noexcept;
  [[nodiscard]] static bool is_asleep(const Entry& entry) noexcept {
    return entry.asleep.load(std::memory_order_relaxed) != 0;
  }

  std::shared_ptr<Domain> domain_;
  std::uint64_t communicator_;
  std::shared_ptr<FailureSignal> failure_signal_;
  Options options_;
  bool expects_sleepers_ = options_.oversubscribed;
  Rank self_ = 0;
  std::uint64_t block_;
  Entry* entry_;
  std::vector<Peer> peers_{};
};

// Either a peer sees that this rank is about to sleep, or this rank sees what the peer has written.
template <class HasWork>
void Peers::sleep(HasWork has_work) {
  entry_->asleep.store(1, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (!has_work()) wait_for_wake();
  entry_->asleep.store(0, std::memory_order_relaxed);
}

}  // namespace tutti::shm
