/// @file
/// Transport: moves messages between the ranks of one communicator.
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

/// @param now a time. @param timeout how long from then, zero or more. @return when that ends: at
/// the end of time at the latest, so that Duration::max() waits for ever.
[[nodiscard]] constexpr Duration deadline_after(Duration now, Duration timeout) noexcept {
  return now > Duration::zero() && timeout > Duration::max() - now ? Duration::max()
                                                                   : now + timeout;
}

/// A run of bytes that a message gathers from, or scatters to.
struct Piece {
  std::byte* data;    ///< Its first byte. A send only reads it.
  std::size_t bytes;  ///< More than zero.
};

/// Combines a message with the own operand while its bytes are warm: the message need not be stored
/// to pieces first.
class TUTTI_API Combiner {
 public:
  Combiner() = default;
  Combiner(const Combiner&) = delete;
  Combiner& operator=(const Combiner&) = delete;
  virtual ~Combiner() = default;
  /// Called with consecutive parts of the message, in order, by post or poll: this transport's, or,
  /// perhaps on another thread, that of one that shares its links. So it touches nothing but memory
  /// of the transfer, and calls no transport. Calls never overlap; all come before the completion.
  /// An exception fails this transport.
  /// @param bytes the part, one byte or more. They may lie at any address, may end within an
  /// element, and are valid during the call. In staging() they may be overwritten.
  virtual void combine(std::span<const std::byte> bytes) = 0;
  /// Called once per message, before the first part.
  /// @return memory for the whole message in one piece, from where its parts may be combined: a
  /// transport that has to copy the message then needs no memory of its own, which would push other
  /// data out of the caches. Null if there is none.
  [[nodiscard]] virtual std::byte* staging() noexcept { return nullptr; }
};

/// Memory in which the sender of a message will receive a later one from the same peer: if the peer
/// sees that memory it may store the later message there, and need not send it.
struct ResultPlace {
  std::byte* data = nullptr;  ///< Null if there is none.
  std::size_t bytes = 0;      ///< Of the later message.
  /// The number of messages that the peer sends this rank before the later one in the call.
  std::uint32_t ordinal = 0;
};

/// One message to send or to receive.
struct Transfer {
  /// The direction of the bytes.
  enum class Kind : std::uint8_t {
    send,  ///< From our pieces to the peer.
    recv,  ///< From the peer into our pieces.
    wait   ///< As recv, but bytes that the transport sees in the peer's memory stay there until
           ///< Transport::signal: see Completion::access. Needs Capabilities::visible.
  };
  Kind kind = Kind::send;  ///< Direction.
  Rank peer = 0;           ///< The other end; may be the own rank.
  std::uint32_t tag = 0;   ///< At most Capabilities::tags - 1.
  /// The lower 63 bits must agree at both ends, else the receiver gets a mismatch.
  std::uint64_t fingerprint = 0;
  std::uint64_t cookie = 0;         ///< Handed back by the completion.
  std::span<const Piece> pieces{};  ///< Owned by the caller until the completion. May be empty.
  /// Of a receive: combines the bytes; the pieces then give their number only. Needs
  /// Capabilities::combines, and `reduced`.
  Combiner* combiner = nullptr;
  /// Whether it is of a call that reduces; equal at both ends, so that a transport may move it in
  /// parts that stay warm.
  bool reduced = false;
  std::uint8_t route = 0;  ///< Index into Capabilities::transports; the same at both ends.
  ResultPlace result{};    ///< Of a send. Needs Capabilities::visible.
};

/// The number of an access to a peer's memory, and the number that is none.
using AccessId = std::uint32_t;
/// No access.
inline constexpr AccessId kNoAccess = ~AccessId{0};

/// A transfer that is done: its pieces belong to the caller again.
struct Completion {
  std::uint64_t cookie = 0;  ///< Of the transfer.
  /// Of a wait: its message was not moved, but may be read in the sender's memory until
  /// Transport::signal. If there is none the bytes are in the pieces.
  AccessId access = kNoAccess;
  /// The message in the sender's memory. It can be read even if the sender has failed; its bytes
  /// are undefined then.
  const std::byte* data = nullptr;
  /// Of a send: whether the later message stands at Transfer::result. It is not sent then.
  bool is_stored = false;
};

