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
  std::byte* data;    ///< Where. A send only reads it.
  std::size_t bytes;  ///< How many; more than zero.
};

/// Combines a message with what the rank has, while its bytes are warm, instead of pieces that it
/// would be stored to first.
class TUTTI_API Combiner {
 public:
  Combiner() = default;
  Combiner(const Combiner&) = delete;
  Combiner& operator=(const Combiner&) = delete;
  virtual ~Combiner() = default;
  /// Called with consecutive parts of the message, in order, by post or poll: this transport's, or,
  /// perhaps on another thread, that of one that shares its links. So it touches nothing but what
  /// belongs to the transfer, and calls no transport. Calls never overlap; all come before the
  /// completion. What it throws fails this transport.
  /// @param bytes the part, one byte or more, wherever they lie and whatever they cut; valid during
  /// the call. In room() they may be overwritten.
  virtual void take(std::span<const std::byte> bytes) = 0;
  /// Asked once per message, before the first part.
  /// @return where the whole message may be put, in one piece, before its parts are taken from
  /// there: a transport that has to copy it once then needs no memory of its own, which would push
  /// other things out of the caches. Null if there is no such place.
  [[nodiscard]] virtual std::byte* room() noexcept { return nullptr; }
};

/// Where the sender of a message will receive a later one from the same peer: if the peer sees that
/// memory it may store what it makes of the message there, and need not send it.
struct ResultPlace {
  std::byte* data = nullptr;  ///< Null if there is none.
  std::size_t bytes = 0;      ///< Of the later message.
  std::uint32_t ordinal =
      0;  ///< Which one: how many the peer sends this rank before it in the call.
};

/// One message to send or to receive.
struct Transfer {
  /// Which way the bytes go.
  enum class Kind : std::uint8_t {
    send,  ///< From our pieces to the peer.
    recv,  ///< From the peer into our pieces.
    wait   ///< As recv, but bytes that the transport sees in the peer's memory stay there until
           ///< Transport::signal: see Completion::access. Needs Capabilities::visible.
  };
  Kind kind = Kind::send;  ///< Direction.
  Rank peer = 0;           ///< The other end; may be the own rank.
  std::uint32_t tag = 0;   ///< At most Capabilities::tags - 1.
  std::uint64_t fingerprint =
      0;                     ///< The lower 63 bits must agree, else the receiver gets a mismatch.
  std::uint64_t cookie = 0;  ///< Handed back by the completion.
  std::span<const Piece> pieces{};  ///< Owned by the caller until the completion. May be empty.
  Combiner* combiner = nullptr;  ///< Of a receive: takes the bytes; the pieces then tell only how
                                 ///< many there are. Needs Capabilities::combines, and `reduced`.
  bool reduced = false;          ///< Whether it is of a call that reduces; equal at both ends, so
                                 ///< that a transport may move it in parts that stay warm.
  std::uint8_t way = 0;          ///< Which of Capabilities::ways it takes; the same at both ends.
  ResultPlace result{};          ///< Of a send. Needs Capabilities::visible.
};

/// The number of an access to a peer's memory, and the number that is none.
using AccessId = std::uint32_t;
/// No access.
inline constexpr AccessId kNoAccess = ~AccessId{0};

/// A transfer that is done: its pieces belong to the caller again.
struct Completion {
  std::uint64_t cookie = 0;  ///< Of the transfer.
  /// Of a wait: its message was not moved, but may be read where its sender has it, until
  /// Transport::signal. If there is none the bytes are in the pieces.
  AccessId access = kNoAccess;
  /// Where they are. They can be read there even if the sender has failed, and are worth nothing
  /// then.
  const std::byte* data = nullptr;
  /// Of a send: whether the later message stands at Transfer::result. It is not sent then.
  bool is_stored = false;
};

/// A message that came before a receive for it was posted.
struct Unexpected {
  Rank from = -1;                 ///< Its sender.
  std::size_t bytes = 0;          ///< How many it has.
  std::uint64_t fingerprint = 0;  ///< As Transfer::fingerprint.
};

/// What a transport can do.
struct Capabilities {
  std::string name;        ///< "sim", "mpi", ...
  std::uint32_t tags = 0;  ///< Tags in [0, tags) may be used.
  bool combines = false;   ///< Whether a receive may have a Combiner.
  bool visible = false;    ///< Whether ranks may see memory of each other: Transfer::Kind::wait.
  /// Whether another thread of the process may call it than the one that calls other transports,
  /// at the same time: what CommunicatorOptions::progress_thread needs.
  bool threads = true;
  int idle_spins = 1000;  ///< Empty polls before a waiting thread yields; small where ranks
                          ///< outnumber cores.
  /// Where messages may go by several transports, what each of them is called. A message matches
  /// only those that go the same way. Else empty, and there is way 0.
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
  /// @return what it can do; constant over its life.
  [[nodiscard]] virtual const Capabilities& capabilities() const noexcept = 0;
  /// @return the time deadlines are measured in; virtual on the in-process cluster.
  [[nodiscard]] virtual Duration now() const noexcept = 0;

