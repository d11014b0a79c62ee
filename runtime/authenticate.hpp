/// @file
/// Mutual authentication: both ends of a fresh connection prove that they know the job's secret,
/// and agree on what the connection is for.
///
///     connector                                   acceptor
///     Hello(versions, job, size, ranks, nonce) -> looks at the facts
///     looks at the facts and the code        <- Answer(reason, versions, facts, nonce, code)
///     Proof(code)                            -> looks at the code, the number of ranks, and asks
///                                               whether the rank is wanted
///     done                                   <- Verdict(reason)
///
/// A code is HMAC-SHA256, with the job's secret, over the role of its sender, the whole Hello and
/// the whole Answer. So it cannot be reflected, replayed, or moved to another job, rank, purpose or
/// connection. Without a secret the codes are zero and only the facts are compared; secret.hpp says
/// where that is allowed. A connector that cannot make the code sends zeros. Messages have fixed
/// sizes; nothing is allocated because a peer says so.
///
/// What follows on the connection is neither encrypted nor authenticated by itself, unless the
/// ranks want TLS, which begins when all of them are connected: tls.hpp.
#pragma once

#include <array>
#include <functional>
#include <span>
#include <string>

#include "secret.hpp"
#include "socket.hpp"

namespace tutti::runtime {

/// What a connection is for.
enum class Purpose : std::uint8_t {
  store,    ///< A rank's way to the store that rank 0 keeps while a world starts.
  control,  ///< Between two hosts: heartbeats and first causes.
  data,     ///< Between two hosts: payload.
  local,    ///< Inside a host, over a Unix socket: shared memory, then the lifeline.
  end,      ///< A launcher's way to the store, in the place of a rank that has ended.
};

/// Why a connection did not come to be.
enum class Reason : std::uint8_t {
  none,              ///< It did.
  not_tutti,         ///< The peer speaks something else.
  version_mismatch,  ///< No version that both speak.
  wrong_job,         ///< The peer belongs to another job.
  wrong_size,        ///< The peer counts another number of ranks.
  wrong_rank,        ///< The peer wanted another rank, or is none of the world's.
  wrong_secret,      ///< The peer does not know the secret, or only one side has one.
  duplicate_rank,    ///< Somebody else came as that rank.
  unexpected,        ///< Nobody waits for such a connection.
  wrong_user,        ///< A process of another user, on a Unix socket.
  too_slow,          ///< The peer did not finish its part in time.
  closed,            ///< The peer went away.
  crowded_out,       ///< Too many strangers at once; the oldest had to leave.
  no_descriptor,     ///< This process can open no more.
  no_secret,         ///< The peer came over a network to a job that has no secret.
};
/// Number of enumerators of Reason.
inline constexpr int kReasons = 15;
/// @param reason any enumerator. @return a few words, such as "wrong secret".
[[nodiscard]] std::string_view name_of(Reason reason) noexcept;

/// The versions of everything that tutti says on a socket, which this program speaks.
struct Versions {
  std::uint16_t oldest = 1;  ///< The oldest one.
  std::uint16_t newest = 1;  ///< The newest one.
};

/// Who stands at one end.
struct Identity {
  std::uint64_t job = 0;           ///< Which job; not a secret.
  int size = 1;                    ///< How many ranks it has.
  Rank rank = 0;                   ///< Which of them.
  std::optional<Secret> secret{};  ///< What all of them know, if anything.
  Versions versions{};             ///< What it speaks; tests change it.
};

/// What a connector wants.
struct ConnectionRequest {
  Rank from = 0;                     ///< Who it is.
  Rank to = 0;                       ///< Whom it wants.
  Purpose purpose = Purpose::store;  ///< What for.
  /// Equality of all members.
  friend bool operator==(const ConnectionRequest&, const ConnectionRequest&) = default;
};

/// @param own what this side speaks. @param theirs what the other side speaks. @param peer what to
/// call it. @param rank whose they are. Throws Error{mismatch} that names both if no version is
/// common.
void check_versions(const Versions& own, const Versions& theirs, const std::string& peer,
                    Rank rank);

/// How far a handshake has come.
enum class Progress : std::uint8_t {
  talking,  ///< Something is still expected of the peer.
  agreed,   ///< The connection is authenticated.
  refused,  ///< It is not, and must be closed.
};

/// No message of the handshake is longer.
inline constexpr std::size_t kLongestMessage = 128;

/// The connector's part: a state machine without a socket.
class ConnectorHandshake {
 public:
  /// @param self who connects; lives as long as this object. @param to whom.
  /// @param purpose what for. Throws Error{transport} without random bytes.
  ConnectorHandshake(const Identity& self, Rank to, Purpose purpose);