/// Completions that were not consumed yet, the oldest first.
class CompletionQueue {
 public:
  /// @return how many there are.
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
  /// Adds one that has nothing but a cookie, member by member: a reader of a whole object would
  /// wait for stores to its parts. @param cookie of the transfer.
  void push(std::uint64_t cookie) { completions_.emplace_back().cookie = cookie; }
  /// Makes room, so that push cannot fail. @param count of completions that are not consumed.
  void reserve(std::size_t count) { completions_.reserve(count); }

 private:
  std::vector<Completion> completions_{};
  std::size_t popped_ = 0;  // of them
};

/// A message that came before a receive for it was posted.
struct Unexpected {
  Rank from = -1;                 ///< Its sender.
  std::size_t bytes = 0;          ///< Of the whole message.
  std::uint64_t fingerprint = 0;  ///< As Transfer::fingerprint.
};

/// Properties of a transport.
struct Capabilities {
  std::string name;        ///< "sim", "mpi", ...
  std::uint32_t tags = 0;  ///< Tags in [0, tags) may be used.
  bool combines = false;   ///< Whether a receive may have a Combiner.
  bool visible = false;    ///< Whether ranks may see memory of each other: Transfer::Kind::wait.
  /// Whether another thread of the process may call it than the one that calls other transports,
  /// at the same time, as CommunicatorOptions::progress_thread does.
  bool threads = true;
  int idle_spins = 1000;  ///< Empty polls before a waiting thread yields; small where ranks
                          ///< outnumber cores.
  /// The names of the transports among which Transfer::route chooses. A message matches only
  /// receives of the same route. Empty where there is no choice: the route is 0 then.
  std::vector<std::string> transports{};
};

