/// @file
/// Transport: sends messages between the ranks of one communicator.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <tutti/error.hpp>
#include <tutti/export.hpp>

namespace tutti::v0 {

/// @param timeout zero or more. @return the sum, at most Duration::max(), which means no deadline.
[[nodiscard]] constexpr Duration deadline_after(Duration now, Duration timeout) noexcept {
  return now > Duration::zero() && timeout > Duration::max() - now ? Duration::max()
                                                                   : now + timeout;
}

/// A run of bytes that a message gathers from, or scatters to.
struct Piece {
  std::byte* data;    ///< The bytes. A send only reads them.
  std::size_t bytes;  ///< Length; more than zero.
};

/// Combines a message with data of the rank while its bytes are in the cache, instead of storing it
/// to pieces first.
class TUTTI_API Combiner {
 public:
  Combiner() = default;
  Combiner(const Combiner&) = delete;
  Combiner& operator=(const Combiner&) = delete;
  virtual ~Combiner() = default;
  /// Called with consecutive parts of the message, in order, by post or poll of this transport, or,
  /// perhaps on another thread, of one that shares its links. So it may touch only data of the
  /// transfer, and call no transport. Calls never overlap; all precede the completion. An exception
  /// fails this transport.
  /// @param bytes the part, one byte or more, of any alignment and cut; valid during the call.
  /// Bytes in staging() may be overwritten.
  virtual void combine(std::span<const std::byte> bytes) = 0;
  /// Called once per message, before the first part. @return memory for the whole message, from
  /// which combine then gets its parts: a transport that must copy the message once then needs no
  /// memory of its own, which would displace other data from the caches. Null if there is none.
  [[nodiscard]] virtual std::byte* staging() noexcept { return nullptr; }
};

/// The place where the sender of a message will receive a later one from the same peer. A peer that
/// sees that memory may store the later message there instead of sending it.
struct ResultPlace {
  std::byte* data = nullptr;  ///< Null if there is none.
  std::size_t bytes = 0;      ///< Length of the later message.
  /// Index of the later message among those of the peer to this rank in the call.
  std::uint32_t ordinal = 0;
};

/// One message to send or to receive.
struct Transfer {
  /// Kind of a transfer.
  enum class Kind : std::uint8_t {
    send,  ///< From the own pieces to the peer.
    recv,  ///< From the peer into the own pieces.
    /// As recv, but bytes that the transport sees in the peer's memory stay there until
    /// Transport::signal: see Completion::access. Needs Capabilities::visible.
    wait
  };
  Kind kind = Kind::send;  ///< Kind of the transfer.
  Rank peer = 0;           ///< The other end; may be the own rank.
  std::uint32_t tag = 0;   ///< At most Capabilities::tags - 1.
  /// The lower 63 bits must agree; otherwise the receiver gets a mismatch.
  std::uint64_t fingerprint = 0;
  std::uint64_t cookie = 0;         ///< Returned by the completion.
  std::span<const Piece> pieces{};  ///< Owned by the caller until the completion. May be empty.
  /// Gets the bytes of a receive; the pieces then have only the length. Needs
  /// Capabilities::combines, and `reduced`.
  Combiner* combiner = nullptr;
  /// Whether the call is a reduction; equal at both ends, so that a transport may send it in parts
  /// that stay in the cache.
  bool reduced = false;
  /// For a receive: whether the message may be shorter, and then leaves the rest of the pieces as
  /// it is. Needs Capabilities::shorter.
  bool accepts_shorter = false;
  std::uint8_t route = 0;  ///< Index into Capabilities::transports; equal at both ends.
  ResultPlace result{};    ///< For a send. Needs Capabilities::visible.
};

/// The number of an access to a peer's memory.
using AccessId = std::uint32_t;
/// No access.
inline constexpr AccessId kNoAccess = ~AccessId{0};

/// A transfer that is done: its pieces belong to the caller again.
struct Completion {
  std::uint64_t cookie = 0;  ///< Cookie of the transfer.
  /// For a wait whose message was not copied: it may be read in the sender's memory until
  /// Transport::signal. kNoAccess: the bytes are in the pieces.
  AccessId access = kNoAccess;
  /// The message in the sender's memory. It stays readable if the sender fails, but is then
  /// invalid.
  const std::byte* data = nullptr;
  /// For a send: whether the peer has stored the later message at Transfer::result, and does not
  /// send it.
  bool is_stored = false;
};

/// Completions that were not consumed, the oldest first.
class CompletionQueue {
 public:
  /// @return their number.
  [[nodiscard]] std::size_t size() const noexcept { return completions_.size() - popped_; }
  /// @return the oldest one, until the next call that is not const. Not of an empty queue.
  [[nodiscard]] const Completion& oldest() const noexcept { return completions_[popped_]; }
  /// Removes the oldest one. Not of an empty queue.
  void pop_oldest() noexcept {
    if (++popped_ < completions_.size()) return;
    completions_.clear();
    popped_ = 0;
  }
  /// @param completion goes to the end.
  void push(const Completion& completion) { completions_.push_back(completion); }
  /// Adds a completion with nothing but a cookie, member by member: a copy of a whole struct would
  /// wait for its partial stores.
  void push(std::uint64_t cookie) { completions_.emplace_back().cookie = cookie; }
  /// Reserves memory, so that the next calls of push cannot fail. @param count of these calls.
  void reserve(std::size_t count) {
    if (completions_.capacity() - completions_.size() >= count) return;
    completions_.erase(completions_.begin(),
                       completions_.begin() + static_cast<std::ptrdiff_t>(popped_));
    popped_ = 0;
    completions_.reserve(2 * (completions_.size() + count));
  }