  /// @return what to send first.
  [[nodiscard]] std::span<const std::byte> hello() const noexcept { return hello_; }
  /// @return how many bytes the peer's next message has.
  [[nodiscard]] std::size_t wanted() const noexcept;
  /// @param message of wanted() bytes. @return what to send now, whatever the progress is.
  [[nodiscard]] std::span<const std::byte> feed(std::span<const std::byte> message);
  /// @return how far it has come.
  [[nodiscard]] Progress progress() const noexcept { return progress_; }
  /// @return whether the peer has answered, so that it is alive and will pass its verdict.
  [[nodiscard]] bool answered() const noexcept { return answered_; }
  /// @param peer what to call it. @return why it was refused: Error{mismatch} in one sentence.
  [[nodiscard]] Error refusal(const std::string& peer) const;

 private:
  void reject(Reason reason) noexcept;

  const Identity& self_;
  Progress progress_ = Progress::talking;
  Reason reason_ = Reason::none;
  bool answered_ = false;
  std::array<std::byte, 72> hello_{};
  std::array<std::byte, 104> answer_{};
  std::array<std::byte, 40> proof_{};
};

/// The acceptor's part: a state machine without a socket, fed by strangers.
class AcceptorHandshake {
 public:
  /// Asked once, when the peer has proved itself: Reason::none means that it was let in.
  using Admit = std::function<Reason(const ConnectionRequest&)>;

  /// @param self who accepts. @param admit decides on peers that have proved themselves. Both live
  /// as long as this object. @param takes_ranks false: ranks of the job are told that it takes a
  /// secret to come this way.
  AcceptorHandshake(const Identity& self, const Admit& admit, bool takes_ranks = true)
      : self_{&self}, admit_{&admit}, takes_ranks_{takes_ranks} {}

  /// @return how many bytes the peer's next message has.
  [[nodiscard]] std::size_t wanted() const noexcept;
  /// @param message of wanted() bytes. @return what to send now, whatever the progress is.
  [[nodiscard]] std::span<const std::byte> feed(std::span<const std::byte> message);
  /// @return how far it has come.
  [[nodiscard]] Progress progress() const noexcept { return progress_; }
  /// @return why it was refused.
  [[nodiscard]] Reason reason() const noexcept { return reason_; }
  /// @return whether the peer named this job, which strangers cannot.
  [[nodiscard]] bool greeted() const noexcept { return greeted_; }
  /// @return what the peer wants. True only once it is agreed, or refused for its size or for want
  /// of a secret.
  [[nodiscard]] const ConnectionRequest& request() const noexcept { return request_; }
  /// @return how many ranks the peer counts; true where introduction() is.
  [[nodiscard]] int peer_size() const noexcept { return peer_size_; }
  /// @return whether the peer went through all of the handshake as a rank does, and said itself
  /// that it has another secret. Anybody can claim that.
  [[nodiscard]] bool admits_another_secret() const noexcept { return admits_it_; }

 private:
  [[nodiscard]] std::span<const std::byte> take_hello();
  [[nodiscard]] std::span<const std::byte> take_proof(std::span<const std::byte> message);

  const Identity* self_;
  const Admit* admit_;
  bool takes_ranks_;
  Progress progress_ = Progress::talking;
  Reason reason_ = Reason::none;
  bool greeted_ = false;
  bool admits_it_ = false;
  ConnectionRequest request_{};
  int peer_size_ = 0;
  std::array<std::byte, 72> hello_{};
  std::array<std::byte, 104> answer_{};
  std::array<std::byte, 16> verdict_{};
};

/// Where to connect to, and as what.
struct Target {
  std::vector<Endpoint> addresses{};  ///< Tried in turn; empty means local_name.
  std::string host{};                 ///< Whose addresses they are: looked up again now and then.
  std::string local_name{};           ///< An abstract Unix socket.
  std::string peer;                   ///< What to call it, such as "rank 0 at tcp://a:1".
  Rank to = 0;                        ///< Who should be there.
  Purpose purpose = Purpose::store;   ///< What the connection is for.
  bool listening = false;             ///< It listened before: nobody there means that it is gone.
};

/// Connects and authenticates; tries again until the deadline while nobody answers.
/// @param self who connects. @param target where to. @param deadline at which to give up.
/// @return the connection, or nothing if nobody listens on the Unix socket. Throws Error{mismatch}
/// if the peer refuses or is not the right one, as soon as every address was tried once,
/// Error{peer_dead} at once if a listening peer is gone, Error{transport} at once if no way leads
/// to it, Error{timeout} that ends with the last error met at each address.
[[nodiscard]] Descriptor dial(const Identity& self, const Target& target, Deadline deadline);

}  // namespace tutti::runtime
