/// @file
/// The network of a simulated cluster: its messages, clock and faults.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <tutti/testing.hpp>

#include "base/matching.hpp"
#include "random.hpp"

namespace tutti::v0::sim {

/// One side of a message: a posted transfer.
struct Half {
  std::uint32_t tag = 0;            ///< As posted.
  std::uint64_t fingerprint = 0;    ///< As posted.
  std::uint64_t cookie = 0;         ///< As posted.
  std::span<const Piece> pieces{};  ///< Valid until the completion, or the rank's failure.
  std::size_t bytes = 0;            ///< Sum over the pieces.
  Combiner* combiner = nullptr;     ///< As posted.
  bool accepts_shorter = false;     ///< As posted.
  bool waits = false;               ///< Whether it is of Transfer::Kind::wait.
  ResultPlace result{};             ///< As posted.

  [[nodiscard]] detail::Envelope envelope() const noexcept {
    return {tag, fingerprint, bytes, accepts_shorter};
  }
};

/// A receive that waits for its message.
struct Receive {
  std::shared_ptr<Receive> next{};  ///< The next one in its queue.
  Half half{};                      ///< As posted.

  [[nodiscard]] detail::Envelope envelope() const noexcept { return half.envelope(); }
};

/// A message: both halves once they match.
struct SentMessage {
  std::shared_ptr<SentMessage> next{};  ///< The next one in its queue.
  Rank source = 0;                      ///< The sender.
  Rank destination = 0;                 ///< The receiver.
  bool eager = false;                ///< Whether its bytes are in `payload`, and the send is done.
  Half send{};                       ///< The sender's half.
  Half receive{};                    ///< The receiver's half.
  std::vector<std::byte> payload{};  ///< Bytes of an eager message.
  Duration arrival{0};               ///< Time at which an eager message is at its destination.
  bool is_stored = false;            ///< Whether its result was stored at the sender.

  [[nodiscard]] detail::Envelope envelope() const noexcept { return send.envelope(); }
};

/// A future event.
struct Event {
  /// The kinds of events.
  enum class EventType : std::uint8_t { send_done, deliver, signalled, notice, wake, fault };
  Duration time{0};                  ///< The earliest event is the next.
  std::uint64_t tie = 0;             ///< A random number that orders events of the same time.
  std::uint64_t sequence = 0;        ///< Order of creation, for events that are equal otherwise.
  EventType kind = EventType::wake;  ///< The effect.
  Rank rank = 0;                     ///< For notices and faults: the affected rank.
  std::shared_ptr<SentMessage> message{};  ///< For deliveries, signals and completed sends.
};

/// The state of one rank.
struct Endpoint {
  detail::Matcher<Receive, SentMessage> matcher{};       ///< Its receives, and messages to it.
  std::vector<Completion> ready{};                       ///< Completions of its next poll.
  std::vector<std::shared_ptr<SentMessage>> accesses{};  ///< By number; null if ended.
  std::optional<Error> failure{};  ///< Thrown by every poll and post from now on.
  std::optional<Error> notice{};   ///< Becomes its failure at the event `notice`.
  Duration port_free{0};           ///< Time at which its last send has left the port.
  Duration stalled_until{0};       ///< Time before which it does nothing.
  std::uint64_t transfers = 0;     ///< Transfers posted so far.
  bool taken = false;              ///< Whether its transport was handed out.
  bool aborted = false;            ///< Whether it has informed the others of its failure.
  bool dead = false;               ///< Whether a fault killed it.
  bool closed = false;             ///< Whether its transport has ended.

  /// @return whether its pieces may be touched.
  [[nodiscard]] bool alive() const noexcept { return !dead && !closed && !failure; }
};

/// The state behind a Cluster and its transports.
class Network {
 public:
  /// @param options checked here. Throws Error{invalid_argument}.
  explicit Network(const ClusterOptions& options);
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;
  ~Network();

  /// As Transport::post.
  void post(Rank self, std::span<const Transfer> transfers);
  /// As Transport::poll. @return the completions.
  [[nodiscard]] std::vector<Completion> poll(Rank self);
  /// As Transport::open_result.
  std::byte* open_result(Rank self, AccessId access, std::uint32_t ordinal, std::size_t bytes);
  /// As Transport::signal.
  void signal(Rank self, AccessId access, bool is_stored);
  /// As Transport::probe.
  [[nodiscard]] std::optional<Unexpected> probe(Rank self, Rank from, std::uint32_t tag);
  /// As Transport::find_unmatched.
  void find_unmatched(Rank self, std::uint64_t pending);
  /// @return the number of messages to a rank without a receive.
  [[nodiscard]] std::size_t unclaimed(Rank self) noexcept {
    return endpoint(self).matcher.unexpected();
  }
  /// As Transport::abort.
  void abort(Rank self, const Error& cause);
  /// Ends a rank's transport, whose pieces are not touched any more.
  void close(Rank self) noexcept { endpoint(self).closed = true; }
  /// Marks a rank's transport as handed out. Throws Error{invalid_argument}.
  void mark_taken(Rank rank);

  /// As Cluster::advance. @return whether there was an event.
  bool advance();
  /// As Cluster::advance_by.
  void advance_by(Duration span);

  [[nodiscard]] const ClusterOptions& options() const noexcept { return options_; }
  [[nodiscard]] Duration now() const noexcept { return now_; }
  /// @return the number of posted transfers.
  [[nodiscard]] std::uint64_t transfers() const noexcept { return transfers_; }
  /// @return the number of posted transfers and returned completions.
  [[nodiscard]] std::uint64_t activity() const noexcept { return activity_; }
  [[nodiscard]] bool is_dead(Rank rank) const noexcept {
    return endpoints_[static_cast<std::size_t>(rank)].dead;
  }

 private:
  Endpoint& endpoint(Rank rank) noexcept { return endpoints_[static_cast<std::size_t>(rank)]; }
  void post_one(Rank self, const Transfer& transfer);
  void post_send(std::shared_ptr<SentMessage> message);
  void post_receive(Rank self, Rank from, const Half& half);
  void match(const std::shared_ptr<SentMessage>& message);
  void deliver(const std::shared_ptr<SentMessage>& delivered);
  bool feed(const SentMessage& message);
  [[nodiscard]] bool leave_there(const std::shared_ptr<SentMessage>& message);
  Duration leave(const SentMessage& message);
  Duration latency(Rank source);
  void schedule(Event event);
  void happen(const Event& event);
  void check_faults(Rank rank);
  void kill(Rank rank);
  void warn(Rank rank, const Error& error);
  void fail(Rank rank, const Error& error);

  ClusterOptions options_;
  Random random_;
  Random parts_{options_.seed};  // for parts of messages alone, so that combiners change no event
  Duration now_{0};
  std::vector<Endpoint> endpoints_;
  std::vector<Event> events_{};  // a heap, the next event in front
  std::vector<Fault> faults_;    // future ones
  std::uint64_t sequence_ = 0;
  std::uint64_t transfers_ = 0;
  std::uint64_t activity_ = 0;
};

}  // namespace tutti::v0::sim