 private:
  std::vector<Completion> completions_{};
  std::size_t popped_ = 0;  // of them
};

/// A message that arrived before its receive was posted.
struct Unexpected {
  Rank from = -1;                 ///< Its sender.
  std::size_t bytes = 0;          ///< Its length.
  std::uint64_t fingerprint = 0;  ///< As Transfer::fingerprint.
};

/// The features of a transport.
struct Capabilities {
  std::string name;        ///< "sim", "mpi", ...
  std::uint32_t tags = 0;  ///< Tags in [0, tags) may be used.
  bool combines = false;   ///< Whether a receive may have a Combiner.
  bool visible = false;    ///< Whether ranks may see memory of each other: Transfer::Kind::wait.
  bool shorter = false;    ///< Whether a receive may accept a shorter message.
  /// Whether a thread may call it while another thread calls other transports of the process, as
  /// CommunicatorOptions::progress_thread needs.
  bool threads = true;
  /// Empty polls before a waiting thread yields; small if ranks outnumber cores.
  int idle_spins = 1000;
  /// Names of the transports among which Transfer::route chooses. A message matches only receives
  /// of the same route. Empty if there is no choice: the route is then 0.
  std::vector<std::string> transports{};
};

/// Sends messages. Between two ranks, messages of equal tag match in the order in which they were
/// posted; messages of different tags never block each other. One thread at a time.
class TUTTI_API Transport {
 public:
  Transport() = default;
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;
  virtual ~Transport() = default;

  /// @return the own rank.
  [[nodiscard]] virtual Rank self() const noexcept = 0;
  /// @return the number of ranks.
  [[nodiscard]] virtual int size() const noexcept = 0;
  /// @return its features; constant.
  [[nodiscard]] virtual const Capabilities& capabilities() const noexcept = 0;
  /// @return the current time of deadlines; virtual on the in-process cluster.
  [[nodiscard]] virtual Duration now() const noexcept = 0;

