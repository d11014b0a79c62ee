/// @file
/// Mutual authentication: both ends of a fresh connection prove that they know the job's secret,
/// and agree on the purpose of the connection.
///
///     connector                                   acceptor
///     Hello(versions, job, size, ranks, nonce) -> checks the facts
///     checks the facts and the code          <- Answer(reason, versions, facts, nonce, code)
///     Proof(code)                            -> checks the code, the world size, and whether
///                                               it expects the rank
///     done                                   <- Outcome(reason)
///
/// A code is HMAC-SHA256, with the job's secret, over the role of its sender, the whole Hello and
/// the whole Answer. So it cannot be reflected, replayed, or moved to another job, rank, purpose or
/// connection. Without a secret the codes are zero and only the facts are compared; secret.hpp
/// defines where that is allowed. A connector that cannot compute the code sends zeros. Messages
/// have fixed sizes, so a peer cannot make this process allocate memory.
///
/// The bytes after the handshake are neither encrypted nor authenticated, unless the ranks use TLS
/// (tls.hpp), which starts when all of them are connected.
#pragma once

#include <array>
#include <functional>
#include <span>
#include <string>

#include "runtime/sockets/socket.hpp"

#include "secret.hpp"

namespace tutti::runtime {

/// The purpose of a connection.
enum class Purpose : std::uint8_t {
  store,    ///< From a rank to the store on rank 0, while a world starts.
  control,  ///< Between two hosts: heartbeats and causes of failures.
  data,     ///< Between two hosts: payload.
  local,    ///< Inside a host, over a Unix socket: passes shared memory, then carries control
            ///< messages.
  end,      ///< From a launcher to the store, on behalf of a rank that has ended.
};

/// The reason why a connection was refused.
enum class Reason : std::uint8_t {
  none,              ///< It was accepted.
  not_tutti,         ///< The peer uses another protocol.
  version_mismatch,  ///< The two ends have no version in common.
  wrong_job,         ///< The peer belongs to another job.
  wrong_size,        ///< The peer has another world size.
  wrong_rank,        ///< The peer wants another rank, or is no rank of the world.
  wrong_secret,      ///< The peer has another secret, or only one end has a secret.
  duplicate_rank,    ///< Another peer has connected as that rank.
  unexpected,        ///< No such connection is expected.
  wrong_user,        ///< The peer is a process of another user, on a Unix socket.
  too_slow,          ///< The peer did not finish its handshake in time.
  closed,            ///< The peer closed the connection.
  crowded_out,       ///< There were too many unauthenticated peers; the oldest was dropped.
  no_descriptor,     ///< This process can open no more descriptors.
  no_secret,         ///< The peer connected over a network to a job without a secret.
};
/// Number of enumerators of Reason.
inline constexpr int kReasons = 15;
/// @return a few words, such as "wrong secret".
[[nodiscard]] std::string_view name_of(Reason reason) noexcept;

/// The versions of tutti's protocol on sockets that this program supports.
struct Versions {
  std::uint16_t oldest = 1;
  std::uint16_t newest = 1;
};

/// The facts about one end of a connection.
struct Identity {
  std::uint64_t job = 0;  ///< The job's number, which is not secret.
  int size = 1;           ///< The number of ranks.
  Rank rank = 0;
  std::optional<Secret> secret{};  ///< The job's secret, if it has one.
  Versions versions{};             ///< Tests change it.
};

/// The request of a connector.
struct ConnectionRequest {
  Rank from = 0;  ///< The connector's rank.
  Rank to = 0;    ///< The rank that it wants to reach.
  Purpose purpose = Purpose::store;
  /// Equality of all members.
  friend bool operator==(const ConnectionRequest&, const ConnectionRequest&) = default;
};

/// Throws Error{mismatch} that contains both ranges if no version is common. @param peer its name
/// in the error.
void check_versions(const Versions& own, const Versions& theirs, const std::string& peer,
                    Rank rank);

/// The state of a handshake.
enum class HandshakeState : std::uint8_t {
  active,    ///< A message of the peer is expected.
  accepted,  ///< The connection is authenticated.
  refused,   ///< The connection must be closed.
};

/// The longest message of the handshake, in bytes.
inline constexpr std::size_t kLongestMessage = 128;

/// The connector's side: a state machine without a socket.
class ConnectorHandshake {
 public:
  /// @param self outlives this object. Throws Error{transport} without random bytes.
  ConnectorHandshake(const Identity& self, Rank to, Purpose purpose);