  /// Starts transfers. Both sides must give a message the same number of bytes.
  /// @param transfers in the order in which they match. Throws Error, as poll does: what is there
  /// already may be looked at.
  virtual void post(std::span<const Transfer> transfers) = 0;
  /// Makes progress. Throws Error: mismatch (fingerprint or length), peer_dead, aborted, transport.
  virtual void poll() = 0;
  /// @return how many transfers are done and not taken, by post or poll. No virtual call.
  [[nodiscard]] std::size_t completed() const noexcept { return completed_.size() - taken_; }
  /// @return the oldest of them, of which there is one, until the next call that is not const.
  [[nodiscard]] const Completion& oldest_completed() const noexcept { return completed_[taken_]; }
  /// Takes it.
  void take_oldest() noexcept {
    if (++taken_ < completed_.size()) return;
    completed_.clear();
    taken_ = 0;
  }
  /// Polls, and takes what is done. @param completions filled from the front. @return how many.
  [[nodiscard]] std::size_t poll(std::span<Completion> completions) {
    poll();
    std::size_t count = 0;
    for (; count < completions.size() && completed() > 0; take_oldest())
      completions[count++] = oldest_completed();
    return count;
  }
  /// Asks where the result of a message that was waited for may be stored. The peer's memory may be
  /// written to until signal. @param access that has not ended. @param ordinal as
  /// ResultPlace::ordinal. @param bytes of the result. @return where, or null: then it is to be
  /// sent.
  [[nodiscard]] virtual std::byte* open_result(AccessId access, std::uint32_t ordinal,
                                               std::size_t bytes) {
    (void)access, (void)ordinal, (void)bytes;
    return nullptr;
  }
  /// Ends an access: its sender has its memory back. @param access that has not ended.
  /// @param is_stored whether all bytes of the result stand where open_result said; then the
  /// message must not be sent.
  virtual void signal(AccessId access, bool is_stored) {
    (void)access, (void)is_stored;
    expects(false, "only a transport that sees memory of peers is signalled");
  }
  /// For a thread that has polled in vain for long: gives its core away until polling may find
  /// something, or for some milliseconds at most.
  virtual void idle_wait() { std::this_thread::yield(); }
  /// From now on ranks may wait idle though their cores are not shared, on all ranks: whoever sends
  /// them something wakes them.
  virtual void expect_idle_waits() {}
  /// Ends idle_wait early if a thread is in it, or about to be. The only call that may come from
  /// another thread than that which is in the transport. Does nothing where idle_wait is short
  /// anyway.
  virtual void end_idle_wait() noexcept {}
  /// @return whether messages may have come for which there is no receive yet. Where find_unmatched
  /// does something, what a peer sent before a message that was received has come and counts. No
  /// virtual call, since it is asked after every collective.
  [[nodiscard]] bool has_unclaimed() const noexcept { return unclaimed_ > 0; }
  /// Looks for messages that came and that no receive will be for: the ranks disagree about a call
  /// which has ended here, or waits. Those that it does not find it may find later.
  /// @param pending says of which calls messages may still be received, see is_unmatched.
  /// @param thoroughly whether to look also where no poll would, since nothing is awaited.
  /// Throws Error{mismatch}.
  virtual void find_unmatched(std::uint64_t pending, bool thoroughly) {
    (void)pending, (void)thoroughly;
  }
  /// Looks for a message without a receive: the oldest of its sender and tag. @param from its
  /// sender, or any_rank, where no sender is passed over for ever. @param tag as Transfer::tag.
  /// @return what it is, if one has come; it is received by the next receive that is posted of this
  /// sender and tag. Throws as poll does; Error{invalid_argument} where a transport cannot look.
  [[nodiscard]] virtual std::optional<Unexpected> probe(Rank from, std::uint32_t tag);
  /// Fails this transport for good and tells the other ranks why, as far as it can. Returns when
  /// no peer can write into posted pieces any more, or when waiting for that is hopeless.
  /// Idempotent.
  /// @param cause what the other ranks will be told.
  /// @return whether no peer can write into posted pieces any more. If not, their memory must not
  ///         be used for anything else.
  virtual bool abort(const Error& cause) noexcept = 0;

 protected:
  /// A transfer is done. @param completion of it.
  void complete(const Completion& completion) { completed_.push_back(completion); }
  /// Likewise, of one with nothing but a cookie, member by member: what is written in parts and
  /// copied at once would be waited for. @param cookie of the transfer.
  void complete(std::uint64_t cookie) { completed_.emplace_back().cookie = cookie; }
  /// Makes room, so that complete cannot fail. @param count of completions that are not taken.
  void reserve_completions(std::size_t count) { completed_.reserve(count); }

  std::size_t unclaimed_ = 0;  ///< Messages that came without a receive, as of the last poll.

 private:
  std::vector<Completion> completed_{};
  std::size_t taken_ = 0;  // of them
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