  /// Starts transfers. Both sides must give a message the same number of bytes, unless
  /// Transfer::accepts_shorter. May handle messages that have arrived, and then throws Error as
  /// poll. @param transfers in the order in which they match.
  virtual void post(std::span<const Transfer> transfers) = 0;
  /// Makes progress. Throws Error: mismatch (fingerprint or length), peer_dead, aborted, transport.
  virtual void poll() = 0;
  /// @return the number of completions of post and poll that were not consumed. No virtual call.
  [[nodiscard]] std::size_t completed() const noexcept { return completions_.size(); }
  /// @return the oldest of them, if there is one; valid until the next non-const call.
  [[nodiscard]] const Completion& oldest_completed() const noexcept {
    return completions_.oldest();
  }
  /// Removes the oldest completion.
  void pop_oldest() noexcept { completions_.pop_oldest(); }
  /// Polls, and consumes completions. @param completions filled from the front. @return their
  /// number.
  [[nodiscard]] std::size_t poll(std::span<Completion> completions) {
    poll();
    std::size_t count = 0;
    for (; count < completions.size() && completed() > 0; pop_oldest())
      completions[count++] = oldest_completed();
    return count;
  }
  /// Returns the place for the result of an awaited message, in the peer's memory, which may be
  /// written until signal. @param access that has not ended. @param ordinal as
  /// ResultPlace::ordinal.
  /// @param bytes of the result. @return the place, or null: then the result must be sent.
  [[nodiscard]] virtual std::byte* open_result(AccessId access, std::uint32_t ordinal,
                                               std::size_t bytes) {
    (void)access, (void)ordinal, (void)bytes;
    return nullptr;
  }
  /// Ends an access: the memory belongs to its sender again. @param access that has not ended.
  /// @param is_stored whether all bytes of the result are at open_result; then the message must not
  /// be sent.
  virtual void signal(AccessId access, bool is_stored) {
    (void)access, (void)is_stored;
    expects(false, "only a transport that sees memory of peers has accesses");
  }
  /// For a thread whose polls were empty for long: releases its core until a poll may find
  /// something, or for some milliseconds at most.
  virtual void idle_wait() { std::this_thread::yield(); }
  /// From now on ranks may wait idle although their cores are not shared, on all ranks: a sender
  /// wakes them.
  virtual void expect_idle_waits() {}
  /// Ends idle_wait early if a thread is in it, or about to be. The only call that another thread
  /// may make at the same time. Does nothing if idle_wait is short.
  virtual void end_idle_wait() noexcept {}
  /// @return whether messages may have arrived that have no receive yet. If find_unmatched is
  /// implemented, all messages that a peer sent before a received one are counted. No virtual call,
  /// since it runs after every collective.
  [[nodiscard]] bool has_unexpected() const noexcept { return unexpected_ > 0; }
  /// Looks for messages that no receive will match: ranks disagree about a call that has ended
  /// here, or waits. It may find some only in a later call. @param pending the calls whose messages
  /// may still be received, see is_unmatched. @param thoroughly whether to look also where no poll
  /// would, since nothing is awaited. Throws Error{mismatch}.
  virtual void find_unmatched(std::uint64_t pending, bool thoroughly) {
    (void)pending, (void)thoroughly;
  }
  /// Looks for a message without a receive: the oldest of its sender and tag. @param from its
  /// sender, or any_rank, which starves no sender. @param tag as Transfer::tag.
  /// @return the message, if one has come; the next receive of this sender and tag gets it. Throws
  /// as poll; Error{invalid_argument} if a transport cannot look.
  [[nodiscard]] virtual std::optional<Unexpected> probe(Rank from, std::uint32_t tag);
  /// Fails this transport for good and sends the cause to the other ranks, if possible. Returns
  /// when no peer can write into posted pieces any more, or when waiting for that is hopeless.
  /// Idempotent.
  /// @return whether no peer can write into posted pieces any more. If not, their memory must not
  /// be used for anything else.
  virtual bool abort(const Error& cause) noexcept = 0;

 protected:
  /// Adds a completion.
  void complete(const Completion& completion) { completions_.push(completion); }
  /// Adds a completion with nothing but a cookie.
  void complete(std::uint64_t cookie) { completions_.push(cookie); }
  /// @return the completions, for parts of a transport that add to them.
  [[nodiscard]] CompletionQueue& completions() noexcept { return completions_; }

  std::size_t unexpected_ = 0;  ///< Messages without a receive, as of the last poll.

 private:
  CompletionQueue completions_{};
};

/// @return the value as "0x" and sixteen digits.
[[nodiscard]] TUTTI_API std::string hexadecimal(std::uint64_t value);
/// @param peer sender. @param theirs its message's fingerprint. @param ours that of the receive.
/// @return the error for a message of another call.
[[nodiscard]] TUTTI_API Error wrong_call(Rank peer, std::uint64_t theirs, std::uint64_t ours);
/// @param theirs the message's fingerprint. @param pending as in is_unmatched.
/// @return the error for a message that is_unmatched.
[[nodiscard]] TUTTI_API Error unmatched_message(Rank peer, std::uint64_t theirs,
                                                std::uint64_t pending);
/// @return the error for a message that no run of its plan receives.
[[nodiscard]] TUTTI_API Error unmatched_plan(Rank peer, std::uint64_t theirs);
/// @param theirs the message's bytes. @param ours those of the receive.
/// @return the error for a message of another length.
[[nodiscard]] TUTTI_API Error wrong_length(Rank peer, std::uint64_t theirs, std::uint64_t ours);

}  // namespace tutti::v0