  /// @return the first message to send.
  [[nodiscard]] std::span<const std::byte> hello() const noexcept { return hello_; }
  /// @return the length of the peer's next message.
  [[nodiscard]] std::size_t expected_bytes() const noexcept;
  /// @param message of expected_bytes(). @return the message to send now, in every state.
  [[nodiscard]] std::span<const std::byte> process(std::span<const std::byte> message);
  [[nodiscard]] HandshakeState state() const noexcept { return state_; }
  /// @return whether the peer has answered, so that it is alive and will send its outcome.
  [[nodiscard]] bool answered() const noexcept { return answered_; }
  /// @return whether the peer has another protocol or belongs to another job.
  [[nodiscard]] bool found_other_program() const noexcept {
    return reason_ == Reason::not_tutti || reason_ == Reason::wrong_job;
  }
  /// @param peer its name. @return the reason for the refusal: Error{mismatch} in one sentence.
  [[nodiscard]] Error refusal(const std::string& peer) const;

 private:
  void reject(Reason reason) noexcept;

  const Identity& self_;
  HandshakeState state_ = HandshakeState::active;
  Reason reason_ = Reason::none;
  bool answered_ = false;
  std::array<std::byte, 72> hello_{};
  std::array<std::byte, 104> answer_{};
  std::array<std::byte, 40> proof_{};
};

/// The acceptor's side: a state machine without a socket, for peers that are not authenticated.
class AcceptorHandshake {
 public:
  /// Called once, when the peer is authenticated. Reason::none admits it.
  using Admit = std::function<Reason(const ConnectionRequest&)>;

  /// @param self and admit outlive this object. @param accepts_ranks as Listener::accepts_ranks.
  AcceptorHandshake(const Identity& self, const Admit& admit, bool accepts_ranks = true)
      : self_{&self}, admit_{&admit}, accepts_ranks_{accepts_ranks} {}

  /// @return the length of the peer's next message.
  [[nodiscard]] std::size_t expected_bytes() const noexcept;
  /// @param message of expected_bytes(). @return the message to send now, in every state.
  [[nodiscard]] std::span<const std::byte> process(std::span<const std::byte> message);
  [[nodiscard]] HandshakeState state() const noexcept { return state_; }
  /// @return the reason for a refusal.
  [[nodiscard]] Reason reason() const noexcept { return reason_; }
  /// @return whether the peer named this job, which other programs cannot.
  [[nodiscard]] bool has_named_job() const noexcept { return has_named_job_; }
  /// @return the peer's request. Valid if the state is `accepted`, or the reason wrong_size or
  /// no_secret.
  [[nodiscard]] const ConnectionRequest& request() const noexcept { return request_; }
  /// @return the world size that the peer has. Valid where request() is.
  [[nodiscard]] int peer_size() const noexcept { return peer_size_; }
  /// @return whether the peer took part in the whole handshake and sent zeros as its code, as a
  /// rank with another secret does. Any process can do that.
  [[nodiscard]] bool claims_other_secret() const noexcept { return claims_other_secret_; }

 private:
  [[nodiscard]] std::span<const std::byte> process_hello();
  [[nodiscard]] std::span<const std::byte> process_proof(std::span<const std::byte> message);

  const Identity* self_;
  const Admit* admit_;
  bool accepts_ranks_;
  HandshakeState state_ = HandshakeState::active;
  Reason reason_ = Reason::none;
  bool has_named_job_ = false;
  bool claims_other_secret_ = false;
  ConnectionRequest request_{};
  int peer_size_ = 0;
  std::array<std::byte, 72> hello_{};
  std::array<std::byte, 104> answer_{};
  std::array<std::byte, 16> outcome_{};
};

/// The destination of a connection.
struct Target {
  std::vector<Endpoint> addresses{};  ///< Tried in turn; empty: local_name is used.
  std::string host{};        ///< The host of these addresses, which is sometimes looked up again.
  std::string local_name{};  ///< An abstract Unix socket.
  std::string peer;          ///< Its name, such as "rank 0 at tcp://a:1".
  Rank to = 0;               ///< The rank expected there.
  Purpose purpose = Purpose::store;
  bool listening =
      false;  ///< The peer is known to listen: a refused connection means that it has ended.
};

/// Connects and authenticates. Tries again until the deadline while nothing answers.
/// @return the connection, or nothing if no process listens on the Unix socket. Throws
/// Error{mismatch} if the peer refuses, after one attempt at every address, or if other programs
/// answer at all of them; Error{peer_dead} at once if a listening peer has ended; Error{transport} at
/// once if there is no route to it; Error{timeout} that contains the last error of each address.
[[nodiscard]] Descriptor dial(const Identity& self, const Target& target, Deadline deadline);

}  // namespace tutti::runtime