/// Moves messages. Between two ranks, messages of equal tag match in the order in which they were
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
  /// @return its properties; constant over its life.
  [[nodiscard]] virtual const Capabilities& capabilities() const noexcept = 0;
  /// @return the time deadlines are measured in; virtual on the in-process cluster.
  [[nodiscard]] virtual Duration now() const noexcept = 0;

  /// Starts transfers. Both sides must give a message the same number of bytes.
  /// @param transfers in the order in which they match. Throws Error, as poll does, since it may
  /// meet messages that have come already.
  virtual void post(std::span<const Transfer> transfers) = 0;
  /// Makes progress. Throws Error: mismatch (fingerprint or length), peer_dead, aborted, transport.
  virtual void poll() = 0;
  /// @return the completions by post and poll that were not consumed yet. No virtual call.
  [[nodiscard]] std::size_t completed() const noexcept { return completions_.size(); }
  /// @return the oldest of them, of which there is one, until the next call that is not const.
  [[nodiscard]] const Completion& oldest_completed() const noexcept {
    return completions_.oldest();
  }
  /// Consumes it.
  void pop_oldest() noexcept { completions_.pop_oldest(); }
  /// Polls, and consumes completions. @param completions filled from the front. @return how many.
  [[nodiscard]] std::size_t poll(std::span<Completion> completions) {
    poll();
    std::size_t count = 0;
    for (; count < completions.size() && completed() > 0; pop_oldest())
      completions[count++] = oldest_completed();
    return count;
  }
  /// Opens the sender's memory for the result of a message that was waited for. It may be written
  /// to until signal. @param access that has not ended. @param ordinal as ResultPlace::ordinal.
  /// @param bytes of the result. @return the memory, or null: then the result is to be sent.
  [[nodiscard]] virtual std::byte* open_result(AccessId access, std::uint32_t ordinal,
                                               std::size_t bytes) {
    (void)access, (void)ordinal, (void)bytes;
    return nullptr;
  }
  /// Ends an access: the memory belongs to the sender again. @param access that has not ended.
  /// @param is_stored whether all bytes of the result stand in the memory of open_result; then the
  /// message must not be sent.
  virtual void signal(AccessId access, bool is_stored) {
    (void)access, (void)is_stored;
    expects(false, "only a transport that sees memory of peers has accesses");
  }
  /// For a thread whose polls have found nothing for long: gives its core away until a poll may
  /// find something, or for some milliseconds at most.
  virtual void idle_wait() { std::this_thread::yield(); }
  /// From now on all ranks may wait idle although their cores are not shared: each message wakes
  /// its receiver.
  virtual void expect_idle_waits() {}
  /// Ends idle_wait early if a thread is in it, or about to be. The only call that may come from
  /// another thread than that which is in the transport. Does nothing where idle_wait is short
  /// anyway.
  virtual void end_idle_wait() noexcept {}
  /// @return whether messages may have come for which there is no receive yet. Where find_unmatched
  /// does something, messages that a peer sent before one that was received have come and count. No
  /// virtual call, since every collective ends with this question.
  [[nodiscard]] bool has_unexpected() const noexcept { return unexpected_ > 0; }
  /// Searches the messages that have come for those that no receive will match: the ranks disagree
  /// about a call which has ended here, or waits. Messages that it misses it may find later.
  /// @param pending the calls whose messages may still be received, see is_unmatched.
  /// @param thoroughly whether to search also where no poll would, since nothing is awaited.
  /// Throws Error{mismatch}.
  virtual void find_unmatched(std::uint64_t pending, bool thoroughly) {
    (void)pending, (void)thoroughly;
  }
  /// Searches for a message without a receive: the oldest of its sender and tag. @param from its
  /// sender, or any_rank, where no sender is passed over for ever. @param tag as Transfer::tag.
  /// @return the message, if one has come; the next receive of this sender and tag will match it.
  /// Throws as poll does; Error{invalid_argument} where a transport cannot search.
  [[nodiscard]] virtual std::optional<Unexpected> probe(Rank from, std::uint32_t tag);
  /// Fails this transport for good and informs the other ranks, as far as it can. Returns when no
  /// peer can write into posted pieces any more, or when waiting for that is hopeless. Idempotent.
  /// @param cause that the other ranks get.
  /// @return whether no peer can write into posted pieces any more. If not, their memory must not
  ///         be used for anything else.
  virtual bool abort(const Error& cause) noexcept = 0;

 protected:
  /// A transfer is done. @param completion of it.
  void complete(const Completion& completion) { completions_.push(completion); }
  /// A transfer is done that has nothing but a cookie. @param cookie of the transfer.
  void complete(std::uint64_t cookie) { completions_.push(cookie); }
  /// @return the completions, for parts of a transport that add to them.
  [[nodiscard]] CompletionQueue& completions() noexcept { return completions_; }

  std::size_t unexpected_ = 0;  ///< Messages that came without a receive, as of the last poll.

 private:
  CompletionQueue completions_{};
};

/// @param value any. @return it as "0x" and sixteen digits.
[[nodiscard]] TUTTI_API std::string hexadecimal(std::uint64_t value);
/// @param peer sender. @param theirs its message's fingerprint. @param ours that of the receive.
/// @return the error for a message of another call.
[[nodiscard]] TUTTI_API Error wrong_call(Rank peer, std::uint64_t theirs, std::uint64_t ours);
/// @param peer sender. @param theirs its message's fingerprint. @param pending as in is_unmatched.
/// @return the error for a message that is_unmatched.
[[nodiscard]] TUTTI_API Error unmatched_message(Rank peer, std::uint64_t theirs,
                                                std::uint64_t pending);
/// @param peer sender. @param theirs its message's fingerprint, of a plan. @return the error for a
/// message that no run of that plan receives.
[[nodiscard]] TUTTI_API Error unmatched_plan(Rank peer, std::uint64_t theirs);
/// @param peer sender. @param theirs its message's bytes. @param ours those of the receive.
/// @return the error for a message of another length.
[[nodiscard]] TUTTI_API Error wrong_length(Rank peer, std::uint64_t theirs, std::uint64_t ours);

}  // namespace tutti::v0
